import { SightlineError } from '../../base/errors.ts';
import type { Session } from '../../warehouse/database.ts';
import { INSTANT, literal, quoted, sqlTypes } from '../../warehouse/schema.ts';
import type { ExportedTable } from '../snapshot/exported-table.ts';
import { type Attachment, DESTINATION, tableAt } from './kinds.ts';

/** A table to load: its columns, key and rows. */
export type LoadTable = Pick<ExportedTable, 'name' | 'about' | 'key' | 'columns' | 'kind'> & {
  /** SQL of the rows in the attached replica. */
  readonly source: string;
  /** Whether all workspaces have one table, also if each of them has a schema of its own. */
  readonly isShared?: boolean;
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
  /** Schema of the tables that are not shared: that of the attachment, or one of the workspace. */
  readonly ownSchema: string;
  /** Identifies the warehouse, because workspaces of two warehouses can have the same name. */
  readonly warehouse: string;
  readonly tables: readonly LoadTable[];
  /** Version of the data in the replica; a later version of the same warehouse is larger. */
  readonly dataVersion: number;
  /** Identifies the replica and the form of the tables. Nothing is loaded if it is that of the load before. */
  readonly identity: string;
  /** Time of the load, epoch milliseconds. */
  readonly now: number;
  /** Writes every row again, even if the destination has later data, or those of another warehouse. */
  readonly full: boolean;
  /** Compares, and writes nothing. */
  readonly dryRun: boolean;
}

/** Table with one row per workspace: its last load. */
const POSITION = '_sightline_position';
/** Columns that every loaded table begins with: the workspace, and the identity and the contents of the row. */
const OWN_COLUMNS = { workspace: 'VARCHAR', _key: 'UUID', _hash: 'BIGINT' } as const;
/** Names that columns of a destination cannot have: `OWN_COLUMNS`, and the hidden columns of databases. */
const RESERVED = [...Object.keys(OWN_COLUMNS), 'rowid', 'oid', 'ctid', 'tableoid', 'xmin', 'xmax', 'cmin', 'cmax'];
/** Keys in a statement of the destination's own SQL. */
const KEYS_MAX = 1_000;

/**
 * Makes the tables of a destination equal to those of a replica, in one transaction: rows are compared by key and by a hash of their
 * columns, and only those that differ are written. Returns null if nothing has to be loaded.
 *
 * @throws `destination_newer` if the destination has data of a later version, or of another warehouse
 */
export async function loadTables(
  session: Session,
  attachment: Attachment,
  load: Load,
  onTable: (done: number) => void,
): Promise<LoadedTable[] | null> {
  const tables = load.tables.map((table) => toDestination(table, attachment, load));
  const isStepwise = attachment.isStepwise && !load.dryRun;
  if (isStepwise) {
    const found = await readDestination(session, attachment, tables, load);
    if (found === null) return null;
    for (const table of tables) await prepareTable(session, attachment, table, found, load);
  }
  await session.run('BEGIN TRANSACTION');
  try {
    // Reads the position again: the transaction that writes it must have read it.
    const loaded = await loadWithin(session, attachment, tables, load, onTable);
    await session.run(load.dryRun ? 'ROLLBACK' : 'COMMIT');
    if (loaded !== null && isStepwise) await writeIdentity(session, attachment, load);
    return loaded;
  } catch (thrown) {
    await session.run('ROLLBACK').catch(() => undefined);
    throw thrown;
  }
}

async function loadWithin(
  session: Session,
  attachment: Attachment,
  tables: readonly DestinationTable[],
  load: Load,
  onTable: (done: number) => void,
): Promise<LoadedTable[] | null> {
  const found = await readDestination(session, attachment, tables, load);
  if (found === null) return null;
  const { workspace, dryRun } = load;
  const position = positionAt(attachment);
  if (!dryRun) await excludeOthers(session, position, workspace);
  const loaded: LoadedTable[] = [];
  for (const table of tables) {
    const isRewritten = await prepareTable(session, attachment, table, found, load);
    const isThere = found.ids.has(table.id);
    loaded.push(await loadTable(session, attachment, table, { ...load, isThere, isRewritten }));
    onTable(loaded.length);
  }
  for (const id of found.before.tables) {
    if (found.ids.has(id) && !tables.some((table) => table.id === id)) loaded.push(await emptyTable(session, id, load));
  }
  if (dryRun) return loaded;
  const columns = Object.fromEntries(tables.map(({ id, columns: all }) => [id, all.map((one) => one.name)]));
  const identity = attachment.isStepwise ? null : load.identity;
  const values = [workspace, load.warehouse, String(load.dataVersion), identity, JSON.stringify(columns)];
  await session.run(`DELETE FROM ${position} WHERE workspace = ${literal(workspace)}`);
  await session.run(
    `INSERT INTO ${position} VALUES (${values.map((value) => (value === null ? 'NULL' : literal(value))).join(', ')}, make_timestamptz(${load.now * 1_000}))`,
  );
  return loaded;
}

