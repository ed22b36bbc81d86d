import type { FastifyRequest } from 'fastify';
import type { Limiter } from '../limiter.ts';
import { isDirect, isForeign } from '../status/access.ts';
import type { StatusAccess } from '../status/parts.ts';
import { type Authenticate, keyOf } from './authentication.ts';
import type { HostRules } from './hosts.ts';
import { BASE_PATH, type Endpoint, MCP_PATH, SNAPSHOTS_PATH, splitUrl } from './paths.ts';
import { nothingThere, Refusal, tooMany } from './refusal.ts';

/** What stands between the network and the routes. */
export interface Gate {
  /** First of all: is the server still there, and is it meant? Throws `overloaded`, `bad_request` or `forbidden`. */
  arrive(request: FastifyRequest): void;
  /**
   * Then: whose key, how often, how long an address, is there anything at it. Throws `unauthorized`, `rate_limited`,
   * `uri_too_long`, `not_found` or `method_not_allowed`, in this order: without a key nothing is told, not even what
   * is there, and whatever comes with one counts. `routed` is where the request is going, undefined for nowhere.
   * What the status page asks for is counted by itself, and refused to other sites' pages with `forbidden` first.
   */
  admit(request: FastifyRequest, routed: Endpoint | undefined): void;
  /** Whether a request may have what the status page shows; throws as `admit` does where it may not. Counts nothing. */
  checkPage(request: FastifyRequest): void;
}

/** What a gate is made of. */
export interface GateParts {
  readonly hosts: HostRules;
  readonly authenticate: Authenticate;
  /** Undefined where nothing is limited. */
  readonly limiter: Limiter | undefined;
  readonly urlCharactersMax: number;
  readonly find: (path: string) => Endpoint | undefined;
  readonly isStopping: () => boolean;
  readonly page: PageRules;
  /** Told of each use of a key. */
  readonly onKey: (keyId: string) => void;
}

/** How the status page is guarded. */
export interface PageRules {
  /** Undefined where there is no page. */
  readonly access: StatusAccess | undefined;
  /** Counts what pages ask for, by key. */
  readonly limiter: Limiter;
  /** What is said beside all that belongs to the page. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Whom requests without a key are counted for, where they may come from this machine. */
const LOOPBACK = 'loopback';

/** Builds it. */
export function createGate(parts: GateParts): Gate {
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
    if (!hosts.acceptsHost(host)) throw new Refusal('forbidden', 'This server does not answer under that host name.');
    if (origin !== undefined && request.routeOptions.config.endpoint?.path === MCP_PATH) {
      if (!hosts.acceptsOrigin(origin)) {
        throw new Refusal('forbidden', 'Pages of this origin may not speak to the server.');
      }
    }
  };

  const identify = (request: FastifyRequest): string => {
    const key = authenticate(request.headers, request.raw.socket.remoteAddress);
    request.visit.keyId = key.id;
    parts.onKey(key.id);
    return key.id;
  };

  const count = (request: FastifyRequest): void => {
    const keyId = identify(request);
    if (limiter === undefined) return;
    const { allowed, remaining, retryAfterSeconds } = limiter.admit(keyId);
    request.visit.headers['x-ratelimit-limit'] = limiter.limit;
    request.visit.headers['x-ratelimit-remaining'] = remaining;
    if (!allowed) throw tooMany('Too many requests.', retryAfterSeconds);
  };

  const isFree = ({ headers, raw }: FastifyRequest): boolean => {
    const { httpVersion, socket } = raw;
    return page.access === 'loopback' && isDirect({ headers, remoteAddress: socket.remoteAddress, httpVersion });
  };

  const checkPage = (request: FastifyRequest): void => {
    if (!isFree(request)) identify(request);
  };

  const admitPage = (request: FastifyRequest, endpoint: Endpoint): void => {
    Object.assign(request.visit.headers, page.headers);
    if (isForeign(request.headers, endpoint.isOpen)) {
      throw new Refusal('forbidden', 'The status page is not for pages of other sites.');
    }
    if (endpoint.isOpen) return;
    checkPage(request);
    const { allowed, retryAfterSeconds } = page.limiter.admit(request.visit.keyId ?? LOOPBACK);
    if (!allowed) throw tooMany('Too many requests of status pages.', retryAfterSeconds);
  };

  // Links of the page to snapshots, which carry no key, work where the page itself does.
  const isLinked = (request: FastifyRequest, path: string): boolean =>
    isBelow(SNAPSHOTS_PATH, path) &&
    keyOf(request.headers) === undefined &&
    isFree(request) &&
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
    throw new Refusal('method_not_allowed', `This address takes ${allow}.`, { Allow: allow });
  };

  return { arrive, admit, checkPage };
}

function isBelowBase(path: string): boolean {
  return [BASE_PATH, SNAPSHOTS_PATH].some((base) => isBelow(base, path));
}

function isBelow(base: string, path: string): boolean {
  return path === base || path.startsWith(`${base}/`);
}
