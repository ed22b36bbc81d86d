import type { FastifyInstance } from 'fastify';
import type { Clock } from '../../base/clock.ts';
import type { FirstRun } from '../../operations/first-run.ts';
import type { Service } from '../../read/service.ts';
import type { Scope } from '../../workspace/stored-keys.ts';
import { type AccessControlParts, createAccessControl } from '../auth/access-control.ts';
import { createAuthentication } from '../auth/authentication.ts';
import { createHostRules, isLoopback } from '../auth/hosts.ts';
import type { Key, Keyring } from '../auth/keys.ts';
import { createLimiter, type Limiter } from '../auth/limiter.ts';
import type { SiteOAuth } from '../auth/oauth/oauth.ts';
import { createSessionRoutes } from '../auth/session-handlers.ts';
import type { Sessions } from '../auth/sessions.ts';
import type { Fleet } from '../data/fleet.ts';
import type { SqlParts } from '../data/sql-handlers.ts';
import type { McpHandler } from '../mcp/mcp-http.ts';
import { createApp } from '../pages/app-files.ts';
import type { WriteReport } from '../pages/report-files.ts';
import { createFleetRoute, createPages, PAGE_HEADERS, type Pages } from '../pages/site-pages.ts';
import type { StatusParts } from '../pages/status-report.ts';
import { createLogRequest, type Log } from '../telemetry/server-log.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { sendJson } from './content/send.ts';
import { createFramework } from './framework.ts';
import { addHooks } from './hooks.ts';
import type { HttpLimits } from './http-limits.ts';
import { addBodyParser, addRoutes, createApiRoutes } from './http-routes.ts';
import type { ListStreams } from './list-streams.ts';
import type { Listener } from './listener.ts';
import { BASE_PATH, createFinder, openRoute, type Route } from './paths.ts';
import type { Answers } from './responses.ts';
import { createSnapshots } from './snapshots.ts';

/** Dependencies of one workspace's site, or of the site of requests that select no workspace. */
export interface SiteParts {
  readonly service: Service;
  readonly keyring: Keyring;
  readonly answers: Answers;
  /** Null if requests select no workspace. */
  readonly workspace: string | null;
  /** Returns the names of the workspaces that a key opens on this server, all for null. */
  readonly workspacesOf: (key: Key | null) => readonly string[];
  /** Checks that a request with a valid credential selects a workspace, if there are several. */
  readonly checkWorkspace?: AccessControlParts['checkWorkspace'];
  /** Access tokens that are accepted beside keys. */
  readonly oauth?: SiteOAuth;
  /** Folder of the published snapshots, if they are served; it may not exist yet. */
  readonly snapshots?: string;
  /** Dependencies of the pages of a workspace; without them there are none. */
  readonly status?: StatusParts;
  /** The setup through the pages; without it, a workspace is set up with `sightline init`. */
  readonly setup?: FirstRun;
  /** Guarded SQL for the pages. */
  readonly sql?: Omit<SqlParts, 'callerOf'>;
  /** Writes the report of a brand; default: the pages cannot. */
  readonly writeReport?: WriteReport;
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
  readonly clock: Clock;
  readonly limits: HttpLimits;
  readonly log: Log;
  readonly lists: ListStreams;
  readonly telemetry: Telemetry | null;
  /** Undefined if requests are not limited. */
  readonly limiter: Limiter | undefined;
  /** The server's base URL, once it listens. */
  readonly address: { readonly baseUrl: string };
  /** Whether the server has several workspaces. */
  readonly isFleet: boolean;
  readonly isStopping: () => boolean;
  /** Times at which keys were used last, by id. */
  readonly usedAt: Map<string, number>;
  /** Browser sessions; without them, pages need a key. */
  readonly sessions: Sessions | undefined;
  /** The list of workspaces, if one address serves several with pages. */
  readonly fleet: Fleet | undefined;
  /** Folder of the built data pages; default: the pages of this package. */
  readonly app: URL | undefined;
}

/** A workspace's routes behind their access control, without a listener. */
export interface Site {
  readonly app: FastifyInstance;
  /** Null if the site has no pages with data. */
  readonly pages: Pages | null;
}

