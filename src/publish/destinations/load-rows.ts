import { SightlineError } from '../../base/errors.ts';
import type { Session } from '../../warehouse/database.ts';
import { literal, quoted } from '../../warehouse/schema.ts';
import type { Attachment } from './kinds.ts';
import { type DestinationTable, hashOf, KEY, keyOf } from './loaded-table.ts';
import { deleteValues, inOwnSql } from './own-sql.ts';
import { changedParts, dayOfRow, inParts, type Parts, readParts, rowsOf } from './table-parts.ts';

/** Rows of a table after a load, and how many the load has changed. */
export interface LoadedTable {
  readonly name: string;
  readonly rows: number;
  readonly inserted: number;
  readonly updated: number;
  readonly deleted: number;
}

/** Options of a load of the rows of a table. */
export interface RowsLoad {
  readonly workspace: string;
  /** Writes every row again. */
  readonly isRewritten: boolean;
  /** Compares, and writes nothing. */
  readonly dryRun: boolean;
  /** Whether the destination has the table. */
  readonly isThere: boolean;
  /** Parts of the table after the last load; null if all rows must be compared. */
  readonly known: Parts | null;
}

/** Name of the temporary table with the rows of a view. */
const STORED = 'temp.stored';
/** All rows are compared, without a condition, if at least this share of them is in parts that changed. */
const CHANGED_MOST = 0.5;

/**
 * Makes the rows of a workspace in a table of a destination equal to those of the source. Compares the parts of the table that changed
 * by key and by a hash of the columns, and writes only the rows that differ. Returns the parts of the table after the load.
 */
export async function loadRows(
  session: Session,
  attachment: Attachment,
  table: DestinationTable,
  load: RowsLoad,
): Promise<LoadedTable & { readonly parts: Parts }> {
  const { name, schema, at } = table;
  const { hasKeys, hasNan, own } = attachment;
  const path = [schema, name];
  const { workspace, known, isThere, dryRun } = load;
  const source = table.isStored ? STORED : table.rows;
  if (table.isStored && table.time === undefined) await store(session, table, 'true');
  let now: Parts = new Map();
  let changed: string[] = [];
  let compared: Compared | null = null;
  if (known !== null) {
    const from = table.time === undefined ? source : table.rows;
    now = await readParts(session, `(SELECT ${dayOfRow(table)} AS _day, ${hashOf(table)} AS _hash FROM ${from})`);
    changed = changedParts(known, now);
    const [before, after] = [rowsOf(known, changed), rowsOf(now, changed)];
    if (changed.length === 0) return { name, rows: rowsOf(now), inserted: 0, updated: 0, deleted: 0, parts: now };
    if (Math.max(before, after) < CHANGED_MOST * rowsOf(now)) {
      const some = await compareRows(session, table, source, load, inParts(table, changed));
      // Compare all rows if the destination does not have as many rows as the last load stored.
      const isFit = some.rowsThere === before && (await hasNewKeys(session, table, source, some));
      if (isFit) compared = some;
    }
  }
  const where = compared === null ? 'true' : inParts(table, changed);
  compared ??= await compareRows(session, table, source, load, where);
  const { rowsThere, inserted, updated, deleted } = compared;
  const kept = [...now].filter(([part]) => where !== 'true' && !changed.includes(part));
  const parts = new Map([...kept, ...compared.parts]);
  const loaded = { name, rows: rowsOf(parts), inserted, updated, deleted, parts };
  if (dryRun) return loaded;
  if (updated + deleted > 0) {
    const ofWorkspace = `workspace = ${literal(workspace)}`;
    if (updated + deleted === rowsThere && where === 'true')
      await session.run(inOwnSql(attachment, path, (all) => `DELETE FROM ${all} WHERE ${ofWorkspace}`));
    else {
      // A primary key finds the rows without the days.
      const [within, column] =
        own === null ? [`${ofWorkspace} AND ${where}`, 'CAST(_key AS UUID)'] : [ofWorkspace, '_key'];
      const values = 'SELECT _key FROM temp.changes WHERE is_there';
      await deleteValues(session, attachment, path, { where: within, column, values });
    }
  }
  if (inserted + updated > 0) {
    const names = table.columns.map((column) => quoted(column.name));
    const values = table.columns.map(({ name: column, kind }) => {
      const value = `s.${quoted(column)}`;
      return kind === 'number' && !hasNan ? `CASE WHEN isfinite(${value}) THEN ${value} END` : value;
    });
    await session.run(
      `INSERT INTO ${at} (workspace, _key, _hash, ${names.join(', ')})
       SELECT ${literal(workspace)}, c._key, c._hash, ${values.join(', ')}
       FROM ${source} s JOIN temp.changes c ON s.rowid = c._row`,
    );
  }
  // Adding a key to rows takes half the time of adding rows to a key.
  if (!isThere && hasKeys && own !== null)
    await session.run(inOwnSql(attachment, path, (all) => `ALTER TABLE ${all} ADD PRIMARY KEY (${KEY.join(', ')})`));
  return loaded;
}

