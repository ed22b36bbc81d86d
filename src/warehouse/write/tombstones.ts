import type { Loss } from '../../contract/plausibility/mass-deletion.ts';
import type { Extent } from '../../contract/resource.ts';
import type { Row, Values } from '../../contract/rows.ts';
import type { Column, ResourceTable } from '../../contract/tables.ts';
import type { ResultRow, Session } from '../database.ts';
import { quoted, sqlTypes } from '../schema.ts';
import { parentKeyOf } from './child-rows.ts';
import type { HistoryWriter } from './history.ts';
import { sameKey, stage, staged } from './staging.ts';

// Keys of the earlier pages and of the page that closes the slice.
const SEEN = `list_concat((SELECT flatten(list(seen)) FROM sync.checkpoints WHERE slice = $1 AND table_name = $2),
  CAST($3 AS VARCHAR[]))`;

/** The rows that a complete read should have listed. */
export interface ReadExtent {
  readonly fixed: Values;
  /** First and last day of the range, both included, if the extent is a time. */
  readonly from: string | null;
  readonly to: string | null;
}

/** A live row of the extent that a slice did not list. */
export interface UnseenRow {
  readonly key: Values;
  /** The row's day if the extent is a time, otherwise an empty string. */
  readonly day: string;
}

/** Counts the rows of each day. */
export function countByDay(rows: readonly UnseenRow[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { day } of rows) counts.set(day, (counts.get(day) ?? 0) + 1);
  return counts;
}

/** Sets the tombstones (`_deleted_at`) of a table and its child tables. */
export interface TombstoneWriter {
  readonly extent: Extent;
  /**
   * Returns the live rows of the extent that neither the checkpoints of `slice` nor the keys in `seen` (its last
   * page) list. Call it only if every page of the slice was read without error.
   */
  findUnseen(session: Session, slice: string, seen: readonly Values[], extent: ReadExtent): Promise<UnseenRow[]>;
  /**
   * Returns whether the extent has no live rows besides `rows`, which must be live rows. Cheaper than `findUnseen`. The rows of a page may
   * have times outside the requested range.
   */
  areAll(session: Session, rows: readonly Row[], extent: ReadExtent): Promise<boolean>;
  /** Counts the live rows of the extent and the `unseen` ones among them, by day. */
  countLosses(session: Session, unseen: readonly UnseenRow[], extent: ReadExtent): Promise<Map<string, Loss>>;
  /** Returns the keys of live rows that match a condition on the table's columns. */
  findWhere(session: Session, condition: string): Promise<Values[]>;
  /** Sets the tombstones of live rows that match a condition on the table's columns; returns their number. */
  markWhere(session: Session, condition: string, at: string): Promise<number>;
  /** Sets the tombstones of the rows with these keys; returns their number. */
  mark(session: Session, keys: readonly Values[], at: string): Promise<number>;
}

/**
 * Creates the tombstone writer of a table; `childTables` are all tables whose children belong to its rows, including those of
 * details.
 */