/** Creates a site. With a listener, its server is used; otherwise the site has a new server that does not listen. */
export async function createSite(
  parts: SiteParts,
  options: SiteOptions,
  surroundings: SiteSurroundings,
  listener?: Listener,
): Promise<Site> {
  const { clock, limits, log, lists, telemetry, limiter, address, isFleet, isStopping, usedAt } = surroundings;
  const { sessions = null, fleet } = surroundings;
  const { status, service, answers, keyring, workspace, workspacesOf, oauth = null } = parts;
  const { monotonic } = clock;
  const authentication = createAuthentication({ keyring, sessions, workspacesOf, clock, limits, oauth });
  const routes: Route[] = [];
  const accessControl = createAccessControl({
    hosts: createHostRules(options),
    authentication,
    limiter,
    urlCharactersMax: limits.urlCharactersMax,
    find: createFinder(routes),
    isStopping,
    page: {
      access: status?.access ?? (sessions === null ? undefined : 'key'),
      limiter: createLimiter({ limit: limits.pageRequestsMax, monotonic }),
      headers: PAGE_HEADERS,
    },
    onKey: (keyId) => usedAt.set(keyId, clock.now()),
    ...(parts.checkWorkspace === undefined ? {} : { checkWorkspace: parts.checkWorkspace }),
  });
  const app = createFramework(limits, log, isFleet, listener);
  const appPages = status === undefined && fleet === undefined ? null : createApp(surroundings.app);
  await addHooks(
    app,
    accessControl,
    createLogRequest(log, clock, isFleet ? workspace : null),
    telemetry,
    options.corsOrigins,
    monotonic,
    oauth,
    appPages,
  );
  addBodyParser(app);
  const snapshots = createSnapshots(parts.snapshots ?? null);
  const pages =
    status === undefined
      ? null
      : createPages({ ...parts, status, usedAt, clock, accessControl, snapshotList: snapshots.read });
  const signingIn = {
    authentication,
    accessControl,
    keyring,
    workspace,
    isFleet,
    hasSetup: parts.setup !== undefined,
    hasData: async () => (status === undefined ? null : hasRows(service)),
  };
  routes.push(
    ...createApiRoutes({
      service,
      answers,
      lists,
      baseUrl: () => (isLoopback(options.host) && options.allowedHosts.length === 0 ? address.baseUrl : BASE_PATH),
      rateLimit: options.rateLimit,
      hasData: pages !== null,
      mcp: createMcpHandlers(parts, options, surroundings, app.log),
      bodyBytesMax: limits.bodyBytesMax,
      mcpRunningMax: limits.computationsMax,
      accessControl,
      hasPages: options.corsOrigins.length > 0,
      isStopping,
    }),
    ...snapshots.routes,
    ...metadataRoutes(oauth),
    ...(appPages?.routes ?? []),
    ...(pages?.routes ?? []),
    ...(fleet === undefined ? [] : [createFleetRoute(fleet)]),
    ...(sessions === null ? [] : createSessionRoutes({ ...signingIn, sessions })),
  );
  addRoutes(app, routes, accessControl);
  await app.ready();
  return { app, pages };
}

// The metadata of the API as a resource of an authorization server.
function metadataRoutes(oauth: SiteOAuth | null): Route[] {
  const { paths = [], metadata } = oauth?.resource ?? {};
  return paths.map((path) => openRoute(path, (request, reply) => sendJson(request, reply, metadata)));
}

// An estimate publishes a replica that has lists only. The pages need days, or the end of a sync that found none.
async function hasRows({ catalogue, freshness }: Service): Promise<boolean> {
  const { ready, status, resources } = await freshness();
  const counted = new Set(
    catalogue.resources
      .filter(({ change }) => change.kind === 'window' && change.dayCounts !== undefined)
      .map(({ name }) => name),
  );
  return ready && (status !== null || resources.some(({ name, asOf }) => asOf !== null && counted.has(name)));
}

// The address of a server behind a proxy is not known.
function pageUrlOf(
  workspace: string | null,
  { host, allowedHosts }: SiteOptions,
  { address, isFleet }: SiteSurroundings,
): string | null {
  if (!isLoopback(host) || allowedHosts.length > 0) return null;
  const prefix = isFleet && workspace !== null ? `/w/${encodeURIComponent(workspace)}` : '';
  return `${new URL(address.baseUrl).origin}${prefix}`;
}

// Loads MCP with the first request to it: many servers never get one. Readers with the same brands and scopes share a handler.
function createMcpHandlers(
  { sql, status, workspace }: SiteParts,
  options: SiteOptions,
  surroundings: SiteSurroundings,
  log: FastifyInstance['log'],
): (service: Service, scopes: readonly Scope[]) => McpHandler {
  const handlers = new WeakMap<Service, Map<string, Promise<McpHandler>>>();
  const create = async (service: Service, scopes: readonly Scope[]): Promise<McpHandler> => {
    const [{ createMcpHandler }, { servedOne }] = await Promise.all([
      import('../mcp/mcp-http.ts'),
      import('../mcp/served.ts'),
    ]);
    const pageUrl = status === undefined ? null : pageUrlOf(workspace, options, surroundings);
    const served = servedOne({ service, sql: sql?.sql ?? null, pageUrl }, surroundings.clock);
    return createMcpHandler(served, { onError: (error) => log.warn({ err: error }), scopes });
  };
  return (service, scopes) => {
    const own = handlers.get(service) ?? new Map<string, Promise<McpHandler>>();
    handlers.set(service, own);
    const key = scopes.toSorted().join(' ');
    return async (...given) => {
      const handler = own.get(key) ?? create(service, scopes);
      own.set(key, handler);
      await (
        await handler
      )(...given);
    };
  };
}
