import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../../base/clock.ts';
import type { Monitored } from '../../query/observer.ts';
import { createHostRules } from '../auth/hosts.ts';
import { KEYS_MAX } from '../auth/keys.ts';
import { createLimiter, type Limiter } from '../auth/limiter.ts';
import { createMetricsServer, METRICS_PATH } from '../telemetry/metrics-listener.ts';
import { type LogLevel, type LogTarget, openLog } from '../telemetry/server-log.ts';
import { createTelemetry, type Telemetry } from '../telemetry/telemetry.ts';
import { HTTP_LIMITS, type HttpLimits } from './http-limits.ts';
import { createListStreams } from './list-streams.ts';
import { APP_PATHS, OPERATIONS_PATH } from './page-paths.ts';
import { BASE_PATH, MCP_PATH } from './paths.ts';
import { createAnswers } from './responses.ts';
import { createSite, type Site, type SiteOptions, type SiteParts, type SiteSurroundings } from './site.ts';

/** How often idle connections are closed while others are still active. */
const SWEEP_MS = 25;

/** Number of keys and subjects of access tokens that the rate limit tracks, and the times of requests that it stores for them. */
const SUBJECTS_MAX = 10_000;
const TIMES_MAX = 8_000_000;

/** Dependencies of a server. */
export interface ServerParts extends SiteParts {
  /** The workspace whose metrics are served with the server's own. */
  readonly monitored?: Monitored;
  readonly log: LogTarget;
}

/** Options of a server. */
export interface ServerOptions extends SiteOptions {
  /** 0 selects a free port. */
  readonly port: number;
  /** Port of the metrics; null for none, 0 for a free port. */
  readonly metricsPort: number | null;
  /** Level of the log, unless `log` is already open. */
  readonly logLevel: LogLevel;
  readonly limits?: Partial<HttpLimits>;
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
  const { service, clock, monitored = null } = parts;
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
  const site = await createSite(parts, options, surroundings);
  return listenFor(site, options, { ...surroundings, address, telemetry }, () => {
    state.isStopping = true;
  });
}

// A workspace has few keys, but its access tokens may have many subjects.
function limiterOf(limit: number, { monotonic }: Clock, hasSubjects: boolean): Limiter {
  if (!hasSubjects) return createLimiter({ limit, monotonic });
  const keysMax = Math.max(KEYS_MAX, Math.min(SUBJECTS_MAX, Math.floor(TIMES_MAX / limit)));
  return createLimiter({ limit, monotonic, keysMax });
}

/** Listens for a site; sets `address.baseUrl`, and calls `stop` when the server begins to close. */
export async function listenFor(
  { app, pages }: Site,
  options: Pick<ServerOptions, 'host' | 'port' | 'metricsPort' | 'allowedHosts' | 'corsOrigins'>,
  surroundings: Pick<SiteSurroundings, 'limits' | 'log'> & {
    readonly address: { baseUrl: string };
    readonly telemetry: Telemetry | null;
  },
  stop: () => void,
): Promise<RunningServer> {
  const { limits, log, address, telemetry } = surroundings;
  const metrics = telemetry === null ? null : createMetricsServer(telemetry, createHostRules(options));
  try {
    address.baseUrl = `${await listen(app.server, options.host, options.port)}${BASE_PATH}`;
    const metricsOrigin = metrics === null ? null : await listen(metrics, options.host, options.metricsPort ?? 0);
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

async function listen(server: Server, host: string, port: number): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
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
