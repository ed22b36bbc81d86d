import type { FastifyRequest } from 'fastify';
import type { Limiter } from '../limiter.ts';
import type { Authenticate } from './authentication.ts';
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
   */
  admit(request: FastifyRequest, routed: Endpoint | undefined): void;
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
}

/** Builds it. */
export function createGate(parts: GateParts): Gate {
  const { hosts, authenticate, limiter, urlCharactersMax, find, isStopping } = parts;

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

  const count = (request: FastifyRequest): void => {
    const key = authenticate(request.headers, request.raw.socket.remoteAddress);
    request.visit.keyId = key.id;
    if (limiter === undefined) return;
    const { allowed, remaining, retryAfterSeconds } = limiter.admit(key.id);
    request.visit.headers['x-ratelimit-limit'] = limiter.limit;
    request.visit.headers['x-ratelimit-remaining'] = remaining;
    if (!allowed) throw tooMany('Too many requests.', retryAfterSeconds);
  };

  const admit = (request: FastifyRequest, routed: Endpoint | undefined): void => {
    const [path] = splitUrl(request.raw.url ?? '');
    const endpoint = routed ?? find(path);
    request.visit.route = endpoint?.path ?? null;
    const isOpen = endpoint === undefined ? !isBelowBase(path) : endpoint.isOpen;
    if (!isOpen) count(request);
    if (request.originalUrl.length > urlCharactersMax) {
      throw new Refusal('uri_too_long', `The address is longer than ${urlCharactersMax} characters.`);
    }
    if (routed !== undefined) return;
    if (endpoint === undefined) throw nothingThere();
    const allow = endpoint.methods.join(', ');
    throw new Refusal('method_not_allowed', `This address takes ${allow}.`, { Allow: allow });
  };

  return { arrive, admit };
}

function isBelowBase(path: string): boolean {
  return [BASE_PATH, SNAPSHOTS_PATH].some((base) => path === base || path.startsWith(`${base}/`));
}
