import { CHANGE, CHILDREN, type HistoryTable, VALID_FROM, VALID_TO } from '../../contract/histories.ts';
import type { Values } from '../../contract/rows.ts';
import type { ChildTable } from '../../contract/tables.ts';
import type { Session } from '../database.ts';
import { literal, quoted } from '../schema.ts';
import { stage, staged } from './staging.ts';

/**
 * Writes the versions of a table's rows. Exactly one version is valid at any moment of a row's life. Call it after the
 * rows were written, in the same transaction: it reads their current values from the table.
 */
export interface HistoryWriter {
  /**
   * Adds a version, valid from upstream's time `at`, for each row that differs from its latest version. If only columns
   * outside `telling` changed, updates the latest version in place.
   */
  record(session: Session, keys: readonly Values[], at: string): Promise<void>;
  /** Adds the first version of rows that have none. */
  begin(session: Session, keys: readonly Values[], at: string): Promise<void>;
  /** Updates the latest versions with columns that a detail has added. */
  complete(session: Session, keys: readonly Values[]): Promise<void>;
  /** Ends the open versions of deleted rows and adds a `deleted` version at `at`. */
  end(session: Session, keys: readonly Values[], at: string): Promise<void>;
}

/** A writer for tables without a history; does nothing. */
export const noHistory: HistoryWriter = {
  record: () => Promise.resolve(),
  begin: () => Promise.resolve(),
  complete: () => Promise.resolve(),
  end: () => Promise.resolve(),
};

/** Smallest distance between two versions. Keeps them in order even if upstream's clock goes back. */
const STEP = 'INTERVAL 1 MICROSECOND';
const at = 'CAST($2 AS TIMESTAMP)';
const ending = `greatest(${at}, h.${VALID_FROM} + ${STEP})`;

/** Creates the writer of a history and builds its SQL once. */
export function createHistoryWriter(history: HistoryTable): HistoryWriter {
  const { rowKey, kept, children } = history;
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
  const differs = telling.map((column) => `h.${quoted(column)} IS DISTINCT FROM n.${quoted(column)}`).join(' OR ');
  const closeSql = `UPDATE ${name} AS h SET ${VALID_TO} = ${ending} FROM ${now} n
    WHERE ${same('h', 'n')} AND ${open} AND (${differs || 'false'})`;
  const latestSql = `(SELECT ${keys.map((column) => `h.${quoted(column.name)}`).join(', ')},
      max(h.${VALID_TO}) AS _ended, max(h.${VALID_FROM}) AS _began, arg_max(h.${CHANGE}, h.${VALID_FROM}) AS _event,
      bool_or(${open}) AS _open
    FROM ${name} h JOIN ${rows} s ON ${same('h', 's')} GROUP BY ALL)`;
  const nextSql = `${insert} SELECT greatest(${at}, l._ended, l._began + ${STEP}), NULL,
      CASE l._event WHEN 'deleted' THEN 'restored' ELSE if(l._event IS NULL, 'inserted', 'updated') END, ${currentValues}
    FROM ${now} n LEFT JOIN ${latestSql} l ON ${same('n', 'l')} WHERE l._open IS NOT true`;
  // New rows have this `_synced_at`, which saves a search of a large table.
  const firstSql = `${insert} SELECT ${at}, NULL, 'inserted', ${currentValues} FROM (${currentRows(history, rows)} AND t._synced_at = ${at}) n`;
  const assigned = content.filter((column) => !rowKey.includes(column));
  const complete = `UPDATE ${name} AS h SET ${assigned.map((column) => `${quoted(column)} = n.${quoted(column)}`).join(', ')}
    FROM ${now} n WHERE ${same('h', 'n')} AND ${open}`;
  const deletedSql = `${insert} SELECT ${ending}, ${ending}, 'deleted', ${content.map((column) => `h.${quoted(column)}`).join(', ')}
    FROM ${name} h JOIN ${rows} s ON ${same('h', 's')} WHERE ${open}`;
  const end = `UPDATE ${name} AS h SET ${VALID_TO} = ${ending} FROM ${rows} s WHERE ${same('h', 's')} AND ${open}`;
  return {
    record: async (session, changed, time) => {
      if (changed.length === 0) return;
      const list = stage(changed);
      await session.run(closeSql, [list, time]);
      const begun = await session.run(nextSql, [list, time]);
      if (begun < changed.length) await session.run(complete, [list]);
    },
    begin: async (session, fresh, time) => {
      if (fresh.length > 0) await session.run(firstSql, [stage(fresh), time]);
    },
    complete: async (session, completed) => {
      if (completed.length > 0) await session.run(complete, [stage(completed)]);
    },
    end: async (session, ended, time) => {
      if (ended.length === 0) return;
      const list = stage(ended);
      await session.run(deletedSql, [list, time]);
      await session.run(end, [list, time]);
    },
  };
}

/** Returns SQL that fills a new history from the rows of its table, deleted rows included. */
export function backfillSql(history: HistoryTable): string {
  const content = contentOf(history).map(quoted);
  const columns = [VALID_FROM, VALID_TO, CHANGE].map(quoted);
  const version = `SELECT t._synced_at, if(t._deleted_at IS NULL, NULL, greatest(t._deleted_at, t._synced_at + ${STEP})) AS _ended, r.*
    FROM ${quoted(history.of)} t JOIN (${allRows(history)}) r ON t.rowid = r._place`;
  return `INSERT INTO ${quoted(history.name)} (${[...columns, ...content].join(', ')})
    SELECT unnest(if(_ended IS NULL, [_synced_at], [_synced_at, _ended])), _ended,
      unnest(if(_ended IS NULL, ['inserted'], ['inserted', 'deleted'])), ${content.join(', ')} FROM (${version})`;
}

function contentOf({ kept, children }: HistoryTable): string[] {
  return [...kept.map((column) => column.name), ...(children.length === 0 ? [] : [CHILDREN])];
}

// SQL of the live rows with the staged keys, nested arrays included.
function currentRows(history: HistoryTable, rows: string): string {
  const { rowKey, of } = history;
  const nested = history.children.map((child) => ({ child, links: linksOf(child, rowKey) }));
  const joins = nested.map(({ child, links }, index) => {
    const parents = links.map(({ own, parent }) => sameValue(history, `c.${quoted(own)}`, 's', parent));
    const items = itemsOf(child, links, `JOIN ${rows} s ON ${parents.join(' AND ')}`);
    return joinOf(items, links, index);
  });
  return `SELECT ${selectOf(history)} FROM ${quoted(of)} t JOIN ${rows} s ON ${sameRow(history, 't', 's')} ${joins.join(' ')}
    WHERE t._deleted_at IS NULL`;
}

// SQL of all rows with their rowid as `_place`.
function allRows(history: HistoryTable): string {
  const joins = history.children.map((child, index) => {
    const links = linksOf(child, history.rowKey);
    return joinOf(itemsOf(child, links, ''), links, index);
  });
  return `SELECT ${selectOf(history)}, t.rowid AS _place FROM ${quoted(history.of)} t ${joins.join(' ')}`;
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

function itemsOf(child: ChildTable, links: readonly Link[], only: string): string {
  const own = child.columns.filter(({ source }) => source.from === 'item').map(({ name }) => name);
  const fields = [...own, '_extra'].map((name) => `${quoted(name)} := c.${quoted(name)}`);
  const keys = links.map((link) => `c.${quoted(link.own)}`).join(', ');
  return `SELECT ${keys}, to_json(list(struct_pack(${fields.join(', ')}) ORDER BY c.ordinal)) AS items
    FROM ${quoted(child.name)} c ${only} GROUP BY ${keys}`;
}
