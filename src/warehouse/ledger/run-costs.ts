import { z } from 'zod';
import { amount, number, time, type ValueOf } from '../../contract/operation/json-parts.ts';
import type { Query } from '../database.ts';
import { literal } from '../schema.ts';

const cost = {
  requests: number,
  retries: number.describe('second and later attempts'),
  rows: number.describe('rows that upstream sent'),
  inserted: number,
  updated: number,
  deleted: number,
  wasted: number.describe('requests for pages that changed nothing'),
  failures: number,
  bytes: number,
  waitedMs: amount,
};
const requestsPerNewRow = amount.nullable().describe('null if no row was inserted');

/** A run with its cost. */
export const runCost = z.object({
  runId: z.string(),
  kind: z.string(),
  trigger: z.string().nullable(),
  status: z.string(),
  startedAt: time,
  endedAt: time.nullable(),
  durationMs: amount.nullable(),
  error: z.string().nullable(),
  ...cost,
  requestsPerNewRow,
});

/** A run with the cost of each of its resources. */
export const runDetails = runCost.extend({
  resources: z.array(z.object({ resource: z.string(), ...cost, requestsPerNewRow })),
});

/** A run with its cost. */
export type RunCost = ValueOf<typeof runCost>;
type Cost = ValueOf<z.ZodObject<typeof cost>>;
/** Cost of one resource in a run. */
export type ResourceCost = ValueOf<typeof runDetails>['resources'][number];

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

// A page that adds details to existing rows changes the data version, although it inserts and updates no row.
const LEDGER = `(SELECT *, lag(data_version IGNORE NULLS) OVER (ORDER BY rowid) AS version_before FROM sync.requests)`;

/** Reads the latest runs, newest first. */
export async function readRuns(query: Query, limit: number): Promise<RunCost[]> {
  return toRuns(await query(runsSql(`ORDER BY started_at DESC, rowid DESC LIMIT ${limit}`)));
}

/** Finds runs by the beginning of their id; returns at most two, which shows whether the prefix is unique. */
export async function findRuns(query: Query, prefix: string): Promise<RunCost[]> {
  const matches = `starts_with(CAST(run_id AS VARCHAR), ${literal(prefix.toLowerCase())})`;
  return toRuns(await query(runsSql(`WHERE ${matches} ORDER BY started_at DESC, rowid DESC LIMIT 2`)));
}

/** Reads the cost of a run by resource, most requests first. */
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

function runsSql(clause: string): string {
  return `WITH chosen AS (SELECT *, rowid AS number FROM sync.runs ${clause})
    SELECT CAST(r.run_id AS VARCHAR), r.status, ${iso('r.started_at')}, ${iso('r.ended_at')},
      CAST(epoch_ms(r.ended_at) - epoch_ms(r.started_at) AS DOUBLE), r.error, any_value(r.kind), any_value(r.trigger), ${costs}
    FROM chosen r LEFT JOIN ${LEDGER} q ON q.run_id = r.run_id
    GROUP BY r.run_id, r.status, r.started_at, r.ended_at, r.error, r.number ORDER BY r.started_at DESC, r.number DESC`;
}

function toRuns(rows: readonly (readonly unknown[])[]): RunCost[] {
  return rows.map(([runId, status, startedAt, endedAt, durationMs, error, kind, trigger, ...numbers]) => {
    const cost = toCost(numbers);
    return {
      runId: String(runId),
      kind: String(kind),
      trigger: trigger as string | null,
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
