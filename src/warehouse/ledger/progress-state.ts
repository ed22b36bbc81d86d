import type { Database, Query, ResultRow } from '../database.ts';
import { literal } from '../schema.ts';

/** The sync state of a resource and brand: numbers of slices, the days of complete ones (YYYY-MM-DD), and their last end (ISO 8601). */
export interface ProgressState {
  readonly resource: string;
  readonly brandId: string | null;
  readonly complete: number;
  readonly unfinished: number;
  readonly firstDay: string | null;
  readonly lastDay: string | null;
  readonly closedAt: string | null;
}

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
       CAST(count(DISTINCT chain) FILTER (closed_at IS NULL) AS INTEGER), strftime(min(range_from), '%Y-%m-%d'),
       strftime(max(range_to), '%Y-%m-%d'), strftime(max(closed_at), '%Y-%m-%dT%H:%M:%S.%gZ')
     FROM (SELECT resource, brand_id, chain, range_from, range_to, closed_at FROM sync.coverage
       UNION ALL SELECT resource, brand_id, chain, NULL, NULL, NULL FROM sync.checkpoints)
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
      `SELECT CAST(count(DISTINCT chain) AS INTEGER) AS chains FROM (SELECT chain FROM sync.coverage WHERE ${condition}
         UNION ALL SELECT chain FROM sync.checkpoints WHERE ${condition})`,
    )) as [ResultRow];
    for (const table of ['coverage', 'checkpoints']) await session.run(`DELETE FROM sync.${table} WHERE ${condition}`);
    return Number(row['chains']);
  });
}
