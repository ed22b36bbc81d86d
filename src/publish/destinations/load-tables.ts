import { SightlineError } from '../../base/errors.ts';
import type { Session } from '../../warehouse/database.ts';
import { INSTANT, literal, quoted, sqlTypes } from '../../warehouse/schema.ts';
import { type Attachment, DESTINATION, tableAt } from './kinds.ts';
import { type LoadedTable, loadRows } from './load-rows.ts';
import { type DestinationTable, idOf, KEY, type LoadTable, OWN_COLUMNS, toDestination } from './loaded-table.ts';
import { PARTS, type Parts, readStoredParts, storeParts } from './table-parts.ts';

/** Options of a load into a destination. */
export interface Load {
  readonly workspace: string;
  /** Schema of the tables that are not shared: that of the attachment, or one of the workspace. */
  readonly ownSchema: string;
  /** Identifies the warehouse, because workspaces of two warehouses can have the same name. */
  readonly warehouse: string;
  readonly tables: readonly LoadTable[];
  /** Version of the data in the replica; a later version of the same warehouse is larger. */
  readonly dataVersion: number;
  /** Identifies the replica and the form of the tables. Nothing is loaded if the last load had the same identity. */
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

/**
 * Makes the tables of a destination equal to those of a replica, in one transaction: rows of days that changed are compared by key and
 * by a hash of their columns, and only those that differ are written. Returns null if nothing has to be loaded.
 *
 * @throws `destination_newer` if the destination has data of a later version, or of another warehouse
 */
export async function loadTables(
  session: Session,
  attachment: Attachment,
  load: Load,
  onTable: (done: number) => void,
): Promise<LoadedTable[] | null> {
  const tables = load.tables.map((table) => toDestination(table, attachment, load.ownSchema));
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
  const { workspace, dryRun, full } = load;
  const position = positionAt(attachment);
  if (!dryRun) await excludeOthers(session, position, workspace);
  const { identity: last, tables: lastTables } = found.before;
  const { schema } = attachment;
  const hasParts = last !== null && found.ids.has(idOf(schema, PARTS));
  const stored = hasParts ? await readStoredParts(session, schema, workspace, last) : null;
  const loaded: LoadedTable[] = [];
  const parts = new Map<string, Parts>();
  for (const table of tables) {
    const isRewritten = (await prepareTable(session, attachment, table, found, load)) || full;
    const isThere = found.ids.has(table.id);
    const isKnown = isThere && !isRewritten && lastTables.includes(table.id);
    const known = isKnown && stored !== null ? (stored.get(table.id) ?? new Map()) : null;
    const options = { workspace, dryRun, isThere, isRewritten, known };
    const { parts: now, ...rows } = await loadRows(session, attachment, table, options);
    loaded.push(rows);
    parts.set(table.id, now);
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
  // A stepwise load may commit only some of its tables, so its parts are not stored.
  if (identity !== null) await storeParts(session, schema, { workspace, identity }, [stored, parts]);
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

/** Tables of a destination before a load. */
interface Found {
  /** Identities of its tables. */
  readonly ids: ReadonlySet<string>;
  readonly types: Types;
  readonly before: Position;
}

// Returns null if nothing has to be loaded. Creates the tables of positions and parts, except in a dry run.
async function readDestination(
  session: Session,
  attachment: Attachment,
  tables: readonly DestinationTable[],
  load: Load,
): Promise<Found | null> {
  const { schema, hasKeys, isStepwise } = attachment;
  const position = positionAt(attachment);
  const types = await readTypes(session, attachment, tables);
  const ids = new Set(types.keys());
  const schemas = new Set([...ids].map((id) => id.split('.')[0]));
  const hasPosition = ids.has(idOf(schema, POSITION));
  if (!load.dryRun) {
    for (const needed of new Set([schema, load.ownSchema])) {
      if (needed === 'main' || schemas.has(needed)) continue;
      await session.run(`CREATE SCHEMA IF NOT EXISTS ${DESTINATION}.${quoted(needed)}`);
    }
  }
  const create = async (name: string, key: string, columns: string): Promise<void> => {
    if (load.dryRun || ids.has(idOf(schema, name))) return;
    const all = [columns, ...(hasKeys ? [`PRIMARY KEY (${key})`] : [])];
    await session.run(`CREATE TABLE IF NOT EXISTS ${tableAt(schema, name)} (${all.join(', ')})`);
  };
  await create(
    POSITION,
    'workspace',
    'workspace VARCHAR, warehouse VARCHAR, data_version BIGINT, identity VARCHAR, columns VARCHAR, loaded_at TIMESTAMPTZ',
  );
  if (!isStepwise)
    await create(PARTS, 'workspace, part', 'workspace VARCHAR, part VARCHAR, rows BIGINT, hashes VARCHAR');
  const before = await readPosition(session, hasPosition ? position : null, load);
  const isEqual = before.identity === load.identity && !load.full;
  return isEqual && tables.every((table) => isComplete(table, types)) ? null : { ids, types, before };
}

// Reads the columns of all tables at once. A catalog of Iceberg has those of a table only after it was described.
async function readTypes(
  session: Session,
  { isStepwise }: Attachment,
  tables: readonly DestinationTable[],
): Promise<Types> {
  const types = new Map<string, Map<string, string>>();
  const within = `WHERE database_name = '${DESTINATION}'`;
  if (isStepwise) {
    const listed = await session.query(`SELECT schema_name, table_name FROM duckdb_tables() ${within}`);
    for (const [schema, name] of listed) types.set(idOf(String(schema), String(name)), new Map());
    for (const { id, at } of tables) {
      if (!types.has(id)) continue;
      const columns = await session.query(`SELECT column_name, column_type FROM (DESCRIBE ${at})`);
      types.set(id, new Map(columns as [string, string][]));
    }
    return types;
  }
  const columns = await session.query(
    `SELECT schema_name, table_name, column_name, data_type FROM duckdb_columns() ${within}`,
  );
  for (const [schema, name, column, type] of columns) {
    const id = idOf(String(schema), String(name));
    types.set(id, (types.get(id) ?? new Map<string, string>()).set(String(column), String(type)));
  }
  return types;
}

/** Last loads of the workspaces. */
interface Position {
  /** Identity of the workspace's last load; null if there is none, or if the load of another workspace changed its rows. */
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

// Two loads exclude each other because both delete the same row. A workspace without a row uses the row of no workspace.
async function excludeOthers(session: Session, position: string, workspace: string): Promise<void> {
  await session.run(
    `INSERT INTO ${position} (workspace) SELECT '' WHERE NOT EXISTS (FROM ${position} WHERE workspace = '')`,
  );
  const own = await session.query(`SELECT 1 FROM ${position} WHERE workspace = ${literal(workspace)}`);
  if (own.length > 0) return;
  await session.run(`DELETE FROM ${position} WHERE workspace = ''`);
  await session.run(`INSERT INTO ${position} (workspace) VALUES ('')`);
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
      ...(attachment.hasKeys && attachment.inDestination === null ? [KEY] : []),
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
  ].join('; ');
  await session.run(inDestination === null ? statements : inDestination(statements));
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