function positionAt({ schema }: Attachment): string {
  return tableAt(schema, POSITION);
}

async function writeIdentity(session: Session, attachment: Attachment, load: Load): Promise<void> {
  await session.run(
    `UPDATE ${positionAt(attachment)} SET identity = ${literal(load.identity)}
     WHERE workspace = ${literal(load.workspace)} AND data_version = ${load.dataVersion}`,
  );
}

/** What a destination has before a load. */
interface Found {
  /** Identities of its tables. */
  readonly ids: ReadonlySet<string>;
  readonly types: Types;
  readonly before: Position;
}

// Returns null if nothing has to be loaded. Creates the table of positions, except in a dry run.
async function readDestination(
  session: Session,
  { schema, hasKeys }: Attachment,
  tables: readonly DestinationTable[],
  load: Load,
): Promise<Found | null> {
  const position = tableAt(schema, POSITION);
  const listed = await session.query(
    `SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = '${DESTINATION}'`,
  );
  const ids = new Set(listed.map(([of, name]) => idOf(String(of), String(name))));
  const schemas = new Set(listed.map(([of]) => String(of)));
  const hasPosition = ids.has(idOf(schema, POSITION));
  if (!load.dryRun) {
    for (const needed of new Set([schema, load.ownSchema])) {
      if (needed === 'main' || schemas.has(needed)) continue;
      await session.run(`CREATE SCHEMA IF NOT EXISTS ${DESTINATION}.${quoted(needed)}`);
    }
  }
  if (!hasPosition && !load.dryRun) {
    await session.run(
      `CREATE TABLE IF NOT EXISTS ${position} (workspace VARCHAR${hasKeys ? ' PRIMARY KEY' : ''},
         warehouse VARCHAR, data_version BIGINT, identity VARCHAR, columns VARCHAR, loaded_at TIMESTAMPTZ)`,
    );
  }
  const before = await readPosition(session, hasPosition ? position : null, load);
  const types = new Map<string, ReadonlyMap<string, string>>();
  for (const { id, at } of tables) {
    if (!ids.has(id)) continue;
    const columns = await session.query(`SELECT column_name, column_type FROM (DESCRIBE ${at})`);
    types.set(id, new Map(columns as [string, string][]));
  }
  const isEqual = before.identity === load.identity && !load.full;
  return isEqual && tables.every((table) => isComplete(table, types)) ? null : { ids, types, before };
}

/** What was loaded before. */
interface Position {
  /** Null if the workspace has not been loaded, or if its rows were changed by the load of another one. */
  readonly identity: string | null;
  /** Identities of the workspace's tables. */
  readonly tables: readonly string[];
  /** Tables of all workspaces, such as `sightline.responses`, and their columns, such as `sightline.responses id`. */
  readonly ofAll: ReadonlySet<string>;
}

// `position` is null if the destination has no table of positions.
async function readPosition(
  session: Session,
  position: string | null,
  { workspace, warehouse, dataVersion, full }: Load,
): Promise<Position> {
  const rows =
    position === null
      ? []
      : await session.query(
          `SELECT workspace, warehouse, data_version, identity, columns FROM ${position} WHERE columns IS NOT NULL`,
        );
  const columnsOf = (row: readonly unknown[] | undefined): [string, string[]][] =>
    Object.entries(JSON.parse(String(row?.[4] ?? '{}')) as Record<string, string[]>);
  const own = rows.find((row) => row[0] === workspace);
  const problem =
    own === undefined || full
      ? null
      : own[1] !== warehouse
        ? `has data of another warehouse under the workspace name ${workspace}`
        : Number(own[2]) > dataVersion
          ? `has version ${String(own[2])} of the data of workspace ${workspace}; this warehouse has version ${dataVersion}`
          : null;
  if (problem !== null) throw new SightlineError('destination_newer', `the destination ${problem}`);
  return {
    identity: (own?.[3] ?? null) as string | null,
    tables: columnsOf(own).map(([table]) => table),
    ofAll: new Set(
      rows.flatMap(columnsOf).flatMap(([table, columns]) => [table, ...columns.map((column) => `${table} ${column}`)]),
    ),
  };
}

