import { SightlineError } from '../base/errors.ts';
import type { ExportedTable } from '../snapshot/exported-table.ts';
import type { Session } from '../warehouse/database.ts';
import { literal, quoted, sqlTypes } from '../warehouse/schema.ts';
import { type Attachment, DESTINATION, tableAt } from './kinds.ts';

/** A table to load: its columns, key and rows. */
export type LoadTable = Pick<ExportedTable, 'name' | 'about' | 'key' | 'columns' | 'kind'> & {
  /** SQL of the rows in the attached replica. */
  readonly source: string;
};

/** Rows of a table after a load, and how many the load has changed. */
export interface LoadedTable {
  readonly name: string;
  readonly rows: number;
  readonly inserted: number;
  readonly updated: number;
  readonly deleted: number;
}

/** What a load writes. */
export interface Load {
  readonly workspace: string;
  readonly tables: readonly LoadTable[];
  /** Version of the data in the replica; a later version of the same warehouse is larger. */
  readonly dataVersion: number;
  /** Identifies the replica and the form of the tables. Nothing is loaded if it is that of the load before. */
  readonly identity: string;
  /** Time of the load, epoch milliseconds. */
  readonly now: number;
  /** Writes every row again, even if the destination has later data. */
  readonly full: boolean;
  /** Compares, and writes nothing. */
  readonly dryRun: boolean;
}

/** Table with one row for each workspace: what was loaded last. */
export const POSITION = '_sightline_position';
/** Columns that every loaded table begins with: the workspace, and the identity and the contents of the row. */
const OWN_COLUMNS = { workspace: 'VARCHAR', _key: 'UUID', _hash: 'BIGINT' } as const;
/** Keys in a statement of the destination's own SQL. */
const KEYS_MAX = 1_000;

/**
 * Makes the tables of a destination equal to those of a replica, in one transaction: rows are compared by key and by a hash of their
 * columns, and only those that differ are written. Returns null if nothing has to be loaded.
 *
 * @throws `destination_newer` if the destination has data of a later version
 */
export async function loadTables(
  session: Session,
  attachment: Attachment,
  load: Load,
  onTable: (done: number) => void,
): Promise<LoadedTable[] | null> {
  await session.run('BEGIN TRANSACTION');
  try {
    const loaded = await loadWithin(session, attachment, load, onTable);
    await session.run(load.dryRun ? 'ROLLBACK' : 'COMMIT');
    return loaded;
  } catch (thrown) {
    await session.run('ROLLBACK').catch(() => undefined);
    throw thrown;
  }
}

async function loadWithin(
  session: Session,
  attachment: Attachment,
  load: Load,
  onTable: (done: number) => void,
): Promise<LoadedTable[] | null> {
  const { schema } = attachment;
  const position = tableAt(schema, POSITION);
  if (schema !== 'main') await session.run(`CREATE SCHEMA IF NOT EXISTS ${DESTINATION}.${quoted(schema)}`);
  await session.run(
    `CREATE TABLE IF NOT EXISTS ${position} (workspace VARCHAR${attachment.hasKeys ? ' PRIMARY KEY' : ''},
       data_version BIGINT, identity VARCHAR, columns VARCHAR, loaded_at TIMESTAMPTZ)`,
  );
  const own = `WHERE workspace = ${literal(load.workspace)}`;
  const [before] = await session.query(`SELECT data_version, identity, columns FROM ${position} ${own}`);
  if (before !== undefined && !load.full) {
    if (before[1] === load.identity) return null;
    if (Number(before[0]) > load.dataVersion)
      throw new SightlineError(
        'destination_newer',
        `the destination has version ${String(before[0])} of the data of workspace ${load.workspace}; this warehouse has version ${load.dataVersion}`,
      );
  }
  // Without a row of its own to delete, a load deletes the row of no workspace, so that two first loads exclude each other.
  await session.run(
    `INSERT INTO ${position} (workspace) SELECT '' WHERE NOT EXISTS (FROM ${position} WHERE workspace = '')`,
  );
  if (before === undefined) {
    await session.run(`DELETE FROM ${position} WHERE workspace = ''`);
    await session.run(`INSERT INTO ${position} (workspace) VALUES ('')`);
  }
  const loadedBefore = await readLoadedColumns(session, position);
  const existing = await readColumns(session, schema);
  const loaded: LoadedTable[] = [];
  for (const table of load.tables) {
    const found = existing.get(table.name);
    await prepareTable(session, attachment, table, found, loadedBefore);
    loaded.push(await loadTable(session, attachment, table, { ...load, isNew: found === undefined }));
    onTable(loaded.length);
  }
  const columns = JSON.stringify(
    Object.fromEntries(load.tables.map(({ name, columns: all }) => [name, all.map((one) => one.name)])),
  );
  await session.run(`DELETE FROM ${position} ${own}`);
  await session.run(
    `INSERT INTO ${position} VALUES (${literal(load.workspace)}, ${load.dataVersion}, ${literal(load.identity)}, ${literal(columns)}, make_timestamptz(${load.now * 1_000}))`,
  );
  return loaded;
}

