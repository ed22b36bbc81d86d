import type { TableLoss } from '../../contract/plausibility/mass-deletion.ts';
import type { Row, Values } from '../../contract/rows.ts';
import { type ChildTable, type Column, engineColumns, type ResourceTable } from '../../contract/tables.ts';
import type { Session } from '../database.ts';
import { quoted, sqlTypes } from '../schema.ts';
import { sameKey, stage, staged } from './staging.ts';
import { insertSql, pickColumns, statementsOf } from './statements.ts';

/** The run and the time that rows come from. */
export interface Provenance {
  readonly runId: string;
  /** Upstream's time, UTC, as `YYYY-MM-DD HH:MM:SS.ffffff`. */
  readonly syncedAt: string;
}

/** A row of a page. */
export interface ParentRow {
  readonly row: Row;
  readonly page: { readonly provenance: Provenance };
}

/** Writes the rows of one child table. */
export interface ChildWriter {
  insert(session: Session, parents: readonly ParentRow[]): Promise<void>;
  /** Deletes the child rows of rows that are about to get new ones. */
  remove(session: Session, parents: readonly ParentRow[]): Promise<void>;
  /** Counts the live child rows of stored rows and how many of them the new rows lack. */
  countLoss(session: Session, parents: readonly ParentRow[]): Promise<TableLoss>;
}

/** Creates the writers of the child tables of `table`. */
export function createChildWriters(table: ResourceTable): ChildWriter[] {
  return table.children.map((child, index) => childWriter(table, child, index));
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

function childWriter(table: ResourceTable, child: ChildTable, index: number): ChildWriter {
  const columns = [...child.columns, ...engineColumns];
  const statements = statementsOf(columns, child.parentKey);
  const own = statements.staged.filter(({ source, name }) => isOwn(source.from, name));
  const inherited = statements.staged.filter((column) => !own.includes(column));
  const insert = insertSql(child.name, columns, statements, nested(inherited, own));
  const parentKey = columns.filter((column) => child.parentKey.includes(column.name));
  const isChild = sameKey('t', 's', child.parentKey);
  const countSql = `SELECT CAST(count(*) AS BIGINT) AS live FROM ${quoted(child.name)} t
    JOIN ${staged(parentKey, '$1')} s ON ${isChild} WHERE t."_deleted_at" IS NULL`;
  const keysOf = (parents: readonly ParentRow[]): string[] =>
    stage(parents.map(({ row }) => pickColumns(parentKeyOf(table, child, row.key), parentKey)));
  const removeSql = `DELETE FROM ${quoted(child.name)} t USING ${staged(parentKey, '$1')} s WHERE ${isChild}`;
  return {
    insert: async (session, parents) => {
      const entries = parents.flatMap(({ row, page }) => {
        const children = row.children[index];
        if (children === undefined || children.rows.length === 0) return [];
        const { runId, syncedAt } = page.provenance;
        const engine = { _synced_at: syncedAt, _run_id: runId, _row_hash: row.hash };
        const common = pickColumns({ ...children.inherited, ...engine }, inherited);
        const items = children.rows.map(({ values, extra }) =>
          extra === null ? values : { ...values, _extra: extra },
        );
        return [{ common, items }];
      });
      if (entries.length > 0) await session.run(insert, [stage(entries)]);
    },
    remove: async (session, parents) => {
      await session.run(removeSql, [keysOf(parents)]);
    },
    countLoss: async (session, parents) => {
      const [counted] = await session.all(countSql, [keysOf(parents)]);
      const before = Number(counted?.['live'] ?? 0);
      const after = parents.reduce((sum, { row }) => sum + (row.children[index]?.rows.length ?? 0), 0);
      return { table: child.name, before, lost: Math.max(0, before - after) };
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
