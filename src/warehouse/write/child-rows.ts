import type { TableLoss } from '../../contract/plausibility/mass-deletion.ts';
import type { Row, Values } from '../../contract/rows.ts';
import { type ChildTable, type Column, engineColumns, type ResourceTable } from '../../contract/tables.ts';
import type { Session } from '../database.ts';
import { quoted, sqlTypes } from '../schema.ts';
import { stage, staged } from './staging.ts';
import { insertSql, pickColumns, statementsOf } from './statements.ts';

/** Writes the child rows of a table's rows. */
export interface ChildWriter {
  insert(session: Session, rows: readonly Row[], shared: Values): Promise<void>;
  /** Deletes the child rows of rows that are about to get new ones. */
  remove(session: Session, rows: readonly Row[], shared: Values): Promise<void>;
  /** Counts, by table, the live child rows of stored rows and how many of them the new rows lack. */
  countLosses(session: Session, rows: readonly Row[], shared: Values): Promise<TableLoss[]>;
}

/**
 * Creates the writer for all child tables of `table`; `shared` names the columns with one value for all rows of a page.
 */
export function createChildWriter(table: ResourceTable, shared: readonly string[]): ChildWriter {
  const writers = table.children.map((child, index) => childWriter(table, child, index, shared));
  return {
    insert: async (session, rows, values) => {
      for (const writer of writers) await writer.insert(session, rows, values);
    },
    remove: async (session, rows, values) => {
      for (const writer of writers) await writer.remove(session, rows, values);
    },
    countLosses: async (session, rows, values) => {
      const losses: TableLoss[] = [];
      for (const writer of writers) losses.push(...(await writer.countLosses(session, rows, values)));
      return losses;
    },
  };
}

/** Returns the key of a parent row under the column names of a child table. */
export function parentKeyOf(table: ResourceTable, child: ChildTable, key: Values): Values {
  const renamed: Record<string, unknown> = {};
  for (const { name, source } of child.columns) {
    if (source.from === 'parent' && table.key.includes(source.column) && child.parentKey.includes(name)) {
      renamed[name] = key[source.column];
    }
  }
  return renamed;
}

function childWriter(table: ResourceTable, child: ChildTable, index: number, shared: readonly string[]): ChildWriter {
  const columns = [...child.columns, ...engineColumns];
  const statements = statementsOf(columns, child.parentKey, shared);
  const own = statements.staged.filter(({ source, name }) => isOwn(source.from, name));
  const inherited = statements.staged.filter((column) => !own.includes(column));
  const insert = insertSql(child.name, columns, statements, nested(inherited, own));
  const remove = statementsOf(
    columns.filter((column) => child.parentKey.includes(column.name)),
    child.parentKey,
    shared,
  );
  const countSql = `SELECT CAST(count(*) AS BIGINT) AS live FROM ${quoted(child.name)} t
    JOIN ${staged(remove.staged, '$1')} s ON ${remove.matches} WHERE t."_deleted_at" IS NULL`;
  const keysOf = (rows: readonly Row[]): string[] =>
    stage(rows.map((row) => pickColumns(parentKeyOf(table, child, row.key), remove.staged)));
  const removeSql = `DELETE FROM ${quoted(child.name)} t USING ${staged(remove.staged, '$1')} s WHERE ${remove.matches}`;
  return {
    insert: async (session, rows, values) => {
      const entries = rows.flatMap((row) => {
        const children = row.children[index];
        if (children === undefined || children.rows.length === 0) return [];
        const common = pickColumns({ ...children.inherited, _row_hash: row.hash }, inherited);
        const items = children.rows.map(({ values: own, extra }) => (extra === null ? own : { ...own, _extra: extra }));
        return [{ common, items }];
      });
      if (entries.length > 0) await session.run(insert, statements.parameters(stage(entries), values));
    },
    remove: async (session, rows, values) => {
      await session.run(removeSql, remove.parameters(keysOf(rows), values));
    },
    countLosses: async (session, rows, values) => {
      const [row] = await session.all(countSql, remove.parameters(keysOf(rows), values));
      const before = Number(row?.['live'] ?? 0);
      const after = rows.reduce((sum, { children }) => sum + (children[index]?.rows.length ?? 0), 0);
      return [{ table: child.name, before, lost: Math.max(0, before - after) }];
    },
  };
}

function isOwn(from: string, name: string): boolean {
  return from === 'item' || from === 'ordinal' || name === '_extra';
}

// One JSON text per parent: the shared values once, and the children as a list.
function nested(inherited: readonly Column[], own: readonly Column[]): string {
  const typesOf = (columns: readonly Column[]) =>
    Object.fromEntries(columns.map(({ name, kind }) => [name, sqlTypes[kind]]));
  const shape = JSON.stringify({ common: typesOf(inherited), items: [typesOf(own)] }).replaceAll("'", "''");
  const common = inherited.map(({ name }) => `common.${quoted(name)}`);
  const items = own.map(({ name }) => `item.${quoted(name)}`);
  return `(SELECT ${[...common, ...items].join(', ')} FROM (
    SELECT parent.common AS common, unnest(parent.items) AS item FROM (
      SELECT from_json(text, '${shape}') AS parent FROM (SELECT unnest(CAST($1 AS VARCHAR[])) AS text))))`;
}