// Names of tables and columns that any workspace has loaded, such as `responses id`.
async function readLoadedColumns(session: Session, position: string): Promise<Set<string>> {
  const rows = await session.query(`SELECT columns FROM ${position} WHERE columns IS NOT NULL`);
  const loaded = rows.flatMap(([text]) => Object.entries(JSON.parse(String(text)) as Record<string, string[]>));
  return new Set(loaded.flatMap(([table, columns]) => columns.map((column) => `${table} ${column}`)));
}

async function readColumns(session: Session, schema: string): Promise<Map<string, Set<string>>> {
  const rows = await session.query(
    `SELECT table_name, column_name FROM duckdb_columns() WHERE database_name = '${DESTINATION}' AND schema_name = ${literal(schema)}`,
  );
  const found = new Map<string, Set<string>>();
  for (const [table, column] of rows as [string, string][])
    found.set(table, (found.get(table) ?? new Set()).add(column));
  return found;
}

// Creates a table, or adds columns to it. If a column was removed that rows had, the rows of all workspaces are written again.
async function prepareTable(
  session: Session,
  attachment: Attachment,
  table: LoadTable,
  found: ReadonlySet<string> | undefined,
  loadedBefore: ReadonlySet<string>,
): Promise<void> {
  const name = tableAt(attachment.schema, table.name);
  const typeOf = ({ kind }: LoadTable['columns'][number]): string =>
    kind === 'timestamp' ? 'TIMESTAMPTZ' : sqlTypes[kind];
  if (found === undefined) {
    const columns = [
      ...Object.entries(OWN_COLUMNS).map(([column, type]) => `${quoted(column)} ${type}`),
      ...table.columns.map((column) => `${quoted(column.name)} ${typeOf(column)}`),
      ...(attachment.hasKeys ? ['PRIMARY KEY (workspace, _key)'] : []),
    ];
    await session.run(`CREATE TABLE ${name} (${columns.join(', ')})`);
    await comment(session, attachment, table, table.columns);
    return;
  }
  const foreign = Object.keys(OWN_COLUMNS).find((column) => !found.has(column));
  if (foreign !== undefined)
    throw new SightlineError(
      'destination_failed',
      `the destination's table ${attachment.schema}.${table.name} has no column ${foreign}, so sightline did not create it; rename it`,
    );
  const added = table.columns.filter((column) => !found.has(column.name));
  for (const column of added)
    await session.run(`ALTER TABLE ${name} ADD COLUMN ${quoted(column.name)} ${typeOf(column)}`);
  await comment(session, attachment, table, added);
  if (!added.some((column) => loadedBefore.has(`${table.name} ${column.name}`))) return;
  await session.run(`UPDATE ${name} SET _hash = NULL`);
  await session.run(`UPDATE ${tableAt(attachment.schema, POSITION)} SET identity = NULL WHERE workspace <> ''`);
}

// Comments on new columns, and on the table with them.
async function comment(
  session: Session,
  { schema, inDestination, hasComments }: Attachment,
  { name, about }: LoadTable,
  columns: LoadTable['columns'],
): Promise<void> {
  if (!hasComments || columns.length === 0) return;
  const table = inDestination === null ? tableAt(schema, name) : `${quoted(schema)}.${quoted(name)}`;
  const statements = [
    `COMMENT ON TABLE ${table} IS ${literal(about)}`,
    ...columns.map((column) => `COMMENT ON COLUMN ${table}.${quoted(column.name)} IS ${literal(column.about)}`),
  ];
  if (inDestination === null) for (const statement of statements) await session.run(statement);
  else await session.run(inDestination(statements.join('; ')));
}

