import { statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { SightlineError } from '../../base/errors.ts';
import { WHOLE_ITEM } from '../../contract/tables.ts';
import type { ResultRow, Session } from '../database.ts';
import { INSTANT, literal, quoted } from '../schema.ts';

const TARGET = 'copied_to';

/** Options of `copyDatabase`. */
export interface CopyDatabaseOptions {
  /** Name of the attached database to copy; default: the session's own database. */
  readonly source?: string;
  /**
   * Whether the copy is for other programs: DuckDB versions older than the warehouse's storage version can read it, and
   * its times are instants (TIMESTAMPTZ). Otherwise its times are TIMESTAMP in UTC, as in every warehouse.
   */
  readonly forReaders: boolean;
  /**
   * Whether DuckDB chooses a compression for each column; default: true. In a file of a few MB most blocks have free space, so that
   * the choice takes a third of the time and saves nothing.
   */
  readonly isCompressed?: boolean;
  /** Rows that the copy must not contain. */
  readonly without?: readonly HiddenRows[];
}

/** Rows of one table. A database without the table has none. */
export interface HiddenRows {
  /** Default: `main`. */
  readonly schema?: string;
  readonly table: string;
  /** SQL condition. */
  readonly where: string;
}

/**
 * Copies a complete database, including views and comments, into a new file at `path`. Converts times to the type of the
 * copy. The warehouse does not store instants itself, because casts of TIMESTAMPTZ take 10 times as long.
 */
export async function copyDatabase(
  session: Session,
  path: string,
  { source, forReaders, isCompressed = true, without = [] }: CopyDatabaseOptions,
): Promise<void> {
  const [row] = await session.all('SELECT current_database() AS name');
  await session.run(`ATTACH ${literal(path)} AS ${TARGET}${forReaders ? " (STORAGE_VERSION 'v1.0.0')" : ''}`);
  try {
    const name = source ?? String(row?.['name']);
    const from = quoted(name);
    await session.run(`COPY FROM DATABASE ${from} TO ${TARGET} (SCHEMA)`);
    if (!isCompressed) await session.run("SET force_compression = 'uncompressed'");
    else if (forReaders) await forgetCompression(session, name);
    await convertTimes(session, forReaders);
    await session.run(`COPY FROM DATABASE ${from} TO ${TARGET} (DATA)`);
    await deleteHidden(session, without);
    await session.run(`CHECKPOINT ${TARGET}`);
  } finally {
    if (!isCompressed) await session.run('RESET force_compression');
    await session.run(`DETACH ${TARGET}`);
  }
}

async function deleteHidden(session: Session, hidden: readonly HiddenRows[]): Promise<void> {
  const found = await session.all(
    `SELECT schema_name || '.' || table_name AS name FROM duckdb_tables() WHERE database_name = '${TARGET}'`,
  );
  const names = new Set(found.map(({ name }) => name));
  for (const { schema = 'main', table, where } of hidden) {
    if (names.has(`${schema}.${table}`))
      await session.run(`DELETE FROM ${TARGET}.${quoted(schema)}.${quoted(table)} WHERE ${where}`);
  }
}

/** Rows of a table from which its compression matters. */
const COMPRESSED_ROWS_LEAST = 2_048;

// Creates the large tables with items again in the empty target, so that DuckDB chooses their compression: older versions of DuckDB cannot
// read the compression of the warehouse, so such columns would not be compressed.
async function forgetCompression(session: Session, source: string): Promise<void> {
  const rows = await session.all(
    `SELECT schema_name, table_name, column_name, t.comment AS about, c.comment FROM duckdb_columns() c
     JOIN duckdb_tables() t USING (database_name, schema_name, table_name)
     WHERE database_name = '${TARGET}' AND (schema_name, table_name) IN (
       SELECT (schema_name, table_name) FROM duckdb_columns() JOIN duckdb_tables() USING (database_name, schema_name, table_name)
       WHERE database_name = ${literal(source)} AND column_name = ${literal(WHOLE_ITEM)} AND data_type = 'VARCHAR'
         AND estimated_size >= ${COMPRESSED_ROWS_LEAST})`,
  );
  const statements = new Set<string>();
  const comments = new Set<string>();
  for (const row of rows) {
    const name = [TARGET, quoted(String(row['schema_name'])), quoted(String(row['table_name']))].join('.');
    statements.add(`CREATE OR REPLACE TABLE ${name} AS FROM ${name}`);
    if (row['about'] !== null) comments.add(`COMMENT ON TABLE ${name} IS ${literal(String(row['about']))}`);
    const column = `${name}.${quoted(String(row['column_name']))}`;
    if (row['comment'] !== null) comments.add(`COMMENT ON COLUMN ${column} IS ${literal(String(row['comment']))}`);
  }
  if (statements.size > 0) await session.run([...statements, ...comments].join(';\n'));
}

// Changes the types in the empty target; the copy of the data then casts each value.
async function convertTimes(session: Session, forReaders: boolean): Promise<void> {
  const [before, after] = forReaders ? ['TIMESTAMP', INSTANT] : ['TIMESTAMP WITH TIME ZONE', 'TIMESTAMP'];
  const columns = await session.all(
    `SELECT schema_name, table_name, column_name FROM duckdb_columns()
     JOIN duckdb_tables() USING (database_name, schema_name, table_name)
     WHERE database_name = '${TARGET}' AND data_type = '${before}'`,
  );
  const name = (row: ResultRow, ...parts: readonly string[]): string =>
    [TARGET, ...parts.map((part) => quoted(String(row[part])))].join('.');
  const changes = columns.map((row) => {
    const table = name(row, 'schema_name', 'table_name');
    return `ALTER TABLE ${table} ALTER ${quoted(String(row['column_name']))} TYPE ${after}`;
  });
  if (changes.length === 0) return;
  // In one transaction, because each commit waits for the disk.
  await session.run('BEGIN TRANSACTION');
  try {
    await session.run([...changes, 'COMMIT'].join(';\n'));
  } catch (thrown) {
    await session.run('ROLLBACK').catch(() => undefined);
    throw thrown;
  }
  // A view keeps the column types of its last use. Types that name no time are the same before and after.
  const views = await session.all(
    `SELECT schema_name, view_name FROM duckdb_views() v
     WHERE database_name = '${TARGET}' AND NOT internal AND EXISTS (
       FROM duckdb_columns() c
       WHERE c.database_name = v.database_name AND c.table_oid = v.view_oid AND c.table_name = v.view_name AND c.data_type LIKE '%TIME%')
     ORDER BY view_oid`,
  );
  const uses = views.map((row) => `DESCRIBE ${name(row, 'schema_name', 'view_name')}`);
  if (uses.length > 0) await session.run(uses.join(';\n'));
}

/**
 * Rejects a path with a question mark: DuckDB parses the rest of the path as parameters.
 * @throws `usage`
 */
export function checkDatabasePath(path: string): void {
  if (!path.includes('?')) return;
  throw new SightlineError('usage', `${JSON.stringify(path)} contains "?"; allowed: a path without it`);
}

/** Size of a database file and its log, in bytes; 0 if there is none. */
export function databaseBytes(path: string): number {
  const sizes = [path, `${path}.wal`].map((file) => statSync(file, { throwIfNoEntry: false })?.size ?? 0);
  return sizes.reduce((sum, bytes) => sum + bytes, 0);
}

/** Removes a database file and its log, if they exist. */
export async function removeDatabase(path: string): Promise<void> {
  await rm(path, { force: true });
  await rm(`${path}.wal`, { force: true });
}
