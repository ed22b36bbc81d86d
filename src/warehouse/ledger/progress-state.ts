import { z } from 'zod';
import { day, number, time, type ValueOf } from '../../contract/operation/json-parts.ts';
import type { Database, Query, ResultRow } from '../database.ts';
import { literal } from '../schema.ts';

/** State of a resource of a brand. */
export const progressState = z.object({
  resource: z.string(),
  brandId: z.string().nullable(),
  complete: number.describe('completely read slices'),
  unfinished: number.describe('slices with committed pages that are not read to their end'),
  firstDay: day.nullable().describe('first day of completely read slices'),
  lastDay: day.nullable().describe('last day of completely read slices'),
  closedAt: time.nullable().describe('when the last slice was read completely'),
});

/** State of a resource of a brand. */
export type ProgressState = ValueOf<typeof progressState>;

/** The selected part of the state; null selects all resources or all brands. */
export interface StateScope {
  readonly resources: readonly string[] | null;
  readonly brands: readonly string[] | null;
}

// Without parameters of the statement, because readers of the replica have none.
function selects({ resources, brands }: StateScope): string {
  const isOneOf = (text: string, values: readonly string[] | null): string =>
    values === null ? 'true' : `list_contains([${values.map(literal).join(', ')}], ${text})`;
  return `${isOneOf('resource', resources)} AND ${isOneOf('CAST(brand_id AS VARCHAR)', brands)}`;
}

/** Counts the selected slices of the state by resource and brand. */
export async function readProgressState(query: Query, scope: StateScope): Promise<ProgressState[]> {
  const rows = await query(
    `SELECT resource, CAST(brand_id AS VARCHAR), CAST(count(closed_at) AS INTEGER),
       CAST(count(DISTINCT slice) FILTER (closed_at IS NULL) AS INTEGER), strftime(min(range_from), '%Y-%m-%d'),
       strftime(max(range_to), '%Y-%m-%d'), strftime(max(closed_at), '%Y-%m-%dT%H:%M:%S.%gZ')
     FROM (SELECT resource, brand_id, slice, range_from, range_to, closed_at FROM sync.coverage
       UNION ALL SELECT resource, brand_id, slice, NULL, NULL, NULL FROM sync.checkpoints)
     WHERE ${selects(scope)} GROUP BY resource, brand_id ORDER BY resource, brand_id NULLS FIRST`,
  );
  return rows.map(([resource, brandId, complete, unfinished, firstDay, lastDay, closedAt]) => ({
    resource: String(resource),
    brandId: brandId as string | null,
    complete: Number(complete),
    unfinished: Number(unfinished),
    firstDay: firstDay as string | null,
    lastDay: lastDay as string | null,
    closedAt: closedAt as string | null,
  }));
}

/** Deletes the selected state, so that the next sync reads those slices again. Returns the number of slices. */
export async function resetProgressState(database: Database, scope: StateScope): Promise<number> {
  return database.transaction(async (session) => {
    const condition = selects(scope);
    const [row] = (await session.all(
      `SELECT CAST(count(DISTINCT slice) AS INTEGER) AS slices FROM (SELECT slice FROM sync.coverage WHERE ${condition}
         UNION ALL SELECT slice FROM sync.checkpoints WHERE ${condition})`,
    )) as [ResultRow];
    for (const table of ['coverage', 'checkpoints']) await session.run(`DELETE FROM sync.${table} WHERE ${condition}`);
    return Number(row['slices']);
  });
}
