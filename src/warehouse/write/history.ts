import { CHANGE, CHILDREN, type HistoryTable, VALID_FROM, VALID_TO } from '../../contract/histories.ts';
import type { Values } from '../../contract/rows.ts';
import type { ChildTable } from '../../contract/tables.ts';
import type { Parameter, Session } from '../database.ts';
import { literal, quoted, sqlTypes } from '../schema.ts';
import { stage, staged } from './staging.ts';

/** Rows of a page. */
export interface PageRows {
  readonly keys: readonly Values[];
  /**
   * Earliest and latest value of the history's `rowTime` in these rows, before and after the page; null if no row has one.
   * Statements read only this range of tables with many rows: DuckDB skips row groups outside it.
   */
  readonly times: readonly [from: string | null, to: string | null];
}

/**
 * Writes the versions of a table's rows. Exactly one version is valid at any moment of a row's life, except that rows of
 * a sparse history have versions only after their first change. Call it after the rows were written, in the same
 * transaction: it reads their current values from the table.
 */
export interface HistoryWriter {
  /** Column with the time of a row; undefined if `times` of rows are not used. */
  readonly rowTime: string | undefined;
  /** Adds the stored versions of rows that have none. Call it before the rows are overwritten. */
  keep(session: Session, rows: PageRows): Promise<void>;
  /**
   * Adds a version, valid from upstream's time `at`, for each row that differs from its latest version. If only columns
   * outside `telling` changed, updates the latest version in place.
   */
  record(session: Session, rows: PageRows, at: string): Promise<void>;
  /** Adds the first version of new rows, which were written at times between `first` and `last`; a sparse history needs none. */
  begin(session: Session, rows: PageRows, written: readonly [first: string, last: string]): Promise<void>;
  /** Updates the latest versions with columns that a detail has added. */
  complete(session: Session, rows: PageRows): Promise<void>;
  /** Ends the open versions of deleted rows and adds a `deleted` version at `at`. */
  end(session: Session, keys: readonly Values[], at: string): Promise<void>;
}

/** A writer for tables without a history; does nothing. */
export const noHistory: HistoryWriter = {
  rowTime: undefined,
  keep: () => Promise.resolve(),
  record: () => Promise.resolve(),
  begin: () => Promise.resolve(),
  complete: () => Promise.resolve(),
  end: () => Promise.resolve(),
};

/** Smallest distance between two versions. Keeps them in order even if upstream's clock goes back. */
const STEP = 'INTERVAL 1 MICROSECOND';

