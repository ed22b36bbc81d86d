import type { Catalogue, WarehouseTable } from '../contract/catalogue.ts';
import { type Column, isItemText } from '../contract/tables.ts';
import { bookkeepingComments } from './comments.ts';
import type { Database, Session } from './database.ts';
import { DamagedFile } from './errors.ts';
import { takeOver } from './generic/take-over.ts';
import { checkSchemaVersion, READ_VERSION } from './schema-version.ts';
import { ledgerTables, literal, quoted, sqlTypes } from './schema.ts';

/**
 * Migrates an open warehouse to the catalogue, in one transaction: creates missing tables, adds new columns
 * and updates comments.
 * @throws `warehouse_newer` if the file has a newer schema version; `warehouse_invalid` if it has an older one, if a column has another
 * type, or if the history of a table is missing
 */
export async function migrate(database: Database, catalogue: Catalogue): Promise<void> {
  const changed = await database.transaction(async (session) => {
    const isNew = !(await hasSchema(database.path, session));
    if (isNew) await session.run(ledgerTables);
    await takeOver(session, catalogue);
    const statements = await tableChanges(database.path, session, catalogue);
    // Run all statements in one call: a thousand single calls take twice as long.
    if (statements.length > 0) await session.run(statements.join(';\n'));
    return (await commentLedger(session)) || isNew || statements.length > 0;
  });
  // Checkpoint at once, so that a crash never requires a replay of schema changes from the log.
  if (changed) await database.exclusive((session) => session.run('CHECKPOINT'));
}

/**
 * Creates the missing tables and columns of a catalogue in an open warehouse, or in the transaction of a session.
 * @throws `warehouse_invalid` if a column has another type, or if the history of a table is missing
 */
export async function migrateTables(target: Database | Session, catalogue: Catalogue): Promise<void> {
  if (!('transaction' in target)) {
    const statements = await tableChanges('the warehouse', target, catalogue);
    if (statements.length > 0) await target.run(statements.join(';\n'));
    return;
  }
  const changed = await target.transaction(async (session) => {
    const statements = await tableChanges(target.path, session, catalogue);
    if (statements.length > 0) await session.run(statements.join(';\n'));
    return statements.length > 0;
  });
  if (changed) await target.exclusive((session) => session.run('CHECKPOINT'));
}

async function tableChanges(path: string, session: Session, catalogue: Catalogue): Promise<string[]> {
  const existing = await readTables(session);
  const lacking = catalogue.histories.find(({ of, name }) => existing.has(of) && !existing.has(name));
  if (lacking !== undefined) throw new DamagedFile(path, `${path} has the table ${lacking.of} without ${lacking.name}`);
  return [...catalogue.tables, ...catalogue.histories].flatMap((table) => tableStatements(path, table, existing));
}

// Updates the comments of schema `sync`. Returns whether any has changed.
async function commentLedger(session: Session): Promise<boolean> {
  const rows = await session.query(
    `SELECT table_name, column_name, comment FROM duckdb_columns()
       WHERE database_name = current_database() AND schema_name = 'sync'
     UNION ALL SELECT table_name, NULL, comment FROM duckdb_tables()
       WHERE database_name = current_database() AND schema_name = 'sync'`,
  );
  const text = (value: unknown): string | null => (value === null ? null : String(value));
  const found = rows.map(([table, column, comment]) => ({
    table: String(table),
    column: text(column),
    comment: text(comment),
  }));
  const statements = bookkeepingComments(found);
  if (statements.length > 0) await session.run(statements.join(';\n'));
  return statements.length > 0;
}

// Returns false for a new file.
async function hasSchema(path: string, session: Session): Promise<boolean> {
  const found = await session.all(
    "SELECT 1 FROM duckdb_tables() WHERE database_name = current_database() AND schema_name = 'sync' AND table_name = 'meta'",
  );
  if (found.length === 0) return false;
  const [row] = await session.query(READ_VERSION);
  checkSchemaVersion(path, row?.[0]);
  return true;
}

/** A table of the file. */
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
  // Without a default: if an added column has a function as its default, a crash can make the file unopenable.
  const additions = added.map(
    (column) => `ALTER TABLE ${quoted(table.name)} ADD COLUMN ${quoted(column.name)} ${typeOf(column)}`,
  );
  const about = found.comment === table.about ? [] : [commentOnTable(table)];
  return [...additions, ...about, ...commentsOn(table, [...added, ...reworded])];
}

function createTable(table: WarehouseTable): string {
  const columns = table.columns.map((column) => `${quoted(column.name)} ${typeOf(column)}`);
  return `CREATE TABLE ${quoted(table.name)} (${columns.join(', ')})`;
}

// Items are read rarely and repeat the texts of other columns.
function typeOf(column: Column): string {
  return `${sqlTypes[column.kind]}${isItemText(column) ? ' USING COMPRESSION zstd' : ''}`;
}

function commentOnTable(table: WarehouseTable): string {
  return `COMMENT ON TABLE ${quoted(table.name)} IS ${literal(table.about)}`;
}

function commentsOn(table: WarehouseTable, columns: readonly Column[]): string[] {
  return columns.map(
    ({ name, about }) => `COMMENT ON COLUMN ${quoted(table.name)}.${quoted(name)} IS ${literal(about)}`,
  );
}
