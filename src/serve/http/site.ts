import type { FastifyInstance } from 'fastify';
import type { Clock } from '../../base/clock.ts';
import type { Service } from '../../query/service.ts';
import { PAGE_HEADERS } from '../../web/operations/assets.ts';
import type { StatusParts } from '../../web/operations/page-parts.ts';
import { createAccessControl } from '../auth/access-control.ts';
import { createAuthenticate } from '../auth/authentication.ts';
import { createHostRules, isLoopback } from '../auth/hosts.ts';
import type { Keyring } from '../auth/keys.ts';
import { createLimiter, type Limiter } from '../auth/limiter.ts';
import type { SiteOAuth } from '../auth/oauth/oauth.ts';
import type { McpHandler } from '../mcp/mcp-http.ts';
import { createStatusPage, type StatusPage } from '../pages/status-page.ts';
import { createLogRequest, type Log } from '../telemetry/server-log.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { createFramework } from './framework.ts';
import { addHooks } from './hooks.ts';
import type { HttpLimits } from './http-limits.ts';
import { addBodyParser, addRoutes } from './http-routes.ts';
import type { ListStreams } from './list-streams.ts';
import { BASE_PATH, createFinder, endpointsOf, openEndpoints, pageEndpoints } from './paths.ts';
import type { Answers } from './responses.ts';

/** Requests per key and minute of status pages; many open pages need less. */
const PAGE_REQUESTS_MAX = 600;

/** Dependencies of one workspace's site. */
export interface SiteParts {
  readonly service: Service;
  readonly keyring: Keyring;
  readonly clock: Clock;
  /** Folder of the published snapshots, if they are served; it may not exist yet. */
  readonly snapshots?: string;
  /** Access tokens that are accepted beside keys. */
  readonly oauth?: SiteOAuth;
  /** Dependencies of the status page; without them there is none. */
  readonly status?: StatusParts;
  /** Name for log lines, if one server has several workspaces. */
  readonly workspace?: string;
}

/** Options of a site. */
export interface SiteOptions {
  /** The address to listen on. */
  readonly host: string;
  /** Requests per minute for each key. */
  readonly rateLimit: number | 'off';
  readonly corsOrigins: readonly string[];
  readonly allowedHosts: readonly string[];
}

/** Objects that a site shares with its server and with other sites. */
export interface SiteSurroundings {
  readonly limits: HttpLimits;
  readonly log: Log;
  readonly answers: Answers;
  readonly lists: ListStreams;
  readonly telemetry: Telemetry | null;
  /** Undefined if requests are not limited. */
  readonly limiter: Limiter | undefined;
  /** The server's base URL, once it listens. */
  readonly address: { readonly baseUrl: string };
  readonly isStopping: () => boolean;
}

/** A workspace's routes behind their gate, without a listener. */
export interface Site {
  readonly app: FastifyInstance;
  /** Null if there is no status page. */
  readonly page: StatusPage | null;
}

/** Creates the site of a workspace. */
export async function createSite(
  parts: SiteParts,
  options: SiteOptions,
  { limits, log, answers, lists, telemetry, limiter, address, isStopping }: SiteSurroundings,
): Promise<Site> {
  const usedAt = new Map<string, number>();
  const { status, clock, service, oauth = null } = parts;
  const page = status === undefined ? null : createStatusPage({ ...parts, status, usedAt });
  const endpoints = [
    ...endpointsOf(service.catalogue),
    ...openEndpoints(oauth?.resource.paths ?? []),
    ...(page === null ? [] : pageEndpoints(page.assets)),
  ];
  const { monotonic } = clock;
  const accessControl = createAccessControl({
    hosts: createHostRules(options),
    authenticate: createAuthenticate(parts.keyring, clock, limits, oauth),
    limiter,
    urlCharactersMax: limits.urlCharactersMax,
    find: createFinder(endpoints),
    isStopping,
    page: {
      access: status?.access,
      limiter: createLimiter({ limit: PAGE_REQUESTS_MAX, monotonic }),
      headers: PAGE_HEADERS,
    },
    onKey: (keyId) => usedAt.set(keyId, clock.now()),
  });
  const app = createFramework(limits, log);
  await addHooks(
    app,
    accessControl,
    createLogRequest(log, clock, parts.workspace),
    telemetry,
    options.corsOrigins,
    monotonic,
    oauth,
  );
  addBodyParser(app);
  addRoutes(app, {
    service,
    answers,
    lists,
    endpoints,
    baseUrl: () => (isLoopback(options.host) && options.allowedHosts.length === 0 ? address.baseUrl : BASE_PATH),
    rateLimit: options.rateLimit,
    mcp: createLazyMcp(service, (error) => app.log.warn({ err: error })),
    bodyBytesMax: limits.bodyBytesMax,
    mcpRunningMax: limits.computationsMax,
    accessControl,
    hasPages: options.corsOrigins.length > 0,
    snapshots: parts.snapshots ?? null,
    oauth,
    page,
    isStopping,
  });
  await app.ready();
  return { app, page };
}

// Loads MCP with the first request to it: many servers never get one.
function createLazyMcp(service: Service, onError: (error: Error) => void): McpHandler {
  let handler: Promise<McpHandler> | null = null;
  return async (...given) => {
    handler ??= import('../mcp/mcp-http.ts').then(({ createMcpHandler }) => createMcpHandler(service, { onError }));
    await (await handler)(...given);
  };
}