/** Creates the writer of a history and builds its SQL once. */
export function createHistoryWriter(history: HistoryTable): HistoryWriter {
  const { rowKey, rowTime, kept, children } = history;
  const name = quoted(history.name);
  const same = (left: string, right: string): string => sameRow(history, left, right);
  const keys = kept.filter((column) => rowKey.includes(column.name));
  const rows = staged(keys, '$1');
  const now = `(${currentRows(history, rows)})`;
  const content = contentOf(history);
  const open = `h.${VALID_TO} IS NULL`;
  const columns = [VALID_FROM, VALID_TO, CHANGE, ...content];
  const insert = `INSERT INTO ${name} (${columns.map(quoted).join(', ')})`;
  const currentValues = content.map((column) => `n.${quoted(column)}`).join(', ');
  const telling = [...history.telling.map((column) => column.name), ...(children.length === 0 ? [] : [CHILDREN])];
  const differs = telling.map((column) => `l.${quoted(column)} IS DISTINCT FROM n.${quoted(column)}`).join(' OR ');
  const keyList = keys.map((column) => `h.${quoted(column.name)}`).join(', ');
  const versions = rowsInRange(history, history.name, rowTime);
  const stored = `FROM ${versions} h JOIN ${rows} s ON ${same('h', 's')}`;
  const latest = `(SELECT h.* ${stored} QUALIFY row_number() OVER (PARTITION BY ${keyList} ORDER BY h.${VALID_FROM} DESC) = 1)`;
  // The parameters are the keys, the times and `at`.
  const at = `CAST($${rowTime === undefined ? 2 : 4} AS TIMESTAMP)`;
  const nextSql = `${insert} SELECT greatest(${at}, l.${VALID_TO}, l.${VALID_FROM} + ${STEP}), NULL,
      CASE l.${CHANGE} WHEN 'deleted' THEN 'restored' ELSE if(l.${CHANGE} IS NULL, 'inserted', 'updated') END, ${currentValues}
    FROM ${now} n LEFT JOIN ${latest} l ON ${same('n', 'l')}
    WHERE l.${VALID_FROM} IS NULL OR l.${VALID_TO} IS NOT NULL OR (${differs || 'false'})`;
  // Ends the versions that now have a later open version.
  const closeSql = `UPDATE ${name} AS h SET ${VALID_TO} = n._began
    FROM (SELECT ${keyList}, max(h.${VALID_FROM}) AS _began ${stored} WHERE ${open} GROUP BY ALL) n
    WHERE ${same('h', 'n')} AND ${open} AND h.${VALID_FROM} < n._began`;
  // The times save a search of a large table.
  const [first, last] = [2, 3].map((index) => `CAST($${rowTime === undefined ? index : index + 2} AS TIMESTAMP)`);
  const firstSql = `${insert} SELECT n._synced_at, NULL, 'inserted', ${currentValues}
    FROM (SELECT t._synced_at, ${storedRows(history, rows)} WHERE t._synced_at BETWEEN ${first} AND ${last}) n`;
  const keepSql = backfillSql(history, rows);
  const onlySql = `DELETE FROM ${name} h USING ${rows} s WHERE ${same('h', 's')} AND ${open} AND h.${CHANGE} = 'inserted'`;
  const assigned = content.filter((column) => !rowKey.includes(column));
  const complete = `UPDATE ${name} AS h SET ${assigned.map((column) => `${quoted(column)} = n.${quoted(column)}`).join(', ')}
    FROM ${now} n WHERE ${same('h', 'n')} AND ${open}`;
  const endsAt = `greatest(CAST($2 AS TIMESTAMP), h.${VALID_FROM} + ${STEP})`;
  const deletedSql = `${insert} SELECT ${endsAt}, ${endsAt}, 'deleted', ${content.map((column) => `h.${quoted(column)}`).join(', ')}
    FROM ${name} h JOIN ${rows} s ON ${same('h', 's')} WHERE ${open}`;
  const endSql = `UPDATE ${name} AS h SET ${VALID_TO} = ${endsAt} FROM ${rows} s WHERE ${same('h', 's')} AND ${open}`;
  const parameters = ({ keys: list, times }: PageRows): Parameter[] => [
    stage(list),
    ...(rowTime === undefined ? [] : times),
  ];
  return {
    rowTime,
    keep: async (session, overwritten) => {
      if (history.isSparse && overwritten.keys.length > 0) await session.run(keepSql, parameters(overwritten));
    },
    record: async (session, changed, time) => {
      if (changed.keys.length === 0) return;
      const given = parameters(changed);
      const begun = await session.run(nextSql, [...given, time]);
      if (begun > 0) await session.run(closeSql, given);
      if (begun < changed.keys.length) await session.run(complete, given);
      if (history.isSparse) await session.run(onlySql, given.slice(0, 1));
    },
    begin: async (session, fresh, written) => {
      if (!history.isSparse && fresh.keys.length > 0) await session.run(firstSql, [...parameters(fresh), ...written]);
    },
    complete: async (session, completed) => {
      if (completed.keys.length > 0) await session.run(complete, parameters(completed));
    },
    end: async (session, ended, time) => {
      if (ended.length === 0) return;
      const list = stage(ended);
      await session.run(deletedSql, [list, time]);
      await session.run(endSql, [list, time]);
    },
  };
}

// SQL that adds the stored versions of the staged rows that have none.
function backfillSql(history: HistoryTable, rows: string): string {
  const content = contentOf(history).map(quoted);
  const columns = [VALID_FROM, VALID_TO, CHANGE].map(quoted);
  const times = `t._synced_at, if(t._deleted_at IS NULL, NULL, greatest(t._deleted_at, t._synced_at + ${STEP})) AS _ended`;
  const versions = rowsInRange(history, history.name, history.rowTime);
  const isNew = `ANTI JOIN ${versions} h ON ${sameRow(history, 't', 'h')}`;
  const version = `SELECT ${times}, ${storedRows(history, rows)} ${isNew}`;
  return `INSERT INTO ${quoted(history.name)} (${[...columns, ...content].join(', ')})
    SELECT unnest(if(_ended IS NULL, [_synced_at], [_synced_at, _ended])), _ended,
      unnest(if(_ended IS NULL, ['inserted'], ['inserted', 'deleted'])), ${content.join(', ')} FROM (${version})`;
}