async function loadTable(
  session: Session,
  attachment: Attachment,
  table: LoadTable,
  { workspace, full, isNew }: Load & { readonly isNew: boolean },
): Promise<LoadedTable> {
  const name = tableAt(attachment.schema, table.name);
  const own = `workspace = ${literal(workspace)}`;
  // A view may return another of several equal values when it is read again.
  if (table.kind === 'mart') await session.run(`CREATE OR REPLACE TEMP TABLE mart_rows AS FROM ${table.source}`);
  const source = table.kind === 'mart' ? 'temp.mart_rows' : table.source;
  await session.run(
    `CREATE OR REPLACE TEMP TABLE here AS SELECT ${keyOf(table)} AS _key, ${hashOf(table)} AS _hash, rowid AS _row FROM ${source}`,
  );
  const [counts] = await session.query('SELECT count(*), count(DISTINCT _key) FROM temp.here');
  const rows = Number(counts?.[0]);
  if (rows !== Number(counts?.[1])) throw new SightlineError('internal', `rows of ${table.name} have equal keys`);
  await session.run(
    `CREATE OR REPLACE TEMP TABLE there AS
     SELECT CAST(_key AS UUID) AS _key, CASE count(*) WHEN 1 THEN CAST(any_value(_hash) AS BIGINT) END AS _hash
     FROM ${name} WHERE ${own}${isNew ? ' AND false' : ''} GROUP BY 1`,
  );
  // Of a row that is written again, the old one is removed.
  await session.run(
    `CREATE OR REPLACE TEMP TABLE changes AS
     SELECT coalesce(h._key, t._key) AS _key, h._hash AS _hash, h._row AS _row, t._key IS NOT NULL AS is_there
     FROM temp.here h FULL JOIN temp.there t ON h._key = t._key
     WHERE h._hash IS DISTINCT FROM t._hash OR ${full}`,
  );
  const [changed] = await session.query(
    `SELECT count(*) FILTER (NOT is_there), count(*) FILTER (_row IS NOT NULL AND is_there), count(*) FILTER (_row IS NULL) FROM temp.changes`,
  );
  const [inserted = 0, updated = 0, deleted = 0] = (changed ?? []).map(Number);
  if (updated + deleted > 0) await deleteChanged(session, attachment, table.name, own);
  if (inserted + updated > 0) {
    const names = table.columns.map((column) => quoted(column.name));
    await session.run(
      `INSERT INTO ${name} (workspace, _key, _hash, ${names.join(', ')})
       SELECT ${literal(workspace)}, c._key, c._hash, ${names.map((column) => `s.${column}`).join(', ')}
       FROM ${source} s JOIN temp.changes c ON s.rowid = c._row`,
    );
  }
  return { name: table.name, rows, inserted, updated, deleted };
}

// Deleting through the extension would read all keys of the destination.
async function deleteChanged(session: Session, attachment: Attachment, table: string, own: string): Promise<void> {
  const { schema, inDestination } = attachment;
  if (inDestination === null) {
    await session.run(
      `DELETE FROM ${tableAt(schema, table)} WHERE ${own} AND CAST(_key AS UUID) IN (SELECT _key FROM temp.changes WHERE is_there)`,
    );
    return;
  }
  const keys = await session.query('SELECT CAST(_key AS VARCHAR) FROM temp.changes WHERE is_there ORDER BY _key');
  for (let from = 0; from < keys.length; from += KEYS_MAX) {
    const listed = keys.slice(from, from + KEYS_MAX).map(([key]) => literal(String(key)));
    await session.run(
      inDestination(`DELETE FROM ${quoted(schema)}.${quoted(table)} WHERE ${own} AND _key IN (${listed.join(', ')})`),
    );
  }
}

// Returns SQL of 128 bits that identify a row. Values of the key that are missing are left out. The length keeps values apart that contain
// the marks between values.
function keyOf({ key }: LoadTable): string {
  const parts = key.map((column) => {
    const text = `CAST(${quoted(column)} AS VARCHAR)`;
    return `${literal(`${column}=`)} || strlen(${text}) || ':' || ${text}`;
  });
  return `CAST(md5(concat_ws(',', ${parts.join(', ')})) AS UUID)`;
}

// Returns SQL of 63 bits that change with the contents of a row. Columns without a value are left out, so that a new column changes only
// the rows that have a value in it. DuckDB combines hashes by exclusive or: each is hashed again with the name of its column, so that equal
// values of two columns do not cancel each other out.
function hashOf({ columns }: LoadTable): string {
  const parts = columns.map(
    ({ name }) =>
      `CASE WHEN ${quoted(name)} IS NULL THEN 0::UBIGINT ELSE hash(hash(${literal(name)}, ${quoted(name)})) END`,
  );
  const combined = parts.reduce((sum, part) => `xor(${sum}, ${part})`);
  return `CAST((${combined}) >> 1 AS BIGINT)`;
}
