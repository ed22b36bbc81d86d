import { SightlineError } from '../base/errors.ts';
import type { Catalogue, WarehouseTable } from '../contract/catalogue.ts';
import type { Column } from '../contract/tables.ts';
import { bookkeepingComments } from './comments.ts';
import type { Database, Session } from './database.ts';
import { DamagedFile } from './errors.ts';
import { backfillSql } from './history.ts';
import { literal, quoted, SCHEMA_VERSION, sqlTypes, steps } from './schema.ts';

/**
 * Brings an opened warehouse to this version and to the catalogue's tables, in one transaction: takes the steps that an
 * older file has not taken, creates tables that are missing, histories with what is known so far, adds new columns, and
 * says of each what is said of it now. Throws `warehouse_newer` for a file of a later version and `warehouse_invalid` for
 * a table that contradicts the catalogue.
 */
export async function migrate(database: Database, catalogue: Catalogue): Promise<void> {
  const changed = await database.transaction(async (session) => {
    const version = await readVersion(database.path, session);
    if (version !== null && version > SCHEMA_VERSION) {
      const found = `${database.path} has schema version ${version}, this sightline knows ${SCHEMA_VERSION}`;
      throw new SightlineError('warehouse_newer', found);
    }
    const statements = version === SCHEMA_VERSION ? [] : [...steps.slice(version ?? 0), ...writeVersion];
    const existing = await readTables(session);
    for (const table of catalogue.tables) statements.push(...tableStatements(database.path, table, existing));
    for (const history of catalogue.histories) {
      statements.push(...tableStatements(database.path, history, existing));
      // A table that had no history until now begins one with the rows it holds.
      if (existing.has(history.of) && !existing.has(history.name)) statements.push(backfillSql(history));
    }
    // At once: a thousand of them one by one take twice as long.
    if (statements.length > 0) await session.run(statements.join(';\n'));
    if (version !== SCHEMA_VERSION) await commentBooks(session);
    return statements.length > 0;
  });
  // A log that holds schema changes is not left for a crash to replay.
  if (changed) await database.exclusive((session) => session.run('CHECKPOINT'));
}

// Those that the steps have said nothing of.
async function commentBooks(session: Session): Promise<void> {
  const bare = await session.query(
    `SELECT table_name, column_name FROM duckdb_columns()
     WHERE database_name = current_database() AND schema_name = 'sync' AND comment IS NULL`,
  );
  const columns = bare.map(([table, column]) => ({ table: String(table), column: String(column) }));
  const statements = bookkeepingComments(columns);
  if (statements.length > 0) await session.run(statements.join(';\n'));
}

const writeVersion = [
  "DELETE FROM sync.meta WHERE name = 'schema_version'",
  `INSERT INTO sync.meta VALUES ('schema_version', '${SCHEMA_VERSION}')`,
];

async function readVersion(path: string, session: Session): Promise<number | null> {
  const found = await session.all(
    "SELECT 1 FROM duckdb_tables() WHERE database_name = current_database() AND schema_name = 'sync' AND table_name = 'meta'",
  );
  if (found.length === 0) return null;
  const rows = await session.all("SELECT value FROM sync.meta WHERE name = 'schema_version'");
  const version = Number(rows[0]?.['value']);
  if (Number.isSafeInteger(version) && version > 0) return version;
  throw new DamagedFile(path, `${path} does not have a schema version`);
}

/** A table as it is in the file. */
interface Existing {
  readonly comment: string | null;
  readonly columns: Map<string, { readonly type: string; readonly comment: string | null }>;
}

async function readTables(session: Session): Promise<Map<string, Existing>> {
  const rows = await session.all(
    `SELECT table_name, t.comment AS about, column_name, data_type, c.comment FROM duckdb_columns() c
     JOIN duckdb_tables() t USING (database_name, schema_name, table_name)
     WHERE database_name = current_database() AND schema_name = 'main' AND NOT c.internal`,
  );
  const text = (value: unknown): string | null => (value === null ? null : String(value));
  const tables = new Map<string, Existing>();
  for (const row of rows) {
    const name = String(row['table_name']);
    const table = tables.get(name) ?? { comment: text(row['about']), columns: new Map() };
    table.columns.set(String(row['column_name']), { type: String(row['data_type']), comment: text(row['comment']) });
    tables.set(name, table);
  }
  return tables;
}

function tableStatements(path: string, table: WarehouseTable, existing: ReadonlyMap<string, Existing>): string[] {
  const found = existing.get(table.name);
  if (found === undefined) return [createTable(table), commentOnTable(table), ...commentsOn(table, table.columns)];
  const added: Column[] = [];
  const reworded: Column[] = [];
  for (const column of table.columns) {
    const known = found.columns.get(column.name);
    if (known === undefined) added.push(column);
    else if (known.type !== sqlTypes[column.kind]) {
      const is = `column ${table.name}.${column.name} of ${path} is ${known.type}, not ${sqlTypes[column.kind]}`;
      throw new DamagedFile(path, is);
    } else if (known.comment !== column.about) reworded.push(column);
  }
  // Without a default: a function as the default of an added column can make the file unopenable after a crash.
  const additions = added.map(
    (column) => `ALTER TABLE ${quoted(table.name)} ADD COLUMN ${quoted(column.name)} ${sqlTypes[column.kind]}`,
  );
  const about = found.comment === table.about ? [] : [commentOnTable(table)];
  return [...additions, ...about, ...commentsOn(table, [...added, ...reworded])];
}

function createTable(table: WarehouseTable): string {
  const columns = table.columns.map((column) => `${quoted(column.name)} ${sqlTypes[column.kind]}`);
  return `CREATE TABLE ${quoted(table.name)} (${columns.join(', ')})`;
}

function commentOnTable(table: WarehouseTable): string {
  return `COMMENT ON TABLE ${quoted(table.name)} IS ${literal(table.about)}`;
}

function commentsOn(table: WarehouseTable, columns: readonly Column[]): string[] {
  return columns.map(
    ({ name, about }) => `COMMENT ON COLUMN ${quoted(table.name)}.${quoted(name)} IS ${literal(about)}`,
  );
}
