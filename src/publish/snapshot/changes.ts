import { join } from 'node:path';
import type { WarehouseTable } from '../../contract/catalogue.ts';
import type { Column } from '../../contract/tables.ts';
import type { CopySource } from '../../warehouse/file/copy-out.ts';
import { fileLiteral, literal, quoted, utc } from '../../warehouse/schema.ts';
import type { SnapshotTable } from './manifest.ts';
import type { Selected } from './selection.ts';

/** Column of an incremental export: `insert`, `update` or `delete`. */
export const CHANGE_COLUMN = '_change';

const DELETED = '_deleted_at';
const HASH = '_hash';
const LIVE = '_live';
const PLACE = '_place';

/** The rows of a table at an earlier time. */
export type Base =
  | { readonly kind: 'empty' }
  /** A file of `writeState`. */
  | { readonly kind: 'state'; readonly path: string }
  | { readonly kind: 'snapshot'; readonly folder: string; readonly table: SnapshotTable };

/** Numbers of changes. */
export interface ChangeCounts {
  readonly insert: number;
  readonly update: number;
  readonly delete: number;
}

/** A selected table, and its declaration. */
interface Parts {
  readonly source: CopySource;
  readonly selected: Selected;
  readonly table: WarehouseTable;
}

/**
 * Replaces the rows of a selected table by its changes since `base`, with the column `_change`. A row is live if upstream lists it
 * (`_deleted_at` is null). By its key, a row is
 *
 * - `insert` if it is live now and was not then;
 * - `update` if it is live now and was then, and any of its columns differs;
 * - `delete` if it was live then and is not now, or if it was inserted, or inserted again, and deleted since then. A deleted row has
 *   its last values and `_deleted_at`; a nested row that its item no longer has, has only its key.
 *
 * Without earlier rows, every live row is an `insert`, and other rows are left out.
 */
export async function selectChanges({ source, selected, table }: Parts, base: Base): Promise<Selected> {
  const columns = [{ name: CHANGE_COLUMN, type: 'VARCHAR' }, ...selected.columns];
  const changes = { ...selected, columns, ofBrands: 'true', ofDays: 'true' };
  const where = `${selected.ofBrands} AND ${selected.ofDays}`;
  if (base.kind === 'empty') {
    const rows = `SELECT 'insert' AS ${CHANGE_COLUMN}, * FROM ${selected.source} WHERE ${where} AND ${liveSql(selected)}`;
    return { ...changes, source: `(${rows})` };
  }
  // Stored once, because the changes are counted, checked and written by separate queries.
  const stored = quoted(`changes of ${selected.name}`);
  const keys = keysOf(selected, table).map(({ name }) => quoted(name));
  const on = keys.map((key) => `n.${key} IS NOT DISTINCT FROM b.${key}`).join(' AND ') || 'true';
  const now = `SELECT ${stateColumns(selected, table)}, rowid AS ${PLACE} FROM ${selected.source} WHERE ${where}`;
  const own = selected.columns.map(({ name }) => `t.${quoted(name)}`).join(', ');
  const gone = selected.columns.map(({ name, type }) => {
    return `CAST(${keys.includes(quoted(name)) ? `b.${quoted(name)}` : 'NULL'} AS ${type})`;
  });
  await source.run(`CREATE OR REPLACE TEMP TABLE ${stored} AS
    WITH n AS MATERIALIZED (${now}), b AS MATERIALIZED (${baseSql(selected, table, base)}),
    changed AS (
      SELECT n.${PLACE}, CASE WHEN NOT n.${LIVE} THEN 'delete' WHEN coalesce(b.${LIVE}, false) THEN 'update' ELSE 'insert' END AS ${CHANGE_COLUMN}
      FROM n LEFT JOIN b ON ${on} WHERE b.${LIVE} IS DISTINCT FROM n.${LIVE} OR b.${HASH} <> n.${HASH})
    SELECT changed.${CHANGE_COLUMN}, ${own} FROM ${selected.source} t JOIN changed ON t.rowid = changed.${PLACE}
    UNION ALL SELECT 'delete', ${gone.join(', ')} FROM b WHERE b.${LIVE} AND NOT EXISTS (SELECT 1 FROM n WHERE ${on})`);
  return { ...changes, source: `temp.${stored}` };
}

/** Writes key, hash and liveness of the selected rows to a Parquet file, with which a later export compares. */
export async function writeState({ source, selected, table }: Parts, path: string): Promise<void> {
  const rows = stateSql(selected, table, `SELECT * FROM ${selected.source}`);
  await source.run(`COPY (${rows}) TO ${literal(path)} (FORMAT parquet, COMPRESSION zstd)`);
}

/** Counts the changes of a table of `selectChanges`. */
export async function countChanges(source: CopySource, { source: changes }: Selected): Promise<ChangeCounts> {
  const rows = await source.query(`SELECT ${CHANGE_COLUMN}, count(*) FROM ${changes} GROUP BY 1`);
  return { insert: 0, update: 0, delete: 0, ...Object.fromEntries(rows.map(([kind, of]) => [kind, Number(of)])) };
}

function baseSql(selected: Selected, table: WarehouseTable, base: Exclude<Base, { kind: 'empty' }>): string {
  if (base.kind === 'state') return `SELECT * FROM read_parquet(${fileLiteral(base.path)})`;
  const { folder, table: then } = base;
  const files = then.files.map(({ path }) => fileLiteral(join(folder, path)));
  // Columns that the snapshot does not have yet are null.
  const names = new Set(then.columns.map(({ name }) => name));
  const columns = selected.columns.map(({ name, type }) =>
    names.has(name) ? quoted(name) : `CAST(NULL AS ${type}) AS ${quoted(name)}`,
  );
  const rows = `SELECT ${columns.join(', ')} FROM read_parquet([${files.join(', ')}], hive_partitioning = false)`;
  return stateSql(selected, table, rows);
}

function stateSql(selected: Selected, table: WarehouseTable, rows: string): string {
  return `SELECT ${stateColumns(selected, table)} FROM (${rows}) WHERE ${selected.ofBrands} AND ${selected.ofDays}`;
}

// Key, hash and liveness. A changed row keeps its hash in one case of 2^64.
function stateColumns(selected: Selected, table: WarehouseTable): string {
  const keys = keysOf(selected, table).map((column) => `${plain(column)} AS ${quoted(column.name)}`);
  const hash = `hash(${columnsOf(selected, table).map(plain).join(', ')})`;
  return [...keys, `${hash} AS ${HASH}`, `${liveSql(selected)} AS ${LIVE}`].join(', ');
}

function liveSql({ columns }: Selected): string {
  return columns.some(({ name }) => name === DELETED) ? `${quoted(DELETED)} IS NULL` : 'true';
}

function keysOf(selected: Selected, table: WarehouseTable): Column[] {
  return columnsOf(selected, table).filter(({ name }) => table.key.includes(name));
}

function columnsOf(selected: Selected, table: WarehouseTable): Column[] {
  return table.columns.filter(({ name }) => selected.columns.some((column) => column.name === name));
}

// The types of the warehouse and of Parquet files differ for ids, records and times.
function plain({ name, kind }: Column): string {
  if (kind === 'uuid' || kind === 'json') return `CAST(${quoted(name)} AS VARCHAR)`;
  return kind === 'timestamp' ? utc(quoted(name)) : quoted(name);
}