// Two loads exclude each other if both delete the same row. A workspace that was not loaded yet has none, so there is one of no workspace.
async function excludeOthers(session: Session, position: string, workspace: string): Promise<void> {
  await session.run(
    `INSERT INTO ${position} (workspace) SELECT '' WHERE NOT EXISTS (FROM ${position} WHERE workspace = '')`,
  );
  const own = await session.query(`SELECT 1 FROM ${position} WHERE workspace = ${literal(workspace)}`);
  if (own.length > 0) return;
  await session.run(`DELETE FROM ${position} WHERE workspace = ''`);
  await session.run(`INSERT INTO ${position} (workspace) VALUES ('')`);
}

/** A table with the names that its columns have in a destination. */
interface DestinationTable extends LoadTable {
  readonly schema: string;
  /** Schema and name, which contains no dot. */
  readonly id: string;
  /** SQL of its name. */
  readonly at: string;
  /** SQL of its rows with these names, to be stored before they are read; null if the rows of the source have them. */
  readonly stored: string | null;
}

// A view may return another of several equal values when it is read again, so its rows are stored too.
function toDestination(table: LoadTable, { schema: shared }: Attachment, { ownSchema }: Load): DestinationTable {
  const schema = table.isShared === true ? shared : ownSchema;
  const names = new Map<string, string>();
  const taken = new Set([...RESERVED, ...table.columns.map(({ name }) => name)]);
  for (const { name } of table.columns) {
    let own = name;
    if (RESERVED.includes(name)) while (taken.has(own)) own += '_';
    taken.add(own);
    names.set(name, own);
  }
  const nameOf = (name: string): string => names.get(name) ?? name;
  const isRenamed = [...names].some(([name, own]) => name !== own);
  const selected = [...names].map(([name, own]) => `${quoted(name)} AS ${quoted(own)}`).join(', ');
  return {
    ...table,
    schema,
    id: idOf(schema, table.name),
    at: tableAt(schema, table.name),
    key: table.key.map(nameOf),
    columns: table.columns.map((column) => ({ ...column, name: nameOf(column.name) })),
    stored: table.kind === 'mart' || isRenamed ? `SELECT ${selected} FROM ${table.source}` : null,
  };
}

function idOf(schema: string, name: string): string {
  return `${schema}.${name}`;
}

/** Types of columns by table and column, as DuckDB names them. */
type Types = ReadonlyMap<string, ReadonlyMap<string, string>>;

function isComplete({ id, columns }: DestinationTable, existing: Types): boolean {
  return columns.every((column) => existing.get(id)?.has(column.name) === true);
}

type LoadColumn = LoadTable['columns'][number];

function typeOf({ kind }: LoadColumn, { hasJson }: Pick<Attachment, 'hasJson'>): string {
  if (kind === 'json' && !hasJson) return sqlTypes.text;
  return kind === 'timestamp' ? INSTANT : sqlTypes[kind];
}

// Whether a column of a type holds all values of a kind. SQLite and PostgreSQL have other types for some kinds.
function holds(type: string, column: LoadColumn): boolean {
  if (type === 'VARCHAR' || type === 'JSON') return true;
  if (column.kind === 'timestamp') return type === 'TIMESTAMP WITH TIME ZONE';
  if (column.kind === 'boolean') return type === 'BOOLEAN' || type === 'BIGINT';
  return type === sqlTypes[column.kind] || (column.kind === 'integer' && type === 'DOUBLE');
}

