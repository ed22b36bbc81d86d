import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../../base/clock.ts';
import type { Monitored } from '../../query/observer.ts';
import { createHostRules } from '../auth/hosts.ts';
import { KEYS_MAX } from '../auth/keys.ts';
import { createLimiter, type Limiter } from '../auth/limiter.ts';
import type { Pages } from '../pages/site-pages.ts';
import { createMetricsServer, METRICS_PATH } from '../telemetry/metrics-listener.ts';
import { type LogLevel, type LogTarget, openLog } from '../telemetry/server-log.ts';
import { createTelemetry, type Telemetry } from '../telemetry/telemetry.ts';
import { createFramework } from './framework.ts';
import { HTTP_LIMITS, type HttpLimits } from './http-limits.ts';
import { createListStreams } from './list-streams.ts';
import { type Listener, listen } from './listener.ts';
import { APP_PATHS, OPERATIONS_PATH } from './page-paths.ts';
import { BASE_PATH, MCP_PATH } from './paths.ts';
import { createAnswers } from './responses.ts';
import { createHosts, dispatch, type OpenedSite } from './site-hosts.ts';
import { createSite, type Site, type SiteOptions, type SiteParts, type SiteSurroundings } from './site.ts';

/** How often idle connections are closed while others are still active. */
const SWEEP_MS = 25;

/** Number of keys and subjects of access tokens that the rate limit tracks, and the times of requests that it stores for them. */
const SUBJECTS_MAX = 10_000;
const TIMES_MAX = 8_000_000;

/** The parts of a site that depend on the resources of its workspace. */
export interface OpenedParts extends Pick<SiteParts, 'service' | 'sql'> {
  /** Called when they are no longer in use. */
  close(): Promise<void>;
}

/** Opens the parts of a site again when the resources of its workspace change. */
export interface Renewal {
  /** Returns a text that changes with the resources. Called for every request. */
  version(): string;
  open(): Promise<OpenedParts>;
}

/** Dependencies of a server; `renewal` opens the parts that the others lack. */
export type ServerParts = Omit<SiteParts, 'service' | 'sql'> &
  (Pick<SiteParts, 'service' | 'sql'> | { readonly renewal: Renewal }) & {
    /** The workspace whose metrics are served with the server's own. */
    readonly monitored?: Monitored;
    readonly log: LogTarget;
  };

/** Options of a server. */
export interface ServerOptions extends SiteOptions {
  /** 0 selects a free port. */
  readonly port: number;
  /** Port of the metrics; null for none, 0 for a free port. */
  readonly metricsPort: number | null;
  /** Level of the log, unless `log` is already open. */
  readonly logLevel: LogLevel;
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
  /** Rejects new requests, waits up to a limit for those in progress, and resolves when everything is closed. */
  close(): Promise<void>;
}

/**
 * Starts a server and resolves when it listens.
 *
 * @throws Node's own error if it cannot listen
 */
export async function startServer(parts: ServerParts, options: ServerOptions): Promise<RunningServer> {
  const limits = { ...HTTP_LIMITS, ...options.limits };
  const state = { isStopping: false };
  const answers = createAnswers(limits);
  const { rateLimit, metricsPort } = options;
  const { clock, monitored = null } = parts;
  const opened = 'renewal' in parts ? await parts.renewal.open() : parts;
  const current = { service: opened.service };
  // The metrics read the newest service.
  const service = new Proxy(opened.service, { get: (_, name) => Reflect.get(current.service, name) as unknown });
  const telemetry = metricsPort === null ? null : createTelemetry(service, answers, clock, monitored);
  const address = { baseUrl: '' };
  const surroundings: SiteSurroundings = {
    limits,
    log: openLog(parts.log, options.logLevel, clock),
    answers,
    lists: createListStreams(limits, clock.monotonic),
    telemetry,
    limiter: rateLimit === 'off' ? undefined : limiterOf(rateLimit, clock, parts.oauth !== undefined),
    address,
    isFleet: false,
    isStopping: () => state.isStopping,
  };
  const { listener = null } = options;
  const stop = (): void => {
    state.isStopping = true;
  };
  const listening = { ...surroundings, address, telemetry };
  if (!('renewal' in parts)) {
    return listenFor(await createSite(parts, options, { ...surroundings, listener }), options, listening, stop);
  }
  let first: OpenedParts | null = opened as OpenedParts;
  const usedAt = new Map<string, number>();
  const open = async (): Promise<OpenedSite> => {
    const own = first ?? (await parts.renewal.open());
    first = null;
    const { close } = own;
    const creating = createSite({ ...parts, ...own, usedAt }, options, surroundings);
    creating.catch(close);
    const site = await creating;
    current.service = own.service;
    return { site, close };
  };
  const renewed = await createRenewedSite(parts.renewal.version, open, { ...surroundings, listener });
  const server = await listenFor(renewed.site, options, listening, stop).catch(async (thrown: unknown) => {
    await renewed.close();
    throw thrown;
  });
  const close = async (): Promise<void> => {
    await server.close();
    await renewed.close();
  };
  return { ...server, close };
}

