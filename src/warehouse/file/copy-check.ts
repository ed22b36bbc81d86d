import { SightlineError } from '../../base/errors.ts';
import type { Catalogue } from '../../contract/catalogue.ts';
import { type Database, openDatabase } from '../database.ts';
import { DamagedFile, toDatabaseError, toOpenError } from '../errors.ts';
import type { Reader } from '../reader.ts';
import { openCurrentReader } from '../schema-version.ts';
import { literal, quoted } from '../schema.ts';
import { copyDatabase } from './copy-database.ts';
import { registerOpen } from './open-files.ts';

/** Memory limit of a copy, in MB. */
const COPY_MEMORY_MB = 256;
const SOURCE = 'copied_from';
/** A file without one of these tables is not a warehouse, whatever its version. */
const LEDGER_TABLES = ['meta', 'runs', 'requests', 'coverage', 'checkpoints', 'quarantine'];

/** A table and its number of rows; the name includes the schema unless it is `main`. */
export interface CountedTable {
  readonly name: string;
  readonly rows: number;
}

/** Copies an open warehouse completely into a new file at `path`; returns the tables that the copy must contain. */
export async function copyOpened(database: Database, path: string): Promise<CountedTable[]> {
  return database.exclusive(async (session) => {
    const [row] = await session.all('SELECT current_database() AS name');
    const counted = await countTables(session.query, String(row?.['name']));
    await copyDatabase(session, path, { forReaders: true });
    return counted;
  });
}

/**
 * Copies a file that nobody writes to, without opening it for writing; returns the tables that the copy must contain.
 * With `forReaders`, older versions of DuckDB can read the copy, as for every copy of an open warehouse.
 * @throws `warehouse_locked`, `warehouse_newer`, `warehouse_invalid`
 */
export async function copyClosed(
  from: string,
  path: string,
  { temporaryFolder, forReaders }: { temporaryFolder: string; forReaders: boolean },
): Promise<CountedTable[]> {
  const release = registerOpen(from, 'read');
  const database = await openDatabase(':memory:', { memoryLimitMb: COPY_MEMORY_MB, temporaryFolder });
  try {
    return await database.exclusive(async (session) => {
      await session.run(`ATTACH ${literal(from)} AS ${SOURCE} (READ_ONLY)`);
      const counted = await countTables(session.query, SOURCE);
      await copyDatabase(session, path, { source: SOURCE, forReaders });
      return counted;
    });
  } catch (thrown) {
    // The session's own database is in memory, and DuckDB does not always name the damaged file.
    const isUnnamed = thrown instanceof DamagedFile && thrown.path === database.path;
    throw isUnnamed ? toDatabaseError(from, thrown.cause) : toOpenError(from, thrown);
  } finally {
    await database.close();
    release();
  }
}

/**
 * Checks that a copy contains all rows of the copied tables.
 * @throws `warehouse_invalid` if a count differs
 */
export async function checkCopy(path: string, expected: readonly CountedTable[]): Promise<void> {
  await reading(path, async (reader) => {
    const found = new Map((await countAll(reader)).map(({ name, rows }) => [name, rows]));
    for (const { name, rows } of expected) {
      if (found.get(name) === rows) continue;
      const has = found.has(name) ? `${found.get(name)} of ${rows} rows` : 'nothing';
      throw new SightlineError('warehouse_invalid', `the copy has ${has} of ${name}; the target file was not replaced`);
    }
  });
}

/** Metadata of a file to restore from. */
export interface BackupFile {
  /** End of its last run, ISO 8601; null if no run ended. */
  readonly asOf: string | null;
  readonly tables: readonly CountedTable[];
}

/**
 * Reads the metadata of a file to restore from.
 * @throws `warehouse_invalid` if the file is not a DuckDB database, is not a warehouse, or lacks tables of resources
 * that it has read, or has an older schema version; `warehouse_newer` if its schema version is newer
 */
export async function readBackupFile(path: string, catalogue: Catalogue): Promise<BackupFile> {
  return reading(path, async (reader) => {
    const tables = await countAll(reader);
    const names = new Set(tables.map(({ name }) => name));
    const lacking = LEDGER_TABLES.map((name) => `sync.${name}`).filter((name) => !names.has(name));
    if (lacking.length > 0) throw missingTables(path, lacking);
    const { rows: read } = await reader.query('SELECT DISTINCT resource FROM sync.coverage');
    const covered = new Set(read.map(([resource]) => String(resource)));
    lacking.push(...tablesOf(catalogue, covered).filter((name) => !names.has(name)));
    if (lacking.length > 0) throw missingTables(path, lacking);
    const { rows } = await reader.query("SELECT strftime(max(ended_at), '%Y-%m-%dT%H:%M:%SZ') FROM sync.runs");
    return { asOf: (rows[0]?.[0] ?? null) as string | null, tables };
  });
}

/**
 * Reads all values, and so verifies all checksums, of a file.
 * @throws `warehouse_invalid` if a part is damaged
 */
export async function readWhole(path: string): Promise<void> {
  await reading(path, async (reader) => {
    const { rows } = await reader.query('SELECT schema_name, table_name FROM duckdb_tables() WHERE NOT internal');
    for (const [schema, table] of rows.map((row) => row.map(String) as [string, string])) {
      await reader.query(`SELECT bit_xor(hash(t)) FROM ${quoted(schema)}.${quoted(table)} t`);
    }
  });
}

// A missing table would be created empty and never filled, because its coverage says that it was read. A sparse history starts
// empty.
function tablesOf(catalogue: Catalogue, covered: ReadonlySet<string>): string[] {
  const read = catalogue.resources.filter(({ name }) => covered.has(name)).flatMap(({ derived }) => derived);
  const own = new Set(read.map(({ name }) => name));
  const histories = catalogue.histories.filter(({ of, isSparse }) => own.has(of) && !isSparse);
  const all = [...read, ...read.flatMap(({ children }) => children), ...histories];
  return [...new Set(all.map(({ name }) => name))];
}

function missingTables(path: string, tables: readonly string[]): SightlineError {
  return new DamagedFile(path, `${path} is not a complete warehouse: it lacks ${tables.join(', ')}`);
}

async function reading<T>(path: string, work: (reader: Reader) => Promise<T>): Promise<T> {
  const reader = await openCurrentReader(path);
  try {
    return await work(reader);
  } finally {
    reader.close();
  }
}

type RunQuery = (sql: string) => Promise<readonly (readonly unknown[])[]>;

async function countAll(reader: Reader): Promise<CountedTable[]> {
  const run: RunQuery = async (sql) => (await reader.query(sql)).rows;
  const [row] = await run('SELECT current_database()');
  return countTables(run, String(row?.[0]));
}

async function countTables(run: RunQuery, database: string): Promise<CountedTable[]> {
  const tables = await run(
    `SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = ${literal(database)} AND NOT internal
     ORDER BY ALL`,
  );
  const counted: CountedTable[] = [];
  for (const [schema, table] of tables.map((row) => row.map(String) as [string, string])) {
    const [row] = await run(`SELECT count(*) FROM ${quoted(database)}.${quoted(schema)}.${quoted(table)}`);
    counted.push({ name: schema === 'main' ? table : `${schema}.${table}`, rows: Number(row?.[0]) });
  }
  return counted;
}