function contentOf({ kept, children }: HistoryTable): string[] {
  return [...kept.map((column) => column.name), ...(children.length === 0 ? [] : [CHILDREN])];
}

// SQL of the live rows with the staged keys, nested arrays included.
function currentRows(history: HistoryTable, rows: string): string {
  return `SELECT ${storedRows(history, rows)} WHERE t._deleted_at IS NULL`;
}

// Columns and FROM clause of the rows with the staged keys, nested arrays included.
function storedRows(history: HistoryTable, rows: string): string {
  const { rowKey, rowTime, of } = history;
  const joins = history.children.map((child, index) => {
    const links = linksOf(child, rowKey);
    const parents = links.map(({ own, parent }) => sameValue(history, `c.${quoted(own)}`, 's', parent));
    const time = child.columns.find(
      ({ source }) => source.from === 'parent' && source.column === history.rowTime,
    )?.name;
    const from = `${rowsInRange(history, child.name, time)} c JOIN ${rows} s ON ${parents.join(' AND ')}`;
    return joinOf(itemsOf(child, links, from), links, index);
  });
  const from = `${rowsInRange(history, of, rowTime)} t JOIN ${rows} s ON ${sameRow(history, 't', 's')}`;
  return `${selectOf(history)} FROM ${from} ${joins.join(' ')}`;
}

function selectOf({ kept, children }: HistoryTable): string {
  const columns = kept.map((column) => `t.${quoted(column.name)}`);
  if (children.length === 0) return columns.join(', ');
  const lists = children.map(({ name }, index) => `${literal(name)}, coalesce(c${index}.items, CAST('[]' AS JSON))`);
  return `${columns.join(', ')}, json_object(${lists.join(', ')}) AS ${CHILDREN}`;
}

// With `=`, DuckDB skips row groups outside the staged keys; with IS NOT DISTINCT FROM it does not.
function sameValue({ present }: HistoryTable, left: string, right: string, column: string): string {
  return `${left} ${present.includes(column) ? '=' : 'IS NOT DISTINCT FROM'} ${right}.${quoted(column)}`;
}

function sameRow(history: HistoryTable, left: string, right: string): string {
  const conditions = history.rowKey.map((name) => sameValue(history, `${left}.${quoted(name)}`, right, name));
  return conditions.join(' AND ') || 'true';
}

// SQL of the rows whose `time` is null or within the page's range, parameters $2 and $3. It is null in rows that are older than the
// column. With OR instead of UNION ALL, DuckDB would not skip row groups outside the range.
function rowsInRange({ kept, rowTime }: HistoryTable, table: string, time: string | undefined): string {
  if (time === undefined) return quoted(table);
  const type = sqlTypes[kept.find(({ name }) => name === rowTime)?.kind ?? 'timestamp'];
  const range = `BETWEEN CAST($2 AS ${type}) AND CAST($3 AS ${type})`;
  return `(FROM ${quoted(table)} WHERE ${quoted(time)} ${range} UNION ALL FROM ${quoted(table)} WHERE ${quoted(time)} IS NULL)`;
}

interface Link {
  readonly own: string;
  readonly parent: string;
}

function linksOf(child: ChildTable, rowKey: readonly string[]): Link[] {
  return child.columns.flatMap(({ name, source }) =>
    source.from === 'parent' && child.parentKey.includes(name) && rowKey.includes(source.column)
      ? [{ own: name, parent: source.column }]
      : [],
  );
}

function joinOf(items: string, links: readonly Link[], index: number): string {
  const same = links.map(({ own, parent }) => `c${index}.${quoted(own)} IS NOT DISTINCT FROM t.${quoted(parent)}`);
  return `LEFT JOIN (${items}) c${index} ON ${same.join(' AND ')}`;
}

function itemsOf(child: ChildTable, links: readonly Link[], from: string): string {
  const own = child.columns.filter(({ source }) => source.from === 'item').map(({ name }) => name);
  const fields = [...own, '_extra'].map((name) => `${quoted(name)} := c.${quoted(name)}`);
  const keys = links.map((link) => `c.${quoted(link.own)}`).join(', ');
  return `SELECT ${keys}, to_json(list(struct_pack(${fields.join(', ')}) ORDER BY c.ordinal)) AS items
    FROM ${from} GROUP BY ${keys}`;
}
