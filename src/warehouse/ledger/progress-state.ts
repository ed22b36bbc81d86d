import type { Database, Query, ResultRow } from '../database.ts';

/** A slice that was read completely. Times are ISO 8601, UTC; days are YYYY-MM-DD. */
export interface CoverageRow {
  readonly chain: string;
  readonly resource: string;
  readonly brandId: string | null;
  readonly from: string | null;
  readonly to: string | null;
  readonly passId: string;
  readonly runId: string;
  readonly closedAt: string;
  readonly rows: number;
  readonly state: string | null;
}

/** A committed page of a slice that is not finished. */
export interface CheckpointRow {
  readonly chain: string;
  readonly resource: string;
  readonly brandId: string | null;
  readonly from: string | null;
  readonly to: string | null;
  readonly passId: string;
  readonly page: number;
  readonly table: string;
  readonly next: string | null;
  readonly seen: readonly string[];
  readonly unidentified: number;
  readonly readAt: string;
}

/** The state from which a sync resumes: completed slices, and the pages of unfinished ones. */
export interface ProgressState {
  readonly coverage: readonly CoverageRow[];
  readonly checkpoints: readonly CheckpointRow[];
}

/** The selected part of the state; null selects all resources or all brands. */
export interface StateScope {
  readonly resources: readonly string[] | null;
  readonly brands: readonly string[] | null;
}

const scopeColumns = `chain, resource, CAST(brand_id AS VARCHAR), strftime(range_from, '%Y-%m-%d'),
  strftime(range_to, '%Y-%m-%d'), CAST(pass_id AS VARCHAR)`;

/** Reads the selected part of the state. */
export async function readProgressState(query: Query, scope: StateScope): Promise<ProgressState> {
  const coverage = await query(
    `SELECT ${scopeColumns}, CAST(run_id AS VARCHAR), ${iso('closed_at')}, CAST(rows AS DOUBLE), state
     FROM sync.coverage ORDER BY resource, brand_id NULLS FIRST, range_from NULLS FIRST, chain`,
  );
  const checkpoints = await query(
    `SELECT ${scopeColumns}, CAST(page AS DOUBLE), table_name, next_cursor, seen, CAST(unidentified AS DOUBLE),
       ${iso('read_at')} FROM sync.checkpoints ORDER BY chain, page, table_name`,
  );
  const select = <T extends { resource: string; brandId: string | null }>(rows: readonly T[]): T[] =>
    rows.filter((row) => isWithin(scope, row));
  return { coverage: select(coverage.map(toCoverage)), checkpoints: select(checkpoints.map(toCheckpoint)) };
}

/** Deletes the selected state, so that the next sync reads those slices again. Returns the number of slices. */
export async function resetProgressState(database: Database, scope: StateScope): Promise<number> {
  return database.transaction(async (session) => {
    const condition = `($1 OR list_contains($2, resource)) AND ($3 OR list_contains($4, CAST(brand_id AS VARCHAR)))`;
    const values = [scope.resources === null, scope.resources ?? [], scope.brands === null, scope.brands ?? []];
    const [row] = (await session.all(
      `SELECT CAST(count(DISTINCT chain) AS INTEGER) AS chains FROM (SELECT chain FROM sync.coverage WHERE ${condition}
         UNION ALL SELECT chain FROM sync.checkpoints WHERE ${condition})`,
      values,
    )) as [ResultRow];
    for (const table of ['coverage', 'checkpoints'])
      await session.run(`DELETE FROM sync.${table} WHERE ${condition}`, values);
    return Number(row['chains']);
  });
}

function isWithin({ resources, brands }: StateScope, row: { resource: string; brandId: string | null }): boolean {
  const isOfBrand = brands === null || (row.brandId !== null && brands.includes(row.brandId));
  return isOfBrand && (resources === null || resources.includes(row.resource));
}

function toCoverage([chain, resource, brandId, from, to, passId, runId, closedAt, rows, state]: readonly unknown[]) {
  return {
    ...toShared([chain, resource, brandId, from, to, passId]),
    runId: String(runId),
    closedAt: String(closedAt),
    rows: Number(rows),
    state: state as string | null,
  };
}

function toCheckpoint(row: readonly unknown[]): CheckpointRow {
  const [page, table, next, seen, unidentified, readAt] = row.slice(6);
  return {
    ...toShared(row),
    page: Number(page),
    table: String(table),
    next: next as string | null,
    seen: Array.isArray(seen) ? seen.map(String) : [],
    unidentified: Number(unidentified),
    readAt: String(readAt),
  };
}

function toShared([chain, resource, brandId, from, to, passId]: readonly unknown[]) {
  return {
    chain: String(chain),
    resource: String(resource),
    brandId: brandId as string | null,
    from: from as string | null,
    to: to as string | null,
    passId: String(passId),
  };
}

function iso(moment: string): string {
  return `strftime(${moment}, '%Y-%m-%dT%H:%M:%S.%gZ')`;
}