// Creates a table, adds columns, and replaces columns whose type does not hold their values; a dry run changes nothing. Returns whether all
// rows of all workspaces must be written again, because values were removed.
async function prepareTable(
  session: Session,
  attachment: Attachment,
  table: DestinationTable,
  { types, before }: Found,
  { dryRun }: Load,
): Promise<boolean> {
  const { id, at } = table;
  const found = types.get(id);
  const foreign = found && Object.keys(OWN_COLUMNS).find((column) => !found.has(column));
  if (foreign !== undefined)
    throw new SightlineError(
      'destination_failed',
      `the destination's table ${id} has no column ${foreign}, so sightline did not create it; rename it`,
    );
  const added = table.columns.filter((column) => found?.has(column.name) !== true);
  const changed = table.columns.filter(
    (column) => !added.includes(column) && !holds(String(found?.get(column.name)), column),
  );
  const isRemoved =
    found === undefined
      ? before.ofAll.has(id)
      : changed.length > 0 || added.some((column) => before.ofAll.has(`${id} ${column.name}`));
  if (dryRun) return isRemoved;
  const forget = async (): Promise<void> => {
    if (!isRemoved) return;
    await session.run(`UPDATE ${positionAt(attachment)} SET identity = NULL WHERE workspace <> ''`);
    if (found !== undefined) await session.run(`UPDATE ${at} SET _hash = NULL`);
  };
  // A load may be killed between two steps. In a transaction, DuckDB alters no table that has changed.
  if (attachment.isStepwise) await forget();
  if (found === undefined) {
    const columns = [
      ...Object.entries(OWN_COLUMNS).map(([column, type]) => `${quoted(column)} ${type}`),
      ...table.columns.map((column) => `${quoted(column.name)} ${typeOf(column, attachment)}`),
      ...(attachment.hasKeys ? ['PRIMARY KEY (workspace, _key)'] : []),
    ];
    await session.run(`CREATE TABLE ${at} (${columns.join(', ')})`);
  } else {
    for (const column of changed) {
      await alter(session, attachment, table, `DROP COLUMN ${quoted(column.name)}`);
      const isWider = column.kind === 'number' && found.get(column.name) === 'BIGINT';
      const type = isWider ? typeOf(column, attachment) : 'VARCHAR';
      await alter(session, attachment, table, `ADD COLUMN ${quoted(column.name)} ${type}`);
    }
    for (const column of added)
      await alter(session, attachment, table, `ADD COLUMN ${quoted(column.name)} ${typeOf(column, attachment)}`);
  }
  await comment(session, attachment, table, [...changed, ...added]);
  if (!attachment.isStepwise) await forget();
  return isRemoved;
}

// Changes a table in the destination's own SQL if it has one: the extension for PostgreSQL adds no column of type DOUBLE.
async function alter(
  session: Session,
  { inDestination }: Attachment,
  { schema, name, at }: DestinationTable,
  change: string,
): Promise<void> {
  if (inDestination === null) {
    await session.run(`ALTER TABLE ${at} ${change}`);
    return;
  }
  const own = change.replace(/ DOUBLE$/, ' DOUBLE PRECISION');
  await session.run(inDestination(`ALTER TABLE ${quoted(schema)}.${quoted(name)} ${own}`));
  // The extension keeps the columns of tables.
  await session.run('CALL pg_clear_cache()');
}

// Comments on new columns, and on the table with them.
async function comment(
  session: Session,
  { inDestination, hasComments }: Attachment,
  { schema, name, at, about }: DestinationTable,
  columns: LoadTable['columns'],
): Promise<void> {
  if (!hasComments || columns.length === 0) return;
  const table = inDestination === null ? at : `${quoted(schema)}.${quoted(name)}`;
  const statements = [
    `COMMENT ON TABLE ${table} IS ${literal(about)}`,
    ...columns.map((column) => `COMMENT ON COLUMN ${table}.${quoted(column.name)} IS ${literal(column.about)}`),
  ];
  if (inDestination === null) for (const statement of statements) await session.run(statement);
  else await session.run(inDestination(statements.join('; ')));
}

// Deletes the rows of a table that is not loaded any more.
async function emptyTable(session: Session, id: string, { workspace, dryRun }: Load): Promise<LoadedTable> {
  const [schema = '', name = ''] = id.split('.');
  const table = tableAt(schema, name);
  const own = `workspace = ${literal(workspace)}`;
  const [count] = await session.query(`SELECT count(*) FROM ${table} WHERE ${own}`);
  if (!dryRun) await session.run(`DELETE FROM ${table} WHERE ${own}`);
  return { name, rows: 0, inserted: 0, updated: 0, deleted: Number(count?.[0]) };
}

