import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Clock } from '../../base/clock.ts';
import { createObserver, type Monitored } from '../monitored.ts';
import type { Service } from '../service.ts';
import type { Answers } from './answers.ts';
import type { Visit } from './visit.ts';
import { addWorkspaceMetrics } from './workspace-metrics.ts';

/** Upper bounds of the durations, seconds: from a kept answer to a query that is about to be stopped. */
const BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Where no declared path was asked for. */
const OTHER_ROUTE = 'other';

/** The server's metrics, in the form that Prometheus reads. */
export interface Telemetry {
  /** Counts a request that has ended. */
  observe(visit: Visit, status: number, tookMs: number): void;
  /** The text and its media type. */
  render(): Promise<{ readonly text: string; readonly mediaType: string }>;
}

/**
 * Builds the metrics; labels come from declarations, settings and statuses only, so that clients cannot make any up. Those
 * of the workspace are there where one is monitored.
 */
export function createTelemetry(
  service: Service,
  answers: Answers,
  clock: Clock,
  monitored: Monitored | null,
): Telemetry {
  const registry = new Registry();
  if (monitored !== null) registry.setDefaultLabels({ workspace: monitored.workspace });
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const requests = new Counter({
    name: 'sightline_http_requests_total',
    help: 'Requests answered, by declared path and status.',
    labelNames: ['route', 'status'] as const,
    registers,
  });
  const durations = new Histogram({
    name: 'sightline_http_request_duration_seconds',
    help: 'Time from the arrival of a request to the end of its answer, by declared path and status.',
    labelNames: ['route', 'status'] as const,
    buckets: BUCKETS_SECONDS,
    registers,
  });
  const cache = new Counter({
    name: 'sightline_answers_total',
    help: 'Answers by where they came from: computed, kept from before, or unchanged at the client (304).',
    labelNames: ['source'] as const,
    registers,
  });
  const refusals = new Counter({
    name: 'sightline_limiter_refusals_total',
    help: 'Requests refused with 429: for the requests of a key, or for wrong keys from an address.',
    labelNames: ['by'] as const,
    registers,
  });
  addGauges(registry, service, answers, clock);
  const refresh = monitored === null ? null : createRefresh(registry, service, monitored, clock);
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

function createRefresh(registry: Registry, service: Service, monitored: Monitored, clock: Clock): () => Promise<void> {
  const observe = createObserver(service, monitored, clock);
  const set = addWorkspaceMetrics(registry);
  return async () => set(await observe());
}

function addGauges(registry: Registry, service: Service, answers: Answers, clock: Clock): void {
  const gauge = (name: string, help: string, read: () => number | Promise<number>): void => {
    const made: Gauge = new Gauge({
      name,
      help,
      registers: [registry],
      collect: async () => made.set(await read()),
    });
  };
  gauge('sightline_queries_running', 'Queries that the warehouse works on.', () => service.load().running);
  gauge('sightline_queries_waiting', 'Queries that wait for their turn.', () => service.load().waiting);
  gauge('sightline_answers_running', 'Answers being computed.', () => answers.running);
  gauge('sightline_answers_waiting', 'Requests that wait for an answer being computed.', () => answers.waiting);
  gauge('sightline_answers_kept_bytes', 'Bytes of the answers that are kept.', () => answers.cachedBytes);
  gauge('sightline_data_age_seconds', 'Time since the newest sync ended; NaN before the first.', async () => {
    const { syncedAt } = await service.freshness();
    return syncedAt === null ? Number.NaN : (clock.now() - syncedAt) / 1000;
  });
}
