import type { Extent } from '../contract/resource.ts';
import type { Values } from '../contract/rows.ts';
import type { Column, ResourceTable } from '../contract/tables.ts';
import { parentKeyOf } from './children.ts';
import type { ResultRow, Session } from './database.ts';
import type { HistoryWriter } from './history.ts';
import { quoted, sqlTypes } from './schema.ts';
import { sameKey, stage, staged } from './staging.ts';

// The keys of earlier pages, and those of the page that closes the chain.
const SEEN = `list_concat((SELECT flatten(list(seen)) FROM sync.checkpoints WHERE chain = $1 AND table_name = $2),
  CAST($3 AS VARCHAR[]))`;

/** What a whole read accounted for. */
export interface ReadExtent {
  readonly fixed: Values;
  /** Days of the range, both included, where the extent is a time. */
  readonly from: string | null;
  readonly to: string | null;
}

/** Writes the deletion marks of a table and of its children. */
export interface TableReaper {
  readonly extent: Extent;
  /**
   * Marks every live row of the extent that chain `chain` did not see, neither on its earlier pages nor on the last
   * one, whose keys are `seen`, and returns how many. Only for a chain whose every page was read without error.
   */
  markUnseen(session: Session, chain: string, seen: readonly Values[], extent: ReadExtent, at: string): Promise<number>;
  /** Marks the live rows that a condition on the table's columns holds for, and returns how many. */
  markWhere(session: Session, condition: string, at: string): Promise<number>;
  /** Marks the rows with these keys. */
  mark(session: Session, keys: readonly Values[], at: string): Promise<number>;
}

/** The reaper of a table; `childTables` are all tables that hold children of its rows, details' included. */
export function createTableReaper(
  table: ResourceTable,
  childTables: readonly ResourceTable[],
  history: HistoryWriter,
): TableReaper {
  const keys = table.columns.filter((column) => table.key.includes(column.name));
  const extentSql = extentOf(table);
  const keyList = keys.map(({ name, kind }) => {
    const value = kind === 'uuid' || kind === 'text' ? quoted(name) : `CAST(${quoted(name)} AS VARCHAR)`;
    return `${quoted(name)} := ${value}`;
  });
  const live = `SELECT CAST(to_json(struct_pack(${keyList.join(', ')})) AS VARCHAR) AS key FROM ${quoted(table.name)} t
    WHERE "_deleted_at" IS NULL`;
  const unseen = `${live} ${extentSql.where} AND NOT EXISTS (
      SELECT 1 FROM ${staged(keys, SEEN)} s
      WHERE ${sameKey('t', 's', table.key)})`;
  const own = markOf(table.name, keys);
  const children = childTables.flatMap((owner) =>
    owner.children.map((child) => {
      const parentKeys = child.columns.filter((column) => child.parentKey.includes(column.name));
      return { owner, child, sql: markOf(child.name, parentKeys) };
    }),
  );
  const mark = async (session: Session, gone: readonly Values[], at: string): Promise<number> => {
    if (gone.length === 0) return 0;
    const marked = await session.run(own, [stage(gone), at]);
    for (const { owner, child, sql } of children) {
      await session.run(sql, [stage(gone.map((key) => parentKeyOf(owner, child, key))), at]);
    }
    await history.end(session, gone, at);
    return marked;
  };
  return {
    extent: table.extent,
    mark,
    markWhere: async (session, condition, at) =>
      mark(session, toKeys(await session.all(`${live} AND (${condition})`)), at),
    markUnseen: async (session, chain, seen, extent, at) => {
      const rows = await session.all(unseen, [chain, table.name, stage(seen), ...extentSql.parameters(extent)]);
      return mark(session, toKeys(rows), at);
    },
  };
}

function toKeys(rows: readonly ResultRow[]): Values[] {
  return rows.map((row) => JSON.parse(String(row['key'])) as Values);
}

function markOf(table: string, key: readonly Column[]): string {
  const names = key.map((column) => column.name);
  return `UPDATE ${quoted(table)} AS t SET "_deleted_at" = CAST($2 AS TIMESTAMP) FROM ${staged(key, '$1')} s
    WHERE ${sameKey('t', 's', names)} AND t."_deleted_at" IS NULL`;
}

// Condition on `t` for the rows that a read accounted for, and its parameters from $4 on.
function extentOf(table: ResourceTable): { where: string; parameters: (extent: ReadExtent) => (string | null)[] } {
  const conditions = table.fixed.map((name, index) => {
    const kind = table.columns.find((column) => column.name === name)?.kind ?? 'text';
    return `AND t.${quoted(name)} IS NOT DISTINCT FROM CAST($${index + 4} AS ${sqlTypes[kind]})`;
  });
  const fixedOf = ({ fixed }: ReadExtent) => table.fixed.map((name) => (fixed[name] ?? null) as string | null);
  if (table.extent.kind !== 'time') return { where: conditions.join(' '), parameters: fixedOf };
  const next = table.fixed.length + 4;
  const time = `t.${quoted(table.extent.field)}`;
  conditions.push(`AND ${time} >= CAST($${next} AS DATE) AND ${time} < CAST($${next + 1} AS DATE) + INTERVAL 1 DAY`);
  return {
    where: conditions.join(' '),
    parameters: (extent) => [...fixedOf(extent), extent.from, extent.to],
  };
}
