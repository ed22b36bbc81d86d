import type { IncomingMessage, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Monitored } from '../../read/observer.ts';
import { createHostRules } from '../auth/hosts.ts';
import { createLimiter, type Limiter } from '../auth/limiter.ts';
import type { OAuth } from '../auth/oauth/oauth.ts';
import { createPool, type Pool, type Stay } from '../pool.ts';
import { type LogLevel, type LogTarget, openLog } from '../telemetry/server-log.ts';
import { createMetricsServer, createTelemetry, METRICS_PATH } from '../telemetry/telemetry.ts';
import { dispatch } from './dispatch.ts';
import { createFramework } from './framework.ts';
import { HTTP_LIMITS, type HttpLimits } from './http-limits.ts';
import { createListStreams } from './list-streams.ts';
import { type Listener, listen } from './listener.ts';
import { APP_PATHS, OPERATIONS_PATH } from './page-paths.ts';
import { BASE_PATH, MCP_PATH } from './paths.ts';
import { createAnswers } from './responses.ts';
import { createSharedAddress, type SharedAddressParts } from './shared-address.ts';
import { createSite, type Site, type SiteOptions, type SiteParts, type SiteSurroundings } from './site.ts';

/** How often idle connections are closed while others are still active. */
const SWEEP_MS = 25;

/** Maximum number of keys that the rate limit tracks, for one workspace and for several. */
const KEYS_MAX = 64;
const FLEET_KEYS_MAX = 100_000;
/** Number of subjects of access tokens that the rate limit tracks, and the times of requests that it stores for them. */
const SUBJECTS_MAX = 10_000;
const TIMES_MAX = 8_000_000;

/** An open workspace. */
export interface OpenedWorkspace {
  readonly parts: Omit<SiteParts, 'workspace' | 'workspacesOf' | 'oauth' | 'answers'>;
  /** Called after the last use of the workspace. */
  close(): Promise<void>;
}

/** Dependencies of a server. */
export interface ServerParts
  extends Pick<SiteSurroundings, 'clock'>, Partial<Pick<SiteSurroundings, 'app' | 'sessions'>> {
  readonly log: LogTarget;
  /** The workspace of all requests, or several workspaces; the credential of a request then selects one. */
  readonly workspaces: string | SharedAddressParts;
  open(workspace: string): Promise<OpenedWorkspace>;
  /** Returns a text that changes when the workspace must be opened again, such as after a change of settings. Called for every request. */
  version(workspace: string): string;
  /** Accepts access tokens in addition to keys. */
  readonly oauth?: OAuth;
  /** Adds the metrics of this workspace to the metrics of the server. */
  readonly monitored?: Monitored;
}

/** Options of a server. */
export interface ServerOptions extends SiteOptions {
  /** 0 selects a free port. */
  readonly port: number;
  /** Port of the metrics; null for none, 0 for a free port. */
  readonly metricsPort: number | null;
  /** Level of the log, unless `log` is already open. */
  readonly logLevel: LogLevel;
  /** Maximum number of open workspaces; the least recently used is closed first. Default: 1. */
  readonly openMax?: number;
  readonly limits?: Partial<HttpLimits>;
  /** A listening server; default: a new one. If `startServer` fails, the caller closes it. */
  readonly listener?: Listener;
}

/** A running server. */
export interface RunningServer {
  readonly baseUrl: string;
  readonly mcpUrl: string;
  readonly metricsUrl: string | null;
  /** URLs of the overview and of the status page; null if no pages are served. */
  readonly pageUrl: string | null;
  readonly statusUrl: string | null;
  /** Returns the names of the open workspaces, least recently used first. */
  open(): string[];
  /** Rejects new requests, waits up to a limit for those in progress, and resolves when everything is closed. */
  close(): Promise<void>;
}

/** An open workspace with its site. */
interface Hosted extends Pick<SiteParts, 'service' | 'answers'> {
  readonly site: Site;
  close(): Promise<void>;
}

/**
 * Starts a server and resolves when it listens. It serves one workspace, or at one address several workspaces, which are opened when they
 * are used.
 *
 * @throws Node's own error if it cannot listen
 */
export async function startServer(parts: ServerParts, options: ServerOptions): Promise<RunningServer> {
  const { clock, workspaces, sessions, app: files, monitored = null } = parts;
  const limits = { ...HTTP_LIMITS, ...options.limits };
  const state = { isStopping: false, baseUrl: '' };
  const [only, several] = typeof workspaces === 'string' ? [workspaces, null] : [null, workspaces];
  const sites = (): readonly Hosted[] => pool.present();
  const telemetry =
    options.metricsPort === null ? null : createTelemetry({ sites, isFleet: only === null, clock, monitored });
  const surroundings: SiteSurroundings = {
    clock,
    limits,
    log: openLog(parts.log, options.logLevel, clock),
    lists: createListStreams(limits, clock.monotonic),
    telemetry,
    // Shared by all workspaces, so that closing one does not reset the limits of its keys.
    limiter: limiterOf(options, parts, several !== null),
    address: state,
    isFleet: only === null,
    isStopping: () => state.isStopping,
    usedAt: new Map(),
    sessions,
    fleet: several?.fleet,
    app: files,
  };
  const pool = createSitePool(parts, options, surroundings);
  const shared = several === null ? null : createSharedAddress(several, parts);
  const front = shared === null ? null : await createSite(shared.site, options, surroundings, options.listener);
  const app = front?.app ?? createFramework(limits, surroundings.log, false, options.listener);
  const choose = async (request: IncomingMessage): Promise<Stay<Hosted> | null> => {
    const name = only ?? (await shared?.select(request)) ?? null;
    // The routes of the shared address reject requests while the server stops.
    return name === null || (shared !== null && state.isStopping) ? null : pool.enter(name);
  };
  const close = async (): Promise<void> => {
    await app.close();
    await pool.close();
  };
  try {
    if (only !== null) (await pool.enter(only)).leave();
    await app.ready();
    dispatch(app, async (request) => siteOf(await choose(request)));
    const pagesOf = () => pool.present().flatMap(({ site }) => site.pages ?? []);
    const hasPages = surroundings.fleet !== undefined || pagesOf().length > 0;
    const addresses = await listenFor(app, options, { surroundings, state, hasPages });
    return {
      ...addresses.urls,
      open: pool.names,
      close: async () => {
        state.isStopping = true;
        for (const pages of pagesOf()) pages.close();
        await addresses.stop();
        await close();
        surroundings.log.stream.flush();
      },
    };
  } catch (thrown) {
    await close();
    throw thrown;
  }
}