export function createTombstoneWriter(
  table: ResourceTable,
  childTables: readonly ResourceTable[],
  history: HistoryWriter,
): TombstoneWriter {
  const keys = table.columns.filter((column) => table.key.includes(column.name));
  const extentSql = extentOf(table);
  const keyList = keys.map(({ name, kind }) => {
    const value = kind === 'uuid' || kind === 'text' ? quoted(name) : `CAST(${quoted(name)} AS VARCHAR)`;
    return `${quoted(name)} := ${value}`;
  });
  const keyJson = `CAST(to_json(struct_pack(${keyList.join(', ')})) AS VARCHAR) AS key`;
  const live = `SELECT ${keyJson} FROM ${quoted(table.name)} t WHERE "_deleted_at" IS NULL`;
  const unseenSql = `SELECT ${keyJson}, ${extentSql.day} AS day
    FROM ${quoted(table.name)} t WHERE "_deleted_at" IS NULL ${extentSql.where} AND NOT EXISTS (
      SELECT 1 FROM ${staged(keys, SEEN)} s
      WHERE ${sameKey('t', 's', table.key)})`;
  // This statement has no slice parameters, so renumber the extent's parameters from $4 to $1.
  const ownExtent = extentSql.where.replaceAll(/\$(\d+)/g, (_match, number: string) => `$${Number(number) - 3}`);
  const count = 'CAST(count(*) AS BIGINT) AS live';
  const extentRows = `FROM ${quoted(table.name)} t WHERE "_deleted_at" IS NULL ${ownExtent}`;
  const liveSql = `SELECT ${extentSql.day} AS day, ${count} ${extentRows} GROUP BY 1`;
  const countSql = `SELECT ${count} ${extentRows}`;
  // The key is set by the request, such as that of totals of a range.
  const hasOneRow = table.key.every((name) => table.fixed.includes(name));
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
  const findWhere: TombstoneWriter['findWhere'] = async (session, condition) =>
    toKeys(await session.all(`${live} AND (${condition})`));
  return {
    extent: table.extent,
    mark,
    findWhere,
    markWhere: async (session, condition, at) => mark(session, await findWhere(session, condition), at),
    findUnseen: async (session, slice, seen, extent) => {
      const rows = await session.all(unseenSql, [slice, table.name, stage(seen), ...extentSql.parameters(extent)]);
      return rows.map((row) => ({ key: JSON.parse(String(row['key'])) as Values, day: String(row['day']) }));
    },
    areAll: async (session, given, extent) => {
      if (hasOneRow && given.length > 0) return true;
      const [row] = await session.all(countSql, extentSql.parameters(extent));
      const own = given.filter((row) => isWithin(table.extent, row, extent));
      return Number(row?.['live']) === new Set(own.map(({ key }) => JSON.stringify(key))).size;
    },
    countLosses: async (session, unseen, extent) => {
      const live = await session.all(liveSql, extentSql.parameters(extent));
      const lost = countByDay(unseen);
      return new Map(
        live.map((row) => {
          const day = String(row['day']);
          return [day, { before: Number(row['live']), lost: lost.get(day) ?? 0 }];
        }),
      );
    },
  };
}

function isWithin(kind: Extent, { values }: Row, { from, to }: ReadExtent): boolean {
  if (kind.kind !== 'time') return true;
  const day = String(values[kind.field]).slice(0, 10);
  return (from ?? '') <= day && day <= (to ?? '');
}

function toKeys(rows: readonly ResultRow[]): Values[] {
  return rows.map((row) => JSON.parse(String(row['key'])) as Values);
}

function markOf(table: string, key: readonly Column[]): string {
  const names = key.map((column) => column.name);
  return `UPDATE ${quoted(table)} AS t SET "_deleted_at" = CAST($2 AS TIMESTAMP) FROM ${staged(key, '$1')} s
    WHERE ${sameKey('t', 's', names)} AND t."_deleted_at" IS NULL`;
}

// Condition on `t` for the rows of an extent, with parameters from $4 on, and SQL of a row's day.
function extentOf(table: ResourceTable): {
  where: string;
  day: string;
  parameters: (extent: ReadExtent) => (string | null)[];
} {
  const conditions = table.fixed.map((name, index) => {
    const kind = table.columns.find((column) => column.name === name)?.kind ?? 'text';
    return `AND t.${quoted(name)} IS NOT DISTINCT FROM CAST($${index + 4} AS ${sqlTypes[kind]})`;
  });
  const fixedOf = ({ fixed }: ReadExtent) => table.fixed.map((name) => (fixed[name] ?? null) as string | null);
  if (table.extent.kind !== 'time') return { where: conditions.join(' '), day: "''", parameters: fixedOf };
  const next = table.fixed.length + 4;
  const time = `t.${quoted(table.extent.field)}`;
  conditions.push(`AND ${time} >= CAST($${next} AS DATE) AND ${time} < CAST($${next + 1} AS DATE) + INTERVAL 1 DAY`);
  return {
    where: conditions.join(' '),
    day: `strftime(${time}, '%Y-%m-%d')`,
    parameters: (extent) => [...fixedOf(extent), extent.from, extent.to],
  };
}
