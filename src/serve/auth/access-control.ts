import type { FastifyRequest } from 'fastify';
import type { StatusAccess } from '../../web/operations/page-parts.ts';
import { BASE_PATH, type Endpoint, MCP_PATH, SNAPSHOTS_PATH, splitUrl } from '../http/paths.ts';
import { nothingThere, Refusal, tooMany } from '../http/refusal.ts';
import { isDirect, isForeign } from '../pages/page-access.ts';
import { type Authenticate, keyOf } from './authentication.ts';
import type { HostRules } from './hosts.ts';
import { type Admission, type Limiter, WINDOW_MS } from './limiter.ts';

/** Checks that run before the routes. */
export interface AccessControl {
  /**
   * Runs first: checks that the server is not stopping and that the Host and Origin headers are allowed.
   *
   * @throws Refusal `overloaded`, `bad_request` or `forbidden`
   */
  arrive(request: FastifyRequest): void;
  /**
   * Runs second: checks key, rate limit, URL length and route, in this order, so that clients without a key cannot find
   * out which routes exist, and every request with a key counts. `routed` is the matched endpoint, if any. Requests of
   * the status page have their own rate limit, and are rejected with `forbidden` if they come from pages of other
   * sites.
   *
   * @throws Refusal `unauthorized`, `rate_limited`, `uri_too_long`, `not_found`, `method_not_allowed` or `forbidden`
   */
  admit(request: FastifyRequest, routed: Endpoint | undefined): void;
  /** Checks whether a request may read the status page's data; throws like `admit`, but counts nothing. */
  checkPage(request: FastifyRequest): void;
}

/** Dependencies of a gate. */
export interface AccessControlParts {
  readonly hosts: HostRules;
  readonly authenticate: Authenticate;
  /** Undefined if requests are not limited. */
  readonly limiter: Limiter | undefined;
  readonly urlCharactersMax: number;
  readonly find: (path: string) => Endpoint | undefined;
  readonly isStopping: () => boolean;
  readonly page: PageRules;
  /** Called for each use of a key. */
  readonly onKey: (keyId: string) => void;
}

/** Access rules of the status page. */
export interface PageRules {
  /** Undefined if there is no status page. */
  readonly access: StatusAccess | undefined;
  /** Limits the requests of status pages, by key. */
  readonly limiter: Limiter;
  /** Headers added to every response of the status page. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Limiter key of requests that are allowed without a key because they come from this machine. */
const LOOPBACK = 'loopback';

/** Creates a gate. */
export function createAccessControl(parts: AccessControlParts): AccessControl {
  const { hosts, authenticate, limiter, urlCharactersMax, find, isStopping, page } = parts;

  const arrive = (request: FastifyRequest): void => {
    if (isStopping()) {
      request.visit.headers['connection'] = 'close';
      if (request.routeOptions.config.endpoint?.isOpen !== true) {
        throw new Refusal('overloaded', 'The server is shutting down.');
      }
    }
    const { host, origin } = request.headers;
    if (host === undefined) throw new Refusal('bad_request', 'The request has no Host header.');
    if (countHosts(request.raw.rawHeaders) > 1) {
      throw new Refusal('bad_request', 'The request has several Host headers; allowed: one');
    }
    if (!hosts.acceptsHost(host)) throw new Refusal('forbidden', 'This server does not answer under that host name.');
    if (origin !== undefined && request.routeOptions.config.endpoint?.path === MCP_PATH) {
      if (!hosts.acceptsOrigin(origin)) {
        throw new Refusal('forbidden', 'Web pages of this origin may not call the server.');
      }
    }
  };

  const identify = (request: FastifyRequest): string => {
    const key = authenticate(request.raw);
    request.visit.keyId = key.id;
    parts.onKey(key.id);
    return key.id;
  };

  const count = (request: FastifyRequest): void => {
    const keyId = identify(request);
    if (limiter === undefined) return;
    const admission = limiter.admit(keyId);
    Object.assign(request.visit.headers, rateHeaders(limiter.limit, admission));
    if (!admission.allowed) throw tooMany('Too many requests.', admission.retryAfterSeconds);
  };

  const checkPage = (request: FastifyRequest): void => {
    if (!isFree(page, request)) identify(request);
  };

  const admitPage = (request: FastifyRequest, endpoint: Endpoint): void => {
    Object.assign(request.visit.headers, page.headers);
    if (isForeign(request.headers, endpoint.isOpen)) {
      throw new Refusal('forbidden', 'The status page cannot be used by pages of other sites.');
    }
    if (endpoint.isOpen) return;
    checkPage(request);
    const { allowed, retryAfterSeconds } = page.limiter.admit(request.visit.keyId ?? LOOPBACK);
    if (!allowed) throw tooMany('Too many requests of status pages.', retryAfterSeconds);
  };

  // The page's links to snapshots carry no key; they are allowed under the same rules as the page.
  const isLinked = (request: FastifyRequest, path: string): boolean =>
    isBelow(SNAPSHOTS_PATH, path) &&
    keyOf(request.headers) === undefined &&
    isFree(page, request) &&
    !isForeign(request.headers, false);

  const admit = (request: FastifyRequest, routed: Endpoint | undefined): void => {
    const [path] = splitUrl(request.raw.url ?? '');
    const endpoint = routed ?? find(path);
    request.visit.route = endpoint?.path ?? null;
    const isOpen = endpoint === undefined ? !isBelowBase(path) : endpoint.isOpen;
    if (endpoint?.isPage === true) admitPage(request, endpoint);
    else if (!isOpen && !isLinked(request, path)) count(request);
    if (request.originalUrl.length > urlCharactersMax) {
      throw new Refusal('uri_too_long', `The address is longer than ${urlCharactersMax} characters.`);
    }
    if (routed !== undefined) return;
    if (endpoint === undefined) throw nothingThere();
    const allow = endpoint.methods.join(', ');
    throw new Refusal('method_not_allowed', `This address accepts ${allow}.`, { Allow: allow }, { allowed: allow });
  };

  return { arrive, admit, checkPage };
}

// The API's own headers, and those of draft-ietf-httpapi-ratelimit-headers-10. The window slides, so `t` is the time until more
// than `r` requests may be sent.
function rateHeaders(limit: number, { remaining, resetSeconds }: Admission): Record<string, string | number> {
  return {
    'x-ratelimit-limit': limit,
    'x-ratelimit-remaining': remaining,
    'ratelimit-policy': `"key";q=${limit};w=${WINDOW_MS / 1_000}`,
    ratelimit: `"key";r=${remaining};t=${resetSeconds}`,
  };
}

// Whether a request needs no key: it comes directly from this machine, and the status page is open to this machine.
function isFree({ access }: PageRules, { headers, raw }: FastifyRequest): boolean {
  const { httpVersion, socket } = raw;
  return access === 'loopback' && isDirect({ headers, remoteAddress: socket.remoteAddress, httpVersion });
}

// Node keeps only the first one. A proxy that uses the last one would have checked another host name.
function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string;
    if (name.length === 4 && name.toLowerCase() === 'host') count += 1;
  }
  return count;
}

function isBelowBase(path: string): boolean {
  return [BASE_PATH, SNAPSHOTS_PATH].some((base) => isBelow(base, path));
}

function isBelow(base: string, path: string): boolean {
  return path === base || path.startsWith(`${base}/`);
}