function siteOf(stay: Stay<Hosted> | null): Stay<Site> | null {
  return stay === null ? null : { member: stay.member.site, leave: stay.leave };
}

// Opens the sites of workspaces. If the newer site of the only workspace cannot be opened, the one in use stays.
function createSitePool(parts: ServerParts, options: ServerOptions, surroundings: SiteSurroundings): Pool<Hosted> {
  const { workspaces, oauth } = parts;
  const { limits, log, isFleet, isStopping } = surroundings;
  const openMax = options.openMax ?? 1;
  const bounds = { ...limits, cacheBytesMax: Math.floor(limits.cacheBytesMax / openMax) };
  const versions = new Map<string, string>();
  return createPool<Hosted>({
    openMax,
    open: async (workspace) => {
      const opened = await parts.open(workspace);
      const answers = createAnswers(bounds);
      // Keys in the folder of a workspace name no workspace.
      const workspacesOf: SiteParts['workspacesOf'] = (key) =>
        typeof workspaces === 'string' || key?.workspaces === null
          ? [workspace]
          : workspaces.directory.workspacesOf(key);
      const own = { ...opened.parts, answers, workspace, workspacesOf };
      const tokens = oauth === undefined ? {} : { oauth: oauth.siteOf(workspace) };
      try {
        const site = await createSite({ ...own, ...tokens }, options, surroundings);
        return { site, service: opened.parts.service, answers, close: opened.close };
      } catch (thrown) {
        await opened.close();
        throw thrown;
      }
    },
    close: async ({ site, close }) => {
      await site.app.close();
      await close();
    },
    version: (workspace) => {
      const known = versions.get(workspace);
      if (known !== undefined && isStopping()) return known;
      const version = parts.version(workspace);
      versions.set(workspace, version);
      return version;
    },
    // Pages that listen for changes connect again, to the next site.
    onReplaced: ({ site }) => site.pages?.close(),
    ...(isFleet
      ? {}
      : {
          onStale: (thrown) =>
            log.logger.error({ err: thrown, msg: 'cannot serve the new resources of the workspace' }),
        }),
  });
}

// A workspace has few keys, but its access tokens may have many subjects.
function limiterOf(
  { rateLimit: limit }: SiteOptions,
  { clock, oauth }: ServerParts,
  isFleet: boolean,
): Limiter | undefined {
  if (limit === 'off') return undefined;
  const ofTokens = oauth === undefined ? 0 : Math.min(SUBJECTS_MAX, Math.floor(TIMES_MAX / limit));
  const keysMax = isFleet ? FLEET_KEYS_MAX : Math.max(KEYS_MAX, ofTokens);
  return createLimiter({ limit, monotonic: clock.monotonic, keysMax });
}

interface Listening {
  readonly surroundings: SiteSurroundings;
  readonly state: { baseUrl: string };
  readonly hasPages: boolean;
}

// Listens for requests and for requests of metrics, and sets the base URL.
async function listenFor(app: FastifyInstance, options: ServerOptions, { surroundings, state, hasPages }: Listening) {
  const { telemetry, limits } = surroundings;
  const { host } = options;
  const metrics = telemetry === null ? null : createMetricsServer(telemetry, createHostRules(options));
  if (!app.server.listening) await listen(app.server, host, options.port);
  const origin = originOf(app.server, host);
  state.baseUrl = `${origin}${BASE_PATH}`;
  if (metrics !== null) await listen(metrics, host, options.metricsPort ?? 0);
  options.listener?.open();
  return {
    urls: {
      baseUrl: state.baseUrl,
      mcpUrl: `${origin}${MCP_PATH}`,
      pageUrl: hasPages ? `${origin}${APP_PATHS[0]}` : null,
      statusUrl: hasPages ? `${origin}${OPERATIONS_PATH}` : null,
      metricsUrl: metrics === null ? null : `${originOf(metrics, host)}${METRICS_PATH}`,
    },
    stop: async (): Promise<void> => {
      await Promise.all([stopServer(app.server, limits.drainMs), metrics && stopServer(metrics, 0)]);
    },
  };
}

function originOf(server: Server, host: string): string {
  const { port: bound } = server.address() as AddressInfo;
  // A wildcard address cannot be used in a URL, so use loopback.
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${bound}`;
}

// Stops listening, waits for requests in progress, and closes the remaining connections after `drainMs`.
async function stopServer(server: Server, drainMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  // A keep-alive connection becomes idle after its response and would stay open, so close idle ones repeatedly.
  const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
  const cut = setTimeout(() => server.closeAllConnections(), drainMs);
  try {
    await closed;
  } finally {
    clearInterval(sweep);
    clearTimeout(cut);
  }
}
