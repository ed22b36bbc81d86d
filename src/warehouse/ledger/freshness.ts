import { z } from 'zod';
import type { Catalogue } from '../../contract/catalogue.ts';
import { number, time, type ValueOf } from '../../contract/operation/json-parts.ts';
import { readBrandList } from '../brand-list.ts';
import type { Query } from '../database.ts';
import { ENDED_UNEXPECTEDLY } from './runs.ts';

/** Limit of the runs that are searched for one that read less than it selected. */
const RUNS_MAX = 200;
/** Limit of the listed parts that were never read. */
const NEVER_READ_MAX = 20;

const part = z.object({ resource: z.string(), brandId: z.string().nullable() });

/** How recent the data are, by the slices that were read completely. */
export const dataFreshness = z.object({
  asOf: time
    .nullable()
    .describe('every part was read completely at this time or later; null if there is none or one was never read'),
  oldest: part.nullable().describe('the part that was read least recently'),
  neverRead: z.array(part).describe('parts that were never read completely, at most 20'),
  neverReadCount: number,
  unresolved: z
    .object({ runId: z.string(), status: z.string(), startedAt: time, error: z.string().nullable() })
    .nullable()
    .describe('the newest sync that did not read everything it selected, if no later one has'),
});

/** How recent the data are. */
export type Freshness = ValueOf<typeof dataFreshness>;
type DataPart = NonNullable<Freshness['oldest']>;
type UnresolvedRun = NonNullable<Freshness['unresolved']>;

/** A slice of old days does not make a list recent. */
const RECENT = 'range_to IS NULL OR range_to >= CAST(closed_at AS DATE) - 1';

interface ReadPart extends DataPart {
  /** Epoch milliseconds; null if never. */
  readonly readAt: number | null;
  /** Number of the run that read it last; 0 if none. */
  readonly run: number;
}

interface Selection {
  readonly only?: readonly string[] | null;
  readonly brands?: readonly string[] | null;
  readonly range?: { readonly from: string; readonly to: string } | null;
}

/**
 * Reads how recent the data are. A part is expected if its resource was ever read for any brand, so a workspace that leaves
 * resources out is not incomplete. Detail pages are read only when needed and do not count.
 */
export async function readFreshness(query: Query, catalogue: Catalogue): Promise<Freshness> {
  const parts = await readParts(query, catalogue);
  const never = parts.filter(({ readAt }) => readAt === null);
  const [oldest] = parts.toSorted((a, b) => Number(a.readAt) - Number(b.readAt));
  const isRead = oldest !== undefined && never.length === 0;
  return {
    asOf: isRead ? new Date(Number(oldest.readAt)).toISOString() : null,
    oldest: isRead ? { resource: oldest.resource, brandId: oldest.brandId } : null,
    neverRead: never.slice(0, NEVER_READ_MAX).map(({ resource, brandId }) => ({ resource, brandId })),
    neverReadCount: never.length,
    unresolved: await readUnresolved(query, parts),
  };
}

async function readParts(query: Query, catalogue: Catalogue): Promise<ReadPart[]> {
  const rows = await query(
    `WITH numbered AS (SELECT run_id, row_number() OVER (ORDER BY started_at, rowid) AS number FROM sync.runs)
     SELECT resource, CAST(brand_id AS VARCHAR), CAST(epoch_ms(max(closed_at) FILTER (${RECENT})) AS DOUBLE),
       CAST(max(number) FILTER (${RECENT}) AS DOUBLE)
     FROM sync.coverage LEFT JOIN numbered USING (run_id) GROUP BY ALL`,
  );
  const found = new Map(rows.map(([resource, brand, readAt, run]) => [`${resource} ${brand ?? ''}`, { readAt, run }]));
  const known = new Set(rows.map(([resource]) => String(resource)));
  const brands = (await readBrandList(query, catalogue)).map(({ id }) => id);
  return catalogue.resources
    .filter(({ name, change }) => known.has(name) && change.kind !== 'detail')
    .flatMap(({ name, scope }) => (scope === 'brand' ? brands : [null]).map((brandId) => ({ resource: name, brandId })))
    .map((part) => {
      const read = found.get(`${part.resource} ${part.brandId ?? ''}`);
      const readAt = read?.readAt ?? null;
      return { ...part, readAt: readAt === null ? null : Number(readAt), run: Number(read?.run ?? 0) };
    });
}

// A later sync resolves a run if it was complete and selected at least as much, or if later runs have read every part.
async function readUnresolved(query: Query, parts: readonly ReadPart[]): Promise<UnresolvedRun | null> {
  const rows = await query(
    `SELECT CAST(run_id AS VARCHAR), status, strftime(started_at, '%Y-%m-%dT%H:%M:%S.%gZ'), error, options,
       CAST(number AS DOUBLE) FROM (SELECT *, row_number() OVER (ORDER BY started_at, rowid) AS number FROM sync.runs)
     WHERE kind = 'sync' ORDER BY number DESC LIMIT ${RUNS_MAX}`,
  );
  const complete: Selection[] = [];
  for (const [runId, status, startedAt, error, options, number] of rows) {
    const selection = toSelection(options);
    if (status === 'complete') {
      if (isAll(selection)) return null;
      complete.push(selection);
    } else if (!isResolved(selection, Number(number), complete, parts)) {
      return {
        runId: String(runId),
        status: status as UnresolvedRun['status'],
        startedAt: String(startedAt),
        error: status === 'running' ? ENDED_UNEXPECTEDLY : (error as string | null),
      };
    }
  }
  return null;
}

function isResolved(
  selection: Selection,
  number: number,
  complete: readonly Selection[],
  parts: readonly ReadPart[],
): boolean {
  const isCovered = complete.some(
    (later) =>
      includes(later.only, selection.only) &&
      includes(later.brands, selection.brands) &&
      includesRange(later.range, selection.range),
  );
  if (isCovered) return true;
  if ((selection.range ?? null) !== null) return false;
  const chosen = parts.filter(
    ({ resource, brandId }) =>
      (selection.only?.includes(resource) ?? true) &&
      (brandId === null || (selection.brands?.includes(brandId) ?? true)),
  );
  return chosen.length > 0 && chosen.every(({ run }) => run > number);
}

// Null selects all.
function includes(all: readonly string[] | null | undefined, some: readonly string[] | null | undefined): boolean {
  if (all === null || all === undefined) return true;
  return some?.every((name) => all.includes(name)) ?? false;
}

function includesRange(all: Selection['range'], some: Selection['range']): boolean {
  if (all === null || all === undefined) return true;
  return some !== null && some !== undefined && all.from <= some.from && some.to <= all.to;
}

function isAll({ only, brands, range }: Selection): boolean {
  return (only ?? range ?? brands ?? null) === null;
}

function toSelection(options: unknown): Selection {
  try {
    return JSON.parse(String(options)) as Selection;
  } catch {
    return {};
  }
}
