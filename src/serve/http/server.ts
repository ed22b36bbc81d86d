import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../../base/clock.ts';
import type { Keyring } from '../keys.ts';
import { createLimiter } from '../limiter.ts';
import { createMcpHandler } from '../mcp/http.ts';
import type { Monitored } from '../monitored.ts';
import type { Service } from '../service.ts';
import { PAGE_HEADERS } from '../status/assets.ts';
import type { StatusParts } from '../status/parts.ts';
import { createAnswers } from './answers.ts';
import { createAuthenticate } from './authentication.ts';
import { stopServer } from './drain.ts';
import { createFramework } from './framework.ts';
import { createGate } from './gate.ts';
import { addHooks } from './hooks.ts';
import { createHostRules, isLoopback } from './hosts.ts';
import { HTTP_LIMITS, type HttpLimits } from './limits.ts';
import { createLogRequest, type LogLevel, type LogTarget, openLog } from './log.ts';
import { createMetricsServer, METRICS_PATH } from './metrics-listener.ts';
import { BASE_PATH, createFinder, endpointsOf, MCP_PATH, PAGE_PATH, pageEndpoints } from './paths.ts';
import { addBodyParser, addRoutes } from './routes.ts';
import { createStatusPage } from './status.ts';
import { createTelemetry } from './telemetry.ts';

/** What status pages may ask for with one key in a minute: many of them, open at once, ask for less. */
const PAGE_REQUESTS_MAX = 600;

/** What a server serves, and for whom. */
export interface ServerParts {
  readonly service: Service;
  readonly keyring: Keyring;
  readonly clock: Clock;
  /** Folder of the published snapshots, where they are to be served; it need not be there yet. */
  readonly snapshots?: string;
  /** What the status page needs; without it there is none. */
  readonly status?: StatusParts;
  /** The workspace whose metrics are served beside the server's own. */
  readonly monitored?: Monitored;
  readonly log: LogTarget;
}

/** How it is served. */
export interface ServerOptions {
  /** The address to listen on. */
  readonly host: string;
  /** 0 takes any. */
  readonly port: number;
  /** Port of the metrics; null for none, 0 for any. */
  readonly metricsPort: number | null;
  /** Requests a minute for each key. */
  readonly rateLimit: number | 'off';
  readonly corsOrigins: readonly string[];
  readonly allowedHosts: readonly string[];
  /** Of a log that is not open yet. */
  readonly logLevel: LogLevel;
  readonly limits?: Partial<HttpLimits>;
}

/** A server that listens. */
export interface RunningServer {
  readonly baseUrl: string;
  readonly mcpUrl: string;
  readonly metricsUrl: string | null;
  /** Where the status page is; null where there is none. */
  readonly statusUrl: string | null;
  /** Takes no more requests, lets those under way finish within a bound, and resolves when all is closed. */
  close(): Promise<void>;
}

/** Starts a server and resolves once it listens; rejects with Node's own error where it cannot. */
export async function startServer(parts: ServerParts, options: ServerOptions): Promise<RunningServer> {
  const limits = { ...HTTP_LIMITS, ...options.limits };
  const state = { isStopping: false };
  const log = openLog(parts.log, options.logLevel, parts.clock);
  const answers = createAnswers(limits);
  const telemetry =
    options.metricsPort === null ? null : createTelemetry(parts.service, answers, parts.clock, parts.monitored ?? null);
  const usedAt = new Map<string, number>();
  const { status } = parts;
  const page = status === undefined ? null : createStatusPage({ ...parts, status, usedAt });
  const endpoints = [...endpointsOf(parts.service.catalogue), ...(page === null ? [] : pageEndpoints(page.assets))];
  const hosts = createHostRules(options);
  const { rateLimit } = options;
  const { monotonic } = parts.clock;
  const gate = createGate({
    hosts,
    authenticate: createAuthenticate(parts.keyring, parts.clock, limits),
    limiter: rateLimit === 'off' ? undefined : createLimiter({ limit: rateLimit, monotonic }),
    urlCharactersMax: limits.urlCharactersMax,
    find: createFinder(endpoints),
    isStopping: () => state.isStopping,
    page: {
      access: status?.access,
      limiter: createLimiter({ limit: PAGE_REQUESTS_MAX, monotonic }),
      headers: PAGE_HEADERS,
    },
    onKey: (keyId) => usedAt.set(keyId, parts.clock.now()),
  });
  const app = createFramework(limits, log);
  const logRequest = createLogRequest(log, parts.clock);
  await addHooks(app, gate, logRequest, telemetry, options.corsOrigins, monotonic);
  const address = { baseUrl: '' };
  addBodyParser(app);
  addRoutes(app, {
    service: parts.service,
    answers,
    endpoints,
    baseUrl: () => (isLoopback(options.host) && options.allowedHosts.length === 0 ? address.baseUrl : BASE_PATH),
    rateLimit,
    mcp: createMcpHandler(parts.service, { onError: (error) => app.log.warn({ err: error }) }),
    bodyBytesMax: limits.bodyBytesMax,
    mcpRunningMax: limits.computationsMax,
    gate,
    hasPages: options.corsOrigins.length > 0,
    vary: options.corsOrigins.length === 0 ? 'Accept, Accept-Encoding' : 'Accept, Accept-Encoding, Origin',
    snapshots: parts.snapshots ?? null,
    page,
    isStopping: () => state.isStopping,
  });
  await app.ready();
  const metrics = telemetry === null ? null : createMetricsServer(telemetry, hosts);
  try {
    address.baseUrl = `${await listen(app.server, options.host, options.port)}${BASE_PATH}`;
    const metricsOrigin = metrics === null ? null : await listen(metrics, options.host, options.metricsPort ?? 0);
    const close = async (): Promise<void> => {
      state.isStopping = true;
      page?.close();
      await Promise.all([stopServer(app.server, limits.drainMs), metrics && stopServer(metrics, 0)]);
      await app.close();
      log.stream.flush();
    };
    return {
      baseUrl: address.baseUrl,
      mcpUrl: `${new URL(address.baseUrl).origin}${MCP_PATH}`,
      statusUrl: page === null ? null : new URL(PAGE_PATH, address.baseUrl).href,
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
  // A wildcard is no address to connect to.
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${bound}`;
}