/** Name of the only site. */
const ONLY = '';

// A server that dispatches its requests to the newest site. If a newer one cannot be opened, the site in use stays.
async function createRenewedSite(
  versionOf: () => string,
  open: () => Promise<OpenedSite>,
  { limits, log, isFleet, isStopping, listener = null }: SiteSurroundings,
): Promise<{ readonly site: ListeningSite; close(): Promise<void> }> {
  let version = versionOf();
  const hosts = createHosts({
    openMax: 1,
    open,
    version: () => {
      if (!isStopping()) version = versionOf();
      return version;
    },
    onStale: (thrown) => log.logger.error({ err: thrown, msg: 'cannot serve the new resources of the workspace' }),
  });
  const app = createFramework(limits, log, isFleet, listener);
  try {
    (await hosts.enter(ONLY)).leave();
    await app.ready();
  } catch (thrown) {
    await hosts.close();
    await app.close();
    throw thrown;
  }
  dispatch(app, () => hosts.enter(ONLY));
  const hasPages = hosts.present().some(({ site }) => site.pages !== null);
  const closePages = (): void => {
    for (const { site } of hosts.present()) site.pages?.close();
  };
  return { site: { app, pages: hasPages ? { close: closePages } : null }, close: hosts.close };
}

/** The parts of a site that `listenFor` uses. */
interface ListeningSite {
  readonly app: Site['app'];
  readonly pages: Pick<Pages, 'close'> | null;
}

// A workspace has few keys, but its access tokens may have many subjects.
function limiterOf(limit: number, { monotonic }: Clock, hasSubjects: boolean): Limiter {
  if (!hasSubjects) return createLimiter({ limit, monotonic });
  const keysMax = Math.max(KEYS_MAX, Math.min(SUBJECTS_MAX, Math.floor(TIMES_MAX / limit)));
  return createLimiter({ limit, monotonic, keysMax });
}

/** Listens for a site; sets `address.baseUrl`, and calls `stop` when the server begins to close. */
export async function listenFor(
  { app, pages }: ListeningSite,
  options: Pick<ServerOptions, 'host' | 'port' | 'metricsPort' | 'allowedHosts' | 'corsOrigins' | 'listener'>,
  surroundings: Pick<SiteSurroundings, 'limits' | 'log'> & {
    readonly address: { baseUrl: string };
    readonly telemetry: Telemetry | null;
  },
  stop: () => void,
): Promise<RunningServer> {
  const { limits, log, address, telemetry } = surroundings;
  const metrics = telemetry === null ? null : createMetricsServer(telemetry, createHostRules(options));
  try {
    if (!app.server.listening) await listen(app.server, options.host, options.port);
    address.baseUrl = `${originOf(app.server, options.host)}${BASE_PATH}`;
    if (metrics !== null) await listen(metrics, options.host, options.metricsPort ?? 0);
    const metricsOrigin = metrics === null ? null : originOf(metrics, options.host);
    options.listener?.open();
    const close = async (): Promise<void> => {
      stop();
      pages?.close();
      await Promise.all([stopServer(app.server, limits.drainMs), metrics && stopServer(metrics, 0)]);
      await app.close();
      log.stream.flush();
    };
    const urlOf = (path: string): string | null => (pages === null ? null : new URL(path, address.baseUrl).href);
    return {
      baseUrl: address.baseUrl,
      mcpUrl: `${new URL(address.baseUrl).origin}${MCP_PATH}`,
      pageUrl: urlOf(APP_PATHS[0]),
      statusUrl: urlOf(OPERATIONS_PATH),
      metricsUrl: metricsOrigin === null ? null : `${metricsOrigin}${METRICS_PATH}`,
      close,
    };
  } catch (thrown) {
    await app.close();
    throw thrown;
  }
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
