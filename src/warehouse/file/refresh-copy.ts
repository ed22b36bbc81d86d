import { createHash, randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { SightlineError } from '../../base/errors.ts';
import { VERSION } from '../../base/version.ts';
import type { Catalogue } from '../../contract/catalogue.ts';
import { DETAIL_ITEM, WHOLE_ITEM } from '../../contract/tables.ts';
import { addDays } from '../../contract/time.ts';
import { openDatabase, type Session } from '../database.ts';
import { literal, quoted } from '../schema.ts';
import { type CopyContents, readContents } from './copy-contents.ts';
import { copyDatabase, databaseBytes, type HiddenRows, removeDatabase } from './copy-database.ts';
import { spillFolder } from './spill.ts';

const TARGET = 'copied_to';
const DELTA = 'delta';
/** With 256 MB, a refresh of half of 1,000,000 responses within `serve` needs 150 MB more and a tenth less time. */
const REFRESH_MEMORY_MB = 96;
/** Smaller copies are written completely, which takes less time than comparing their tables. */
const BYTES_LEAST = 32 * 1024 * 1024;
/** A copy is written completely after this many refreshes, because a refresh keeps damaged blocks of unchanged days. */
const REFRESHES_MAX = 30;
/** A complete copy takes less time if a larger share of the rows with a time has changed. */
const CHANGED_MOST = 0.5;
/** A table with a time column. */
export interface TimedTable {
  readonly name: string;
  /** Column of the time. */
  readonly time: string;
  readonly key: readonly string[];
}

/** Returns the tables with a time column: tables of lists by day, and tables of nested arrays that repeat the column. */
export function timedTables({ resources }: Pick<Catalogue, 'resources'>): TimedTable[] {
  const found = new Map<string, TimedTable>();
  for (const { name, extent, key, children } of resources.flatMap(({ derived }) => derived)) {
    if (extent.kind !== 'time') continue;
    found.set(name, { name, time: extent.field, key });
    for (const child of children) {
      const time = child.columns.find(({ source }) => source.from === 'parent' && source.column === extent.field);
      if (time !== undefined) found.set(child.name, { name: child.name, time: time.name, key: child.key });
    }
  }
  return [...found.values()];
}

/** Options of `writeCopy`. */
export interface WriteCopyOptions {
  /** The copy to replace, which stays unchanged. */
  readonly before: string;
  readonly without: readonly HiddenRows[];
  readonly timed: readonly TimedTable[];
  /** Default: `BYTES_LEAST`. */
  readonly bytesLeast?: number | undefined;
}

/**
 * Writes a copy for readers to a new file at `path`. If the copy before is known and most of its days are unchanged, copies its file and
 * replaces the rows of the changed days and of tables without a time; otherwise copies the database. Returns the contents to keep with
 * `keepContents`; null for a small copy.
 */
export async function writeCopy(
  session: Session,
  path: string,
  { before, without, timed, bytesLeast = BYTES_LEAST }: WriteCopyOptions,
): Promise<CopyContents | null> {
  const [row] = await session.all('SELECT path FROM duckdb_databases() WHERE database_name = current_database()');
  const isSmall = databaseBytes(String(row?.['path'])) < bytesLeast;
  if (timed.length === 0 || isSmall) {
    await copyDatabase(session, path, { forReaders: true, isCompressed: !isSmall, without });
    return null;
  }
  const tables = await readTables(session, timed);
  const next = { layout: await readLayout(session), parts: await readParts(session, tables, without) };
  const known = await readContents(before);
  if (known !== null && known.layout === next.layout && known.refreshes < REFRESHES_MAX) {
    const changed = changedParts(tables, known.parts, next.parts);
    if (shareOf(changed, tables, next.parts) <= CHANGED_MOST) {
      try {
        await copyFile(before, path, constants.COPYFILE_FICLONE);
        await refresh(session, path, { changed, without, parts: next.parts });
        return { ...next, copy: known.copy, refreshes: known.refreshes + 1 };
      } catch (thrown) {
        if (thrown instanceof SightlineError && thrown.code === 'disk_full') throw thrown;
        // The copy before may be damaged or may have been removed.
        await removeDatabase(path);
      }
    }
  }
  await copyDatabase(session, path, { forReaders: true, without });
  return { ...next, copy: randomUUID(), refreshes: 0 };
}

async function readLayout(session: Session): Promise<string> {
  const parts = [
    'SELECT schema_name, table_name, column_index, column_name, data_type, is_nullable, c.comment FROM duckdb_columns() c JOIN duckdb_tables() t USING (database_name, schema_name, table_name)',
    'SELECT schema_name, table_name, comment FROM duckdb_tables()',
    'SELECT schema_name, view_name, sql, comment FROM duckdb_views() WHERE NOT internal',
  ];
  const hash = createHash('sha256').update(VERSION);
  for (const sql of parts) {
    const where = sql.includes('WHERE') ? 'AND' : 'WHERE';
    hash.update(JSON.stringify(await session.query(`${sql} ${where} database_name = current_database() ORDER BY ALL`)));
  }
  return hash.digest('hex');
}

type Parts = CopyContents['parts'];

interface Table {
  readonly schema: string;
  readonly name: string;
  /** Schema and name, quoted. */
  readonly id: string;
  readonly timed: TimedTable | null;
}

async function readTables(session: Session, timed: readonly TimedTable[]): Promise<Table[]> {
  const rows = await session.query(
    'SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = current_database() AND NOT internal ORDER BY ALL',
  );
  return rows.map(([schema, name]) => ({
    schema: String(schema),
    name: String(name),
    id: `${quoted(String(schema))}.${quoted(String(name))}`,
    timed: schema === 'main' ? (timed.find((table) => table.name === name) ?? null) : null,
  }));
}

// DuckDB combines the hashes of columns by exclusive or, so equal changes of two rows would cancel each other out: rows are hashed
// again before they are added.
async function readParts(session: Session, tables: readonly Table[], hidden: readonly HiddenRows[]): Promise<Parts> {
  const parts: Record<string, Record<string, [number, string | null]>> = {};
  const take = (rows: readonly (readonly unknown[])[]): void => {
    for (const [table, day, n, hash] of rows) {
      const days = parts[String(table)] ?? {};
      parts[String(table)] = days;
      days[String(day)] = [Number(n), hash as string | null];
    }
  };
  const whole = tables.filter(({ timed }) => timed === null);
  const selects = whole.map(
    (table) => `SELECT ${literal(table.id)}, '', count(*), CAST(sum(hash(hash(t))) AS VARCHAR) FROM ${table.id} t
      WHERE ${shown(table, hidden)}`,
  );
  if (selects.length > 0) take(await session.query(selects.join(' UNION ALL ')));
  for (const table of tables) {
    if (table.timed === null) continue;
    const columns = (await hashedColumns(session, table.timed)).map(quoted).join(', ');
    take(
      await session.query(
        `SELECT ${literal(table.id)}, coalesce(strftime(day, '%Y-%m-%d'), ''), n, CAST(hash AS VARCHAR) FROM (
           SELECT CAST(${quoted(table.timed.time)} AS DATE) AS day, count(*) AS n, sum(hash(hash(${columns}))) AS hash
           FROM ${table.id} WHERE ${shown(table, hidden)} GROUP BY 1) ORDER BY day`,
      ),
    );
  }
  return parts;
}

// Columns that change whenever the row changes, and the key. The hashes of a row change with its items.
async function hashedColumns(session: Session, { name, key }: TimedTable): Promise<string[]> {
  const rows = await session.query(
    `SELECT column_name FROM duckdb_columns() WHERE database_name = current_database() AND schema_name = 'main'
       AND table_name = ${literal(name)} AND column_name LIKE '\\_%' ESCAPE '\\' AND data_type <> 'JSON'
       AND column_name NOT IN (${literal(WHOLE_ITEM)}, ${literal(DETAIL_ITEM)}) ORDER BY column_index`,
  );
  return [...new Set([...key, ...rows.map(([column]) => String(column))])];
}

// The condition of the rows that the copy contains.
function shown({ schema, name }: Table, hidden: readonly HiddenRows[]): string {
  const conditions = hidden.filter((rows) => rows.table === name && (rows.schema ?? 'main') === schema);
  return conditions.map(({ where }) => `NOT coalesce((${where}), false)`).join(' AND ') || 'true';
}

/** Parts of a table to write again. */
interface ChangedTable {
  readonly table: Table;
  /** The conditions of their rows. */
  readonly where: readonly string[];
  /** Rows of the parts now. */
  readonly rows: number;
}

function changedParts(tables: readonly Table[], before: Parts, after: Parts): ChangedTable[] {
  return tables.flatMap((table) => {
    const [was = {}, is = {}] = [before[table.id], after[table.id]];
    const days = [...new Set([...Object.keys(was), ...Object.keys(is)])];
    const changed = days.filter((day) => String(was[day]) !== String(is[day]));
    const rows = sum(changed.map((day) => is[day]?.[0] ?? 0));
    const where = table.timed === null ? ['true'] : dayConditions(quoted(table.timed.time), changed);
    return changed.length === 0 ? [] : [{ table, where, rows }];
  });
}

/** Returns conditions of the rows of these days; successive days have one. The day of rows without a time is an empty text. */
export function dayConditions(time: string, days: readonly string[]): string[] {
  const ranges: { from: string; to: string }[] = [];
  for (const day of days.filter((each) => each !== '').sort()) {
    const last = ranges.at(-1);
    if (last !== undefined && addDays(last.to, 1) === day) last.to = day;
    else ranges.push({ from: day, to: day });
  }
  const conditions = ranges.map(
    ({ from, to }) => `${time} >= DATE ${literal(from)} AND ${time} < DATE ${literal(to)} + INTERVAL 1 DAY`,
  );
  return days.includes('') ? [...conditions, `${time} IS NULL`] : conditions;
}

function rowsOf(parts: Parts[string]): number[] {
  return Object.values(parts).map(([rows]) => rows);
}

// The share of rows with a time that are in changed parts. Other tables are small.
function shareOf(changed: readonly ChangedTable[], tables: readonly Table[], parts: Parts): number {
  const written = changed.filter(({ table }) => table.timed !== null).map(({ rows }) => rows);
  const all = tables.filter(({ timed }) => timed !== null).flatMap(({ id }) => rowsOf(parts[id] ?? {}));
  return sum(written) / Math.max(1, sum(all));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}

interface Refresh {
  readonly changed: readonly ChangedTable[];
  readonly without: readonly HiddenRows[];
  readonly parts: Parts;
}

// The rows pass through a file of their own, so that a damaged copy is opened in another instance of DuckDB than the warehouse: after
// some errors DuckDB rejects all further statements, and it does not always name the damaged file.
async function refresh(session: Session, path: string, { changed, without, parts }: Refresh): Promise<void> {
  const delta = `${path}.delta`;
  await removeDatabase(delta);
  try {
    await writeDelta(session, delta, changed, without);
    const own = await openDatabase(':memory:', {
      memoryLimitMb: REFRESH_MEMORY_MB,
      temporaryFolder: spillFolder(path),
    });
    try {
      await own.exclusive(async (inner) => {
        await inner.run(`ATTACH ${literal(delta)} AS ${DELTA} (READ_ONLY)`);
        await inner.run(`ATTACH ${literal(path)} AS ${TARGET} (STORAGE_VERSION 'v1.0.0')`);
        await applyDelta(inner, changed);
        await checkCounts(inner, changed, parts);
      });
    } finally {
      await own.close();
    }
  } finally {
    await removeDatabase(delta);
  }
}

async function writeDelta(
  session: Session,
  path: string,
  changed: readonly ChangedTable[],
  hidden: readonly HiddenRows[],
): Promise<void> {
  await session.run(`ATTACH ${literal(path)} AS ${DELTA}`);
  try {
    for (const { table, where } of changed) {
      const parts = where.map((part) => `(${part})`).join(' OR ');
      await session.run(`CREATE SCHEMA IF NOT EXISTS ${DELTA}.${quoted(table.schema)}`);
      await session.run(
        `CREATE TABLE ${DELTA}.${table.id} AS SELECT * FROM ${table.id} WHERE (${parts}) AND ${shown(table, hidden)}`,
      );
    }
    await session.run(`CHECKPOINT ${DELTA}`);
  } finally {
    await session.run(`DETACH ${DELTA}`);
  }
}

async function applyDelta(session: Session, changed: readonly ChangedTable[]): Promise<void> {
  await session.run('BEGIN TRANSACTION');
  for (const { table, where } of changed) {
    for (const part of where) await session.run(`DELETE FROM ${TARGET}.${table.id} WHERE ${part}`);
    await session.run(`INSERT INTO ${TARGET}.${table.id} BY NAME SELECT * FROM ${DELTA}.${table.id}`);
  }
  await session.run('COMMIT');
  await session.run(`CHECKPOINT ${TARGET}`);
}

async function checkCounts(session: Session, changed: readonly ChangedTable[], parts: Parts): Promise<void> {
  for (const { table } of changed) {
    const [row] = await session.query(`SELECT count(*) FROM ${TARGET}.${table.id}`);
    const expected = sum(rowsOf(parts[table.id] ?? {}));
    if (Number(row?.[0]) === expected) continue;
    throw new SightlineError(
      'internal',
      `the refreshed copy has ${String(row?.[0])} of ${expected} rows of ${table.id}`,
    );
  }
}
