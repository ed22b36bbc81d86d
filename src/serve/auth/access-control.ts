import type { FastifyRequest } from 'fastify';
import { DATA_PATH, REPORTS_PATH, STATUS_PATH } from '../http/page-paths.ts';
import { BASE_PATH, type Endpoint, MCP_PATH, SNAPSHOTS_PATH, splitUrl } from '../http/paths.ts';
import { nothingThere, Refusal, tooMany } from '../http/refusal.ts';
import { isDirect, isForeign, type PageAccess } from '../pages/page-access.ts';
import { type Access, CSRF_HEADER, checkCsrf, checkRights } from './access.ts';
import { type Authentication, keyOf } from './authentication.ts';
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
   * Runs second: checks key, rate limit, rights, URL length and route, in this order, so that clients without a key cannot find
   * out which routes exist, and every request with a key counts. `routed` is the matched endpoint, if any. Requests of
   * pages may have a session instead of a key and have their own rate limit. They are rejected with `forbidden` if they come from
   * pages of other sites, or change something without the CSRF token.
   *
   * @throws Refusal `unauthorized`, `rate_limited`, `uri_too_long`, `not_found`, `method_not_allowed` or `forbidden`
   */
  admit(request: FastifyRequest, routed: Endpoint | undefined): void;
  /** Counts the sign-in with a key as one of its requests. Throws `rate_limited`. */
  countSignIn(keyId: string): void;
  /** Returns the rights of a request of a page. Throws like `admit`, but counts nothing. */
  checkPage(request: FastifyRequest): Access;
  /** Returns the rights of a request of a page; null if it has no credential. Throws for a wrong credential. */
  accessOf(request: FastifyRequest): Access | null;
  /** Returns the rights of a request of a page that changes something. Throws like `admit`. */
  checkChange(request: FastifyRequest): Access;
}

/** Dependencies of `createAccessControl`. */
export interface AccessControlParts {
  readonly hosts: HostRules;
  readonly authentication: Authentication;
  /** Undefined if requests are not limited. */
  readonly limiter: Limiter | undefined;
  readonly urlCharactersMax: number;
  readonly find: (path: string) => Endpoint | undefined;
  readonly isStopping: () => boolean;
  readonly page: PageRules;
  /** Called for each use of a key. */
  readonly onKey: (keyId: string) => void;
  /** Checks that a request with a valid credential selects a workspace, if there are several; throws `forbidden`, `not_found`. */
  readonly checkWorkspace?: (request: FastifyRequest, access: Access) => void;
}

/** Access rules of the pages. */
export interface PageRules {
  /** Undefined if there are no pages. */
  readonly access: PageAccess | undefined;
  /** Limits the requests of pages, by key. */
  readonly limiter: Limiter;
  /** Headers added to every response of a page. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Methods that change nothing. */
const SAFE_METHODS: readonly string[] = ['GET', 'HEAD', 'OPTIONS'];

/** Limiter key of requests that are allowed without a key because they come from this machine. */
export const LOOPBACK = 'loopback';

/** Creates the access control of a server. */
export function createAccessControl(parts: AccessControlParts): AccessControl {
  const { limiter, urlCharactersMax, find, page } = parts;
  const { byKey, accessOf, checkPage, checkChange } = createIdentification(parts);

  const count = (request: FastifyRequest): void => {
    const { id } = byKey(request);
    if (limiter === undefined) return;
    const admission = limiter.admit(id ?? LOOPBACK);
    Object.assign(request.visit.headers, rateHeaders(limiter.limit, admission));
    if (!admission.allowed) throw tooMany('Too many requests.', admission.retryAfterSeconds);
  };

  const countSignIn = (keyId: string): void => {
    const { allowed, retryAfterSeconds } = (limiter ?? page.limiter).admit(keyId);
    if (!allowed) throw tooMany('Too many requests.', retryAfterSeconds);
  };
  const admitPage = (request: FastifyRequest, endpoint: Endpoint): void => {
    Object.assign(request.visit.headers, page.headers);
    const changes = !SAFE_METHODS.includes(request.method);
    if (isForeign(request.headers, endpoint.isOpen && !changes)) {
      throw new Refusal('forbidden', 'The pages of this server cannot be used by pages of other sites.');
    }
    if (endpoint.isOpen) return;
    const { id } = changes ? checkChange(request) : checkPage(request);
    const { allowed, retryAfterSeconds } = page.limiter.admit(id ?? LOOPBACK);
    if (!allowed) throw tooMany('Too many requests of pages.', retryAfterSeconds);
  };

  // The links of pages, such as those to snapshots, carry no key; they are allowed under the same rules as pages.
  const isLinked = (request: FastifyRequest, path: string): boolean =>
    page.access !== undefined &&
    !isBelow(BASE_PATH, path) &&
    keyOf(request.headers) === undefined &&
    !isForeign(request.headers, false) &&
    accessOf(request) !== null;

  const admit = (request: FastifyRequest, routed: Endpoint | undefined): void => {
    const [path] = splitUrl(request.raw.url ?? '');
    const endpoint = routed ?? find(path);
    request.visit.route = endpoint?.path ?? null;
    const isOpen = endpoint === undefined ? !isBelowBase(path) : endpoint.isOpen;
    if (endpoint?.isPage === true) admitPage(request, endpoint);
    else if (!isOpen && !isLinked(request, path)) count(request);
    const { access } = request.visit;
    if (!isOpen && access !== null) {
      parts.checkWorkspace?.(request, access);
      if (endpoint !== undefined) checkRights(endpoint, access);
    }
    if (request.originalUrl.length > urlCharactersMax) {
      throw new Refusal('uri_too_long', `The address is longer than ${urlCharactersMax} characters.`);
    }
    if (routed !== undefined) return;
    if (endpoint === undefined) throw nothingThere();
    const allow = endpoint.methods.join(', ');
    throw new Refusal('method_not_allowed', `This address accepts ${allow}.`, { Allow: allow }, { allowed: allow });
  };

  return { arrive: createArrival(parts), admit, countSignIn, checkPage, accessOf, checkChange };
}

function createArrival({ hosts, isStopping }: AccessControlParts): AccessControl['arrive'] {
  return (request) => {
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
}

// Finds the credential of a request and records its use.
function createIdentification({ authentication, page, onKey }: AccessControlParts) {
  const record = (request: FastifyRequest, access: Access): Access => {
    request.visit.access = access;
    request.visit.keyId = access.id;
    if (access.key !== null) onKey(access.key.id);
    return access;
  };

  const byKey = (request: FastifyRequest): Access => record(request, authentication.byKey(request.raw));

  // Check the key first, so that a program never acts with the session of a browser.
  const accessOf: AccessControl['accessOf'] = (request) => {
    if (keyOf(request.headers) !== undefined) return byKey(request);
    const access = authentication.bySession(request.raw) ?? (isFree(page, request) ? authentication.loopback : null);
    return access === null ? null : record(request, access);
  };

  const checkPage: AccessControl['checkPage'] = (request) => accessOf(request) ?? byKey(request);

  const checkChange: AccessControl['checkChange'] = (request) => {
    const access = checkPage(request);
    checkCsrf(request.headers[CSRF_HEADER], access);
    return access;
  };

  return { byKey, accessOf, checkPage, checkChange };
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

// Whether a request needs no key: it comes directly from this machine, and the pages are open to this machine.
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
  return [BASE_PATH, SNAPSHOTS_PATH, DATA_PATH, REPORTS_PATH, STATUS_PATH].some((base) => isBelow(base, path));
}

function isBelow(base: string, path: string): boolean {
  return path === base || path.startsWith(`${base}/`);
}