async function loadTable(
  session: Session,
  attachment: Attachment,
  table: DestinationTable,
  {
    workspace,
    full,
    dryRun,
    isThere,
    isRewritten,
  }: Load & { readonly isThere: boolean; readonly isRewritten: boolean },
): Promise<LoadedTable> {
  const { name, at } = table;
  const own = `workspace = ${literal(workspace)}`;
  if (table.stored !== null) await session.run(`CREATE OR REPLACE TEMP TABLE stored AS ${table.stored}`);
  const source = table.stored === null ? table.source : 'temp.stored';
  await session.run(
    `CREATE OR REPLACE TEMP TABLE here AS SELECT ${keyOf(table)} AS _key, ${hashOf(table)} AS _hash, rowid AS _row FROM ${source}`,
  );
  await session.run(
    `CREATE OR REPLACE TEMP TABLE there AS
     SELECT CAST(_key AS UUID) AS _key, CASE count(*) WHEN 1 THEN CAST(any_value(_hash) AS BIGINT) END AS _hash
     FROM ${isThere ? at : 'temp.here'} WHERE ${isThere ? own : 'false'} GROUP BY 1`,
  );
  // A rewritten row is deleted first.
  await session.run(
    `CREATE OR REPLACE TEMP TABLE changes AS
     SELECT coalesce(h._key, t._key) AS _key, h._hash AS _hash, h._row AS _row, t._key IS NOT NULL AS is_there
     FROM temp.here h FULL JOIN temp.there t ON h._key = t._key
     WHERE h._hash IS DISTINCT FROM t._hash OR ${full || isRewritten}`,
  );
  const [counts] = await session.query(
    `SELECT (SELECT count(*) FROM temp.here), (SELECT count(*) FROM temp.there), count(*) - count(DISTINCT _key),
       count(*) FILTER (NOT is_there), count(*) FILTER (_row IS NOT NULL AND is_there), count(*) FILTER (_row IS NULL)
     FROM temp.changes`,
  );
  const [rows = 0, rowsThere = 0, repeated, inserted = 0, updated = 0, deleted = 0] = (counts ?? []).map(Number);
  // An unchanged row is not in `changes`, so that only the sum shows a key that it shares with another row.
  if (repeated !== 0 || rowsThere + inserted - deleted !== rows)
    throw new SightlineError('internal', `rows of ${name} have equal keys`);
  if (dryRun) return { name, rows, inserted, updated, deleted };
  if (updated + deleted > 0) {
    if (updated + deleted === rowsThere) await session.run(`DELETE FROM ${at} WHERE ${own}`);
    else await deleteChanged(session, attachment, table, own);
  }
  if (inserted + updated > 0) {
    const names = table.columns.map((column) => quoted(column.name));
    await session.run(
      `INSERT INTO ${at} (workspace, _key, _hash, ${names.join(', ')})
       SELECT ${literal(workspace)}, c._key, c._hash, ${names.map((column) => `s.${column}`).join(', ')}
       FROM ${source} s JOIN temp.changes c ON s.rowid = c._row`,
    );
  }
  return { name, rows, inserted, updated, deleted };
}

// Deleting through the extension would read all keys of the destination.
async function deleteChanged(
  session: Session,
  { inDestination }: Attachment,
  { schema, name, at }: DestinationTable,
  own: string,
): Promise<void> {
  if (inDestination === null) {
    await session.run(
      `DELETE FROM ${at} WHERE ${own} AND CAST(_key AS UUID) IN (SELECT _key FROM temp.changes WHERE is_there)`,
    );
    return;
  }
  const keys = await session.query('SELECT CAST(_key AS VARCHAR) FROM temp.changes WHERE is_there ORDER BY _key');
  for (let from = 0; from < keys.length; from += KEYS_MAX) {
    const listed = keys.slice(from, from + KEYS_MAX).map(([key]) => literal(String(key)));
    await session.run(
      inDestination(`DELETE FROM ${quoted(schema)}.${quoted(name)} WHERE ${own} AND _key IN (${listed.join(', ')})`),
    );
  }
}

// Returns SQL of 128 bits that identify a row. Values of the key that are missing are left out. The length keeps texts apart that contain
// the marks between values. Times are written as numbers, because DuckDB formats them slowly.
function keyOf({ key, columns }: LoadTable): string {
  const parts = key.map((name) => {
    const column = quoted(name);
    const kind = columns.find((one) => one.name === name)?.kind;
    const isText = kind === 'text' || kind === 'json';
    const value = isText
      ? `strlen(${column}) || ':' || ${column}`
      : kind === 'timestamp'
        ? `epoch_us(${column})`
        : column;
    return `${literal(`${name}=`)} || ${value}`;
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