async function store(session: Session, { rows }: DestinationTable, where: string): Promise<void> {
  await session.run(`CREATE OR REPLACE TEMP TABLE stored AS FROM ${rows} WHERE ${where}`);
}

/** Rows that were compared, and the changes that make them equal. */
interface Compared {
  /** The parts of the source's rows. */
  readonly parts: Parts;
  readonly rowsThere: number;
  readonly inserted: number;
  readonly updated: number;
  readonly deleted: number;
}

// Writes the changes into the temporary table `changes`. A rewritten row is deleted first.
async function compareRows(
  session: Session,
  table: DestinationTable,
  source: string,
  { workspace, isThere, isRewritten }: RowsLoad,
  where: string,
): Promise<Compared> {
  if (table.isStored && table.time !== undefined) await store(session, table, where);
  await session.run(
    `CREATE OR REPLACE TEMP TABLE here AS
     SELECT ${keyOf(table)} AS _key, ${hashOf(table)} AS _hash, rowid AS _row, ${dayOfRow(table)} AS _day FROM ${source} WHERE ${where}`,
  );
  const own = `workspace = ${literal(workspace)} AND ${where}`;
  await session.run(
    `CREATE OR REPLACE TEMP TABLE there AS
     SELECT CAST(_key AS UUID) AS _key, CASE count(*) WHEN 1 THEN CAST(any_value(_hash) AS BIGINT) END AS _hash
     FROM ${isThere ? table.at : 'temp.here'} WHERE ${isThere ? own : 'false'} GROUP BY 1`,
  );
  await session.run(
    `CREATE OR REPLACE TEMP TABLE changes AS
     SELECT coalesce(h._key, t._key) AS _key, h._hash AS _hash, h._row AS _row, t._key IS NOT NULL AS is_there
     FROM temp.here h FULL JOIN temp.there t ON h._key = t._key
     WHERE h._key IS NULL OR h._hash IS DISTINCT FROM t._hash OR ${isRewritten}`,
  );
  const [counts] = await session.query(
    `SELECT (SELECT count(*) FROM temp.there), count(*) - count(DISTINCT _key),
       count(*) FILTER (NOT is_there), count(*) FILTER (_row IS NOT NULL AND is_there), count(*) FILTER (_row IS NULL)
     FROM temp.changes`,
  );
  const [rowsThere = 0, repeated, inserted = 0, updated = 0, deleted = 0] = (counts ?? []).map(Number);
  const parts = await readParts(session, 'temp.here');
  // An unchanged row is not in `changes`, so that only the sum shows a key that it shares with another row.
  if (repeated !== 0 || rowsThere + inserted - deleted !== rowsOf(parts))
    throw new SightlineError('internal', `rows of ${table.name} have equal keys`);
  return { parts, rowsThere, inserted, updated, deleted };
}

// Returns whether the keys of inserted rows are unique among all rows. A key with the time can only repeat within a part.
async function hasNewKeys(
  session: Session,
  { key, time = '', rows }: DestinationTable,
  source: string,
  { inserted }: Compared,
): Promise<boolean> {
  if (key.includes(time) || inserted === 0) return true;
  const hash = `hash(${key.map(quoted).join(', ')})`;
  const [found] = await session.query(
    `SELECT count(*) FROM ${rows} WHERE ${hash} IN
       (SELECT ${hash} FROM ${source} s JOIN temp.changes c ON s.rowid = c._row WHERE NOT c.is_there)`,
  );
  return Number(found?.[0]) === inserted;
}
