import type { Resource } from '../../contract/catalogue.ts';
import type { Values } from '../../contract/rows.ts';
import { columnOf, type ResourceTable } from '../../contract/tables.ts';
import type { Database, Parameter } from '../database.ts';
import { quoted } from '../schema.ts';

/** A row of a list, as planning needs it. */
export interface Member {
  readonly id: string;
  /** Whether the detail of the current row was read; false for resources without details. */
  readonly detailed: boolean;
}

/** A slice that was read completely. */
export interface ClosedSlice {
  readonly id: string;
  readonly resource: string;
  readonly brandId: string | null;
  readonly from: string | null;
  readonly to: string | null;
  readonly closedAt: number;
  /** The last pass that read it. */
  readonly passId: string;
  /** Number of rows. */
  readonly rows: number;
  /** State stored with the read; decides whether it has to be read again. */
  readonly state: string | null;
}

/** A slice that was started but not finished. */
export interface OpenSlice {
  readonly id: string;
  readonly resource: string;
  readonly brandId: string | null;
  readonly from: string | null;
  readonly to: string | null;
  /** Number of committed pages. */
  readonly pages: number;
  /** Cursor of the next page. */
  readonly next: string | null;
  readonly at: number;
}

/** Reads the live rows of a list, of brand `brandId` unless it is null. `id` is a field of the list. */
export async function readMembers(
  database: Database,
  resource: Resource,
  brandId: string | null,
  fields: { id: string; detail?: true },
): Promise<Member[]> {
  const table = resource.derived[0] as ResourceTable;
  const id = quoted(columnOf(table.declaration.fields, fields.id));
  const scope = brandId === null ? '' : 'AND brand_id = CAST($1 AS UUID)';
  const rows = await database.exclusive((session) =>
    session.all(
      `SELECT CAST(${id} AS VARCHAR) AS id, ${fields.detail === true ? '"_detail_hash" IS NOT NULL' : 'false'} AS detailed FROM ${quoted(table.name)}
       WHERE "_deleted_at" IS NULL ${scope} ORDER BY rowid`,
      brandId === null ? [] : [brandId],
    ),
  );
  return rows.map((row) => ({
    id: String(row['id']),
    detailed: row['detailed'] === true,
  }));
}

/**
 * Reads the path parameters of `child` from the live rows of its parent's list. `fixed` are the columns set by the request that read
 * the list: only rows of that request are returned.
 */
export async function readParents(
  database: Database,
  resource: Resource,
  child: Resource,
  fixed: Values,
): Promise<Record<string, string>[]> {
  const table = resource.derived[0] as ResourceTable;
  const parameters = Object.entries(child.parent?.parameters ?? {});
  const values = parameters.map(([, column]) => `CAST(${quoted(column)} AS VARCHAR)`);
  const conditions = table.fixed.map(
    (name, index) => `AND CAST(${quoted(name)} AS VARCHAR) IS NOT DISTINCT FROM $${index + 1}`,
  );
  const rows = await database.exclusive((session) =>
    session.query(
      `SELECT ${values.join(', ')} FROM ${quoted(table.name)}
       WHERE "_deleted_at" IS NULL ${conditions.join(' ')} AND ${values.map((value) => `${value} IS NOT NULL`).join(' AND ')}
       ORDER BY rowid`,
      table.fixed.map((name) => (fixed[name] ?? null) as string | null),
    ),
  );
  return rows.map((row) => Object.fromEntries(parameters.map(([name], index) => [name, String(row[index])])));
}

/** Returns the first day within the range with a live row of the brand, or null. */
export async function readFirstDay(
  database: Database,
  table: string,
  column: string,
  brandId: string,
  range: { from: string; to: string },
): Promise<string | null> {
  const [row] = await database.exclusive((session) =>
    session.all(
      `SELECT strftime(min(${quoted(column)}), '%Y-%m-%d') AS day FROM ${quoted(table)} WHERE ${rowsOfBrand(column)}`,
      [brandId, range.from, range.to],
    ),
  );
  const day = row?.['day'] ?? null;
  return day === null ? null : String(day);
}

/** Returns whether the brand has live rows within the range. */
export async function hasRows(
  database: Database,
  table: string,
  column: string,
  brandId: string,
  range: { from: string; to: string },
): Promise<boolean> {
  const rows = await database.exclusive((session) =>
    session.all(`SELECT 1 FROM ${quoted(table)} WHERE ${rowsOfBrand(column)} LIMIT 1`, [brandId, range.from, range.to]),
  );
  return rows.length > 0;
}

