import type { Query } from './database.ts';
import { literal } from './schema.ts';

/** What something cost and brought. */
export interface Cost {
  readonly requests: number;
  /** Requests that were second and later attempts. */
  readonly retries: number;
  /** Rows that upstream sent, and of these those that were new, other than before, or gone. */
  readonly rows: number;
  readonly inserted: number;
  readonly updated: number;
  readonly deleted: number;
  /** Requests whose page changed nothing. */
  readonly wasted: number;
  readonly failures: number;
  readonly bytes: number;
  readonly waitedMs: number;
}

/** A run with its cost; times are ISO 8601, UTC. */
export interface RunCost extends Cost {
  readonly runId: string;
  readonly status: string;
  readonly startedAt: string;
  readonly endedAt: string | null;
  readonly durationMs: number | null;
  readonly error: string | null;
  /** Null where nothing was new. */
  readonly requestsPerNewRow: number | null;
}

/** What a run spent on one resource. */
export interface ResourceCost extends Cost {
  readonly resource: string;
  readonly requestsPerNewRow: number | null;
}

const costs = [
  'count(q.sent_at)',
  'count(*) FILTER (q.attempt > 1)',
  'coalesce(sum(q.rows), 0)',
  'coalesce(sum(q.inserted), 0)',
  'coalesce(sum(q.updated), 0)',
  'coalesce(sum(q.deleted), 0)',
  'count(*) FILTER (q.rows IS NOT NULL AND q.inserted + q.updated + q.deleted = 0 AND q.data_version = q.version_before)',
  'count(*) FILTER (q.error IS NOT NULL)',
  'coalesce(sum(q.bytes), 0)',
  'coalesce(sum(q.waited_ms), 0)',
]
  .map((column) => `CAST(${column} AS DOUBLE)`)
  .join(', ');

// A page that completes rows with their detail changes the data's version, although no row is new or other than before.
const LEDGER = `(SELECT *, lag(data_version IGNORE NULLS) OVER (ORDER BY rowid) AS version_before FROM sync.requests)`;

/** The runs that came last, newest first. */
export async function readRuns(query: Query, limit: number): Promise<RunCost[]> {
  return toRuns(await query(runsSql(`ORDER BY started_at DESC, rowid DESC LIMIT ${limit}`)));
}

/** Runs whose id begins with a text, two at most. */
export async function findRuns(query: Query, prefix: string): Promise<RunCost[]> {
  const matches = `starts_with(CAST(run_id AS VARCHAR), ${literal(prefix.toLowerCase())})`;
  return toRuns(await query(runsSql(`WHERE ${matches} ORDER BY started_at DESC, rowid DESC LIMIT 2`)));
}

/** What a run spent, by resource, the costliest first. */
export async function readResourceCosts(query: Query, runId: string): Promise<ResourceCost[]> {
  const rows = await query(
    `SELECT q.resource, ${costs} FROM ${LEDGER} q WHERE CAST(q.run_id AS VARCHAR) = ${literal(runId)}
     GROUP BY q.resource ORDER BY count(*) DESC, q.resource`,
  );
  return rows.map(([resource, ...numbers]) => {
    const cost = toCost(numbers);
    return { resource: String(resource), ...cost, requestsPerNewRow: perNewRow(cost) };
  });
}

function runsSql(which: string): string {
  return `WITH chosen AS (SELECT *, rowid AS number FROM sync.runs ${which})
    SELECT CAST(r.run_id AS VARCHAR), r.status, ${iso('r.started_at')}, ${iso('r.ended_at')},
      CAST(epoch_ms(r.ended_at) - epoch_ms(r.started_at) AS DOUBLE), r.error, ${costs}
    FROM chosen r LEFT JOIN ${LEDGER} q ON q.run_id = r.run_id
    GROUP BY r.run_id, r.status, r.started_at, r.ended_at, r.error, r.number ORDER BY r.started_at DESC, r.number DESC`;
}

function toRuns(rows: readonly (readonly unknown[])[]): RunCost[] {
  return rows.map(([runId, status, startedAt, endedAt, durationMs, error, ...numbers]) => {
    const cost = toCost(numbers);
    return {
      runId: String(runId),
      status: String(status),
      startedAt: String(startedAt),
      endedAt: endedAt as string | null,
      durationMs: durationMs as number | null,
      error: error as string | null,
      ...cost,
      requestsPerNewRow: perNewRow(cost),
    };
  });
}

function toCost(numbers: readonly unknown[]): Cost {
  const [requests, retries, rows, inserted, updated, deleted, wasted, failures, bytes, waitedMs] = numbers.map(
    Number,
  ) as [number, number, number, number, number, number, number, number, number, number];
  return { requests, retries, rows, inserted, updated, deleted, wasted, failures, bytes, waitedMs };
}

function perNewRow({ requests, inserted }: Cost): number | null {
  return inserted === 0 ? null : Math.round((requests / inserted) * 10_000) / 10_000;
}

function iso(moment: string): string {
  return `strftime(${moment}, '%Y-%m-%dT%H:%M:%S.%gZ')`;
}
