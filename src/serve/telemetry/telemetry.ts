import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Clock } from '../../base/clock.ts';
import { createObserver, type Monitored, type Observation } from '../../read/observer.ts';
import type { Service } from '../../read/service.ts';
import type { HostRules } from '../auth/hosts.ts';
import { nothingThere, Refusal, writeError } from '../http/refusal.ts';
import type { Answers } from '../http/responses.ts';
import type { Visit } from '../http/visit.ts';
import { dataMetrics } from './data-metrics.ts';
import { syncMetrics } from './sync-metrics.ts';

/** Path of the metrics. */
export const METRICS_PATH = '/metrics';

/** Histogram buckets in seconds: from a cached response to a query close to its timeout. */
const BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Route label of requests that match no declared path. */
const OTHER_ROUTE = 'other';

/** The server's metrics in Prometheus format. */
export interface Telemetry {
  /** Counts a finished request. */
  observe(visit: Visit, status: number, tookMs: number): void;
  /** Returns the metrics and their media type. */
  render(): Promise<{ readonly text: string; readonly mediaType: string }>;
}

/** Dependencies of the metrics. */
export interface TelemetryParts {
  /** Returns the open workspaces. */
  readonly sites: () => readonly { readonly service: Service; readonly answers: Answers }[];
  /** Whether the server has several workspaces; the age of their data is not reported. */
  readonly isFleet: boolean;
  readonly clock: Clock;
  /** Adds the metrics of this workspace. */
  readonly monitored: Monitored | null;
}

/**
 * Creates the metrics, including the workspace's if one is monitored. Labels come only from declarations, settings and
 * statuses, so that clients cannot create series.
 */
export function createTelemetry(parts: TelemetryParts): Telemetry {
  const { monitored } = parts;
  const registry = new Registry();
  if (monitored !== null) registry.setDefaultLabels({ workspace: monitored.workspace });
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const requests = new Counter({
    name: 'sightline_http_requests_total',
    help: 'Finished requests, by declared path and status.',
    labelNames: ['route', 'status'] as const,
    registers,
  });
  const durations = new Histogram({
    name: 'sightline_http_request_duration_seconds',
    help: 'Time from the arrival of a request to the end of its response, by declared path and status.',
    labelNames: ['route', 'status'] as const,
    buckets: BUCKETS_SECONDS,
    registers,
  });
  const cache = new Counter({
    name: 'sightline_answers_total',
    help: 'Responses by source: computed, kept (cached), or unchanged at the client (304).',
    labelNames: ['source'] as const,
    registers,
  });
  const refusals = new Counter({
    name: 'sightline_limiter_refusals_total',
    help: 'Requests rejected with 429: by the rate limit of a key, or for wrong keys from an address.',
    labelNames: ['by'] as const,
    registers,
  });
  addGauges(registry, parts);
  const refresh = monitored === null ? null : createRefresh(registry, monitored, parts);
  return {
    observe: (visit, status, tookMs) => {
      const labels = { route: visit.route ?? OTHER_ROUTE, status };
      requests.inc(labels);
      durations.observe(labels, tookMs / 1000);
      if (visit.cache !== null) cache.inc({ source: visit.cache });
      if (status === 429) refusals.inc({ by: visit.keyId === null ? 'address' : 'key' });
    },
    render: async () => {
      await refresh?.();
      return { text: await registry.metrics(), mediaType: registry.contentType };
    },
  };
}

// The workspace is opened again when its resources change.
function createRefresh(
  registry: Registry,
  monitored: Monitored,
  { sites, clock }: TelemetryParts,
): () => Promise<void> {
  const observers = new WeakMap<Service, ReturnType<typeof createObserver>>();
  const set = addWorkspaceMetrics(registry);
  return async () => {
    const service = sites().at(-1)?.service;
    if (service === undefined) return;
    const observe = observers.get(service) ?? createObserver(service, monitored, clock);
    observers.set(service, observe);
    set(await observe());
  };
}

function addGauges(registry: Registry, { sites, isFleet, clock }: TelemetryParts): void {
  const gauge = (name: string, help: string, read: () => number | Promise<number>): void => {
    const made: Gauge = new Gauge({
      name,
      help,
      registers: [registry],
      collect: async () => made.set(await read()),
    });
  };
  const sum = (read: (site: ReturnType<typeof sites>[number]) => number): number =>
    sites().reduce((total, site) => total + read(site), 0);
  gauge('sightline_queries_running', 'Running warehouse queries.', () => sum(({ service }) => service.load().running));
  gauge('sightline_queries_waiting', 'Waiting warehouse queries.', () => sum(({ service }) => service.load().waiting));
  gauge('sightline_answers_running', 'Responses being computed.', () => sum(({ answers }) => answers.running));
  gauge('sightline_answers_waiting', 'Requests waiting for a response being computed.', () =>
    sum(({ answers }) => answers.waiting),
  );
  gauge('sightline_answers_kept_bytes', 'Bytes of cached responses.', () => sum(({ answers }) => answers.cachedBytes));
  gauge('sightline_data_age_seconds', 'Time since the end of the newest sync; NaN before the first.', async () => {
    const [site] = isFleet ? [] : sites();
    const syncedAt = (await site?.service.freshness())?.syncedAt ?? null;
    return syncedAt === null ? Number.NaN : (clock.now() - syncedAt) / 1000;
  });
}

// Registers a workspace's metrics and returns a function that sets them from an observation.
function addWorkspaceMetrics(registry: Registry): (observation: Observation) => void {
  const made = [...dataMetrics, ...syncMetrics].map(({ kind, name, help, labels = [], read }) => {
    const options = { name, help, labelNames: [...labels], registers: [registry] };
    return { metric: kind === 'counter' ? new Counter(options) : new Gauge(options), labels, read };
  });
  return (observation) => {
    for (const { metric, labels, read } of made) {
      metric.reset();
      // Metrics without a value are left out instead of reported as 0.
      if (labels.length === 0) metric.remove();
      for (const [value, labelled = {}] of read(observation)) {
        if (value === null || value === undefined) continue;
        if (metric instanceof Counter) metric.inc(labelled, value);
        else metric.set(labelled, value);
      }
    }
  };
}

/**
 * Creates the metrics listener. It has its own port, so that access to metrics and to the API can be granted
 * separately.
 */
export function createMetricsServer(telemetry: Telemetry, hosts: HostRules): Server {
  return createServer({ requestTimeout: 10_000, keepAliveTimeout: 5_000 }, (request, response) => {
    request.resume();
    response.setHeader('X-Content-Type-Options', 'nosniff');
    answer(telemetry, hosts, request, response).catch((thrown: unknown) => writeError(response, thrown, randomUUID()));
  });
}

async function answer(
  telemetry: Telemetry,
  hosts: HostRules,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (!hosts.acceptsHost(request.headers.host ?? '')) {
    throw new Refusal('forbidden', 'This server does not answer under that host name.');
  }
  if ((request.url ?? '').split('?')[0] !== METRICS_PATH) throw nothingThere();
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    throw new Refusal('method_not_allowed', 'This address accepts GET, HEAD.', { Allow: 'GET, HEAD' });
  }
  const { text, mediaType } = await telemetry.render();
  response.writeHead(200, { 'Content-Type': mediaType, 'Content-Length': Buffer.byteLength(text) });
  response.end(text);
}