// Condition on the live rows of brand $1 from day $2 to day $3.
function rowsOfBrand(column: string): string {
  return `brand_id = CAST($1 AS UUID) AND "_deleted_at" IS NULL
    AND ${quoted(column)} >= CAST($2 AS DATE) AND ${quoted(column)} < CAST($3 AS DATE) + INTERVAL 1 DAY`;
}

const sliceColumns = `slice AS id, resource, CAST(brand_id AS VARCHAR) AS brand_id,
  strftime(range_from, '%Y-%m-%d') AS range_from, strftime(range_to, '%Y-%m-%d') AS range_to`;

/** Selects the slices that planning needs. Every night adds slices of each brand, and most are irrelevant later. */
export interface SliceScope {
  /** The pass to resume, all of whose slices are needed; null if there is none. */
  readonly passId: string | null;
  /** Resources of which every slice is needed, whatever its age. */
  readonly lasting: readonly string[];
}

/** Other slices are needed only if they are newer than this, counted from the newest slice. */
const RECENT = 'INTERVAL 8 DAY';

/** Reads the completed slices selected by the scope, the latest read of each, by time of completion. */
export function readClosedSlices(database: Database, { passId, lasting }: SliceScope): Promise<ClosedSlice[]> {
  return closedSlices(
    database,
    `pass_id = CAST($1 AS UUID) OR list_contains($2, resource)
       OR closed_at > (SELECT max(closed_at) FROM sync.coverage) - ${RECENT}`,
    [passId, lasting],
  );
}

/** Reads all completed slices of a brand's resource, by time of completion. */
export function readSlicesOf(database: Database, resource: string, brandId: string): Promise<ClosedSlice[]> {
  return closedSlices(database, 'resource = $1 AND brand_id = CAST($2 AS UUID)', [resource, brandId]);
}

/** Reads the ranges of a brand's resource that a run has read completely. */
export async function readRangesOf(
  database: Database,
  runId: string,
  resource: string,
  brandId: string,
): Promise<{ from: string; to: string }[]> {
  const rows = await database.exclusive((session) =>
    session.query(
      `SELECT strftime(range_from, '%Y-%m-%d'), strftime(range_to, '%Y-%m-%d') FROM sync.coverage
       WHERE run_id = CAST($1 AS UUID) AND resource = $2 AND brand_id = CAST($3 AS UUID)
         AND range_from IS NOT NULL AND range_to IS NOT NULL`,
      [runId, resource, brandId],
    ),
  );
  return rows.map(([from, to]) => ({ from: String(from), to: String(to) }));
}

async function closedSlices(database: Database, where: string, values: readonly Parameter[]): Promise<ClosedSlice[]> {
  const rows = await database.exclusive((session) =>
    session.all(
      `SELECT ${sliceColumns}, epoch_ms(closed_at) AS at_ms, CAST(pass_id AS VARCHAR) AS pass_id, rows, state
       FROM sync.coverage WHERE ${where} ORDER BY closed_at`,
      values,
    ),
  );
  return rows.map((row) => ({
    ...sliceOf(row),
    closedAt: Number(row['at_ms']),
    passId: String(row['pass_id']),
    rows: Number(row['rows']),
    state: (row['state'] ?? null) as string | null,
  }));
}

/** Reads the ids of all slices that any pass has started but not finished. */
export async function readBegunSlices(database: Database): Promise<ReadonlySet<string>> {
  const rows = await database.exclusive((session) => session.all('SELECT DISTINCT slice FROM sync.checkpoints'));
  return new Set(rows.map((row) => String(row['slice'])));
}

/** Reads the slices that a pass has started but not finished. */
export async function readOpenSlices(database: Database, passId: string): Promise<OpenSlice[]> {
  const rows = await database.exclusive((session) =>
    session.all(
      `SELECT ${sliceColumns}, max(page) AS pages, arg_max(next_cursor, page) AS next, epoch_ms(max(read_at)) AS at_ms
       FROM sync.checkpoints WHERE pass_id = CAST($1 AS UUID) GROUP BY ALL`,
      [passId],
    ),
  );
  return rows.map((row) => ({
    ...sliceOf(row),
    pages: Number(row['pages']),
    next: (row['next'] ?? null) as string | null,
    at: Number(row['at_ms']),
  }));
}

function sliceOf(row: Readonly<Record<string, unknown>>) {
  const text = (name: string): string | null => (row[name] === null ? null : String(row[name]));
  return {
    id: String(row['id']),
    resource: String(row['resource']),
    brandId: text('brand_id'),
    from: text('range_from'),
    to: text('range_to'),
  };
}
