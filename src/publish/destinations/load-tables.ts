import { SightlineError } from '../../base/errors.ts';
import type { Session } from '../../warehouse/database.ts';
import { literal, quoted, sqlTypes } from '../../warehouse/schema.ts';
import { type Attachment, tableAt } from './kinds.ts';
import { type LoadedTable, loadRows } from './load-rows.ts';
import { type DestinationTable, idOf, KEY, type LoadTable, OWN_COLUMNS, toDestination } from './loaded-table.ts';
import { commentsOn, DESTINATION, inOwnSql } from './own-sql.ts';
import { PARTS, PARTS_COLUMNS, type Parts, readStoredParts, storeParts } from './table-parts.ts';

/** Options of a load into a destination. */
export interface Load {
  readonly workspace: string;
  /** Schema of the tables that are not shared: that of the attachment, or one of the workspace. */
  readonly ownSchema: string;
  /** All schemas that can have tables of the workspace. */
  readonly schemas: readonly string[];
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
const POSITION_COLUMNS = {
  workspace: 'name',
  warehouse: 'text',
  data_version: 'integer',
  identity: 'text',
  columns: 'text',
  loaded_at: 'timestamp',
} as const;

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
  if (attachment.isStepwise && !load.dryRun) {
    const found = await readDestination(session, attachment, tables, load, true);
    if (found === null) return null;
    for (const table of tables) await prepareTable(session, attachment, table, found, true);
    if (attachment.locksPosition) await addPosition(session, positionAt(attachment), load.workspace);
  }
  await session.run('BEGIN TRANSACTION');
  try {
    // The lock must be the first statement: MySQL's transactions read the state of their first read.
    if (attachment.locksPosition && !load.dryRun)
      await session.run(
        onPosition(attachment, `SET warehouse = warehouse WHERE workspace = ${literal(load.workspace)}`),
      );
    // Reads the position again: the transaction that writes it must have read it.
    const loaded = await loadWithin(session, attachment, tables, load, onTable);
    await session.run(load.dryRun ? 'ROLLBACK' : 'COMMIT');
    if (loaded !== null && attachment.commitsApart && !load.dryRun) await writeIdentity(session, attachment, load);
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
  const { workspace, dryRun, full } = load;
  const { schema, isStepwise, locksPosition } = attachment;
  const creates = !dryRun && !isStepwise;
  const found = await readDestination(session, attachment, tables, load, creates);
  if (found === null) return null;
  const position = positionAt(attachment);
  if (!dryRun && !locksPosition) await excludeOthers(session, position, workspace);
  const { identity: last, tables: lastTables } = found.before;
  const hasParts = last !== null && found.ids.has(idOf(schema, PARTS));
  const stored = hasParts ? await readStoredParts(session, schema, workspace, last) : null;
  const loaded: LoadedTable[] = [];
  const parts = new Map<string, Parts>();
  for (const table of tables) {
    const isRewritten = (await prepareTable(session, attachment, table, found, creates)) || full;
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
    if (found.ids.has(id) && !tables.some((table) => table.id === id))
      loaded.push(await emptyTable(session, attachment, id, load));
  }
  if (dryRun) return loaded;
  const columns = Object.fromEntries(tables.map(({ id, columns: all }) => [id, all.map((one) => one.name)]));
  const identity = attachment.commitsApart ? null : load.identity;
  const values = [workspace, load.warehouse, String(load.dataVersion), identity, JSON.stringify(columns)];
  await session.run(
    inOwnSql(attachment, [schema, POSITION], (at) => `DELETE FROM ${at} WHERE workspace = ${literal(workspace)}`),
  );
  await session.run(
    `INSERT INTO ${position} VALUES (${values.map((value) => (value === null ? 'NULL' : literal(value))).join(', ')}, make_timestamptz(${load.now * 1_000}))`,
  );
  // A load may then commit only some of its tables, so its parts are not stored.
  if (identity !== null) await storeParts(session, attachment, { workspace, identity }, [stored, parts]);
  return loaded;
}

function onPosition(attachment: Attachment, change: string): string {
  return inOwnSql(attachment, [attachment.schema, POSITION], (at) => `UPDATE ${at} ${change}`);
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

// Returns null if nothing has to be loaded. Creates the tables of positions and parts if `creates`.
async function readDestination(
  session: Session,
  attachment: Attachment,
  tables: readonly DestinationTable[],
  load: Load,
  creates: boolean,
): Promise<Found | null> {
  const { schema, own, hasKeys, commitsApart } = attachment;
  const position = positionAt(attachment);
  const types = await readTypes(session, attachment, tables, load);
  const ids = new Set(types.keys());
  const schemas = new Set([...ids].map((id) => id.split('.')[0]));
  const hasPosition = ids.has(idOf(schema, POSITION));
  if (creates) {
    for (const needed of new Set([schema, load.ownSchema])) {
      if (needed === 'main' || schemas.has(needed)) continue;
      await session.run(inOwnSql(creatorOf(attachment), [needed], (at) => `CREATE SCHEMA IF NOT EXISTS ${at}`));
    }
    for (const [name, key, columns] of [
      [POSITION, ['workspace'], POSITION_COLUMNS],
      ...(commitsApart ? [] : [[PARTS, ['workspace', 'part'], PARTS_COLUMNS] as const]),
    ] as const) {
      if (ids.has(idOf(schema, name))) continue;
      await createTable(session, attachment, [schema, name], columns, hasKeys ? key : null);
    }
  }
  if (own?.options != null) await session.run(own.forget);
  const before = await readPosition(session, hasPosition ? position : null, load);
  const isEqual = before.identity === load.identity && !load.full;
  return isEqual && tables.every((table) => isComplete(table, types)) ? null : { ids, types, before };
}

// Reads the columns of all tables at once. A catalog of Iceberg has those of a table only after it was described.
async function readTypes(
  session: Session,
  { commitsApart, columns: query }: Attachment,
  tables: readonly DestinationTable[],
  { schemas }: Load,
): Promise<Types> {
  const types = new Map<string, Map<string, string>>();
  const within = `WHERE database_name = '${DESTINATION}'`;
  if (commitsApart) {
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
    query?.(schemas) ?? `SELECT schema_name, table_name, column_name, data_type FROM duckdb_columns() ${within}`,
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

async function addPosition(session: Session, position: string, workspace: string): Promise<void> {
  const own = literal(workspace);
  await session.run(
    `INSERT INTO ${position} (workspace) SELECT ${own} WHERE NOT EXISTS (FROM ${position} WHERE workspace = ${own})`,
  );
}

// Two loads exclude each other because both delete the same row. A workspace without a row uses the row of no workspace.
async function excludeOthers(session: Session, position: string, workspace: string): Promise<void> {
  await addPosition(session, position, '');
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
  changes: boolean,
): Promise<boolean> {
  const { id, schema, name } = table;
  const { own, types: typesOf, hasKeys, hasComments, isStepwise } = attachment;
  const path = [schema, name];
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
  if (!changes) return isRemoved;
  const forget = async (): Promise<void> => {
    if (!isRemoved) return;
    await session.run(onPosition(attachment, "SET identity = NULL WHERE workspace <> ''"));
    if (found !== undefined) await session.run(inOwnSql(attachment, path, (at) => `UPDATE ${at} SET _hash = NULL`));
  };
  // A load may be killed between two steps. In a transaction, DuckDB alters no table that has changed.
  if (isStepwise) await forget();
  const wider = changed.map((column) => {
    const isWider = column.kind === 'number' && found?.get(column.name) === 'BIGINT';
    return { ...column, kind: isWider ? column.kind : ('text' as const) };
  });
  if (found === undefined) {
    const columns = Object.fromEntries(table.columns.map((column) => [column.name, column.kind]));
    // Adding the key after the rows takes half the time, but needs a transaction.
    const isKeyed = hasKeys && (own === null || isStepwise);
    await createTable(session, attachment, path, { ...OWN_COLUMNS, ...columns }, isKeyed ? KEY : null);
  } else {
    const named = own?.quoted ?? quoted;
    const adding = (column: LoadColumn): string => `ADD COLUMN ${named(column.name)} ${typesOf[column.kind]}`;
    const replacing = wider.flatMap((column) => [`DROP COLUMN ${named(column.name)}`, adding(column)]);
    for (const change of [...(own?.describesTypes === true ? [] : replacing), ...added.map(adding)])
      await session.run(inOwnSql(attachment, path, (at) => `ALTER TABLE ${at} ${change}`));
    // The extension keeps the columns of tables.
    if (own !== null && changed.length + added.length > 0) await session.run(own.forget);
  }
  const described = [...wider, ...added];
  if (hasComments && described.length > 0)
    await session.run(inOwnSql(attachment, path, (at) => (own?.describe ?? commentsOn)(at, table.about, described)));
  if (!isStepwise) await forget();
  return isRemoved;
}

function creatorOf({ own }: Attachment): Pick<Attachment, 'own'> {
  return { own: own?.options == null ? null : own };
}

async function createTable(
  session: Session,
  attachment: Attachment,
  path: readonly string[],
  columns: Readonly<Record<string, keyof Attachment['types']>>,
  key: readonly string[] | null,
): Promise<void> {
  const { types } = attachment;
  const { own } = creatorOf(attachment);
  const parts = Object.entries(columns).map(([column, kind]) => `${(own?.quoted ?? quoted)(column)} ${types[kind]}`);
  if (key !== null) parts.push(`PRIMARY KEY (${key.join(', ')})`);
  await session.run(
    inOwnSql({ own }, path, (at) => `CREATE TABLE IF NOT EXISTS ${at} (${parts.join(', ')}) ${own?.options ?? ''}`),
  );
}

// Deletes the rows of a table that is not loaded any more.
async function emptyTable(
  session: Session,
  attachment: Attachment,
  id: string,
  { workspace, dryRun }: Load,
): Promise<LoadedTable> {
  const [schema = '', name = ''] = id.split('.');
  const table = tableAt(schema, name);
  const own = `workspace = ${literal(workspace)}`;
  const [count] = await session.query(`SELECT count(*) FROM ${table} WHERE ${own}`);
  if (!dryRun) await session.run(inOwnSql(attachment, [schema, name], (at) => `DELETE FROM ${at} WHERE ${own}`));
  return { name, rows: 0, inserted: 0, updated: 0, deleted: Number(count?.[0]) };
}
