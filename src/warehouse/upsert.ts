import type { Row, TableRows, Values } from '../contract/rows.ts';
import {
  type ChildTable,
  type Column,
  detailColumns,
  engineColumns,
  OBSERVED_AT,
  type ResourceTable,
} from '../contract/tables.ts';
import type { Session } from './database.ts';
import { quoted } from './schema.ts';
import { sameKey, stage, staged } from './staging.ts';

/** How the rows of a resource get into its table. */
export type WriteMode =
  /** Rows are inserted, replaced when they differ, and revived when they come back. */
  | 'rows'
  /** A row is appended when it differs from the latest one. */
  | 'series'
  /** Columns are added to rows that a list has written. */
  | 'detail';

/** Where rows come from. */
export interface Provenance {
  readonly runId: string;
  /** Upstream's time, `YYYY-MM-DD HH:MM:SS.ffffff`, UTC. */
  readonly syncedAt: string;
}

/** What a write did. */
export interface Changes {
  inserted: number;
  updated: number;
  deleted: number;
}

/** Writes rows of one table; SQL is built once. */
export interface TableWriter {
  readonly table: ResourceTable;
  write(session: Session, rows: TableRows, provenance: Provenance): Promise<Changes>;
}

/** The writer of a table: exact, so that the same rows again change nothing and a changed row changes one. */
export function createTableWriter(table: ResourceTable, mode: WriteMode, ownedByDetails: boolean): TableWriter {
  switch (mode) {
    case 'rows':
      return rowsWriter(table, ownedByDetails);
    case 'series':
      return seriesWriter(table);
    case 'detail':
      return detailWriter(table);
  }
}

const placeColumn = { name: '_place', kind: 'integer' } as const;

interface Found {
  readonly hash: string | null;
  readonly deleted: boolean;
}

function rowsWriter(table: ResourceTable, ownedByDetails: boolean): TableWriter {
  const columns = [...table.columns, ...engineColumns];
  const lookup = lookupOf(table, '_row_hash');
  // A row that comes back has lost the children its detail brought; without a hash the detail is written again.
  const update = `${updateOf(table, columns)}${ownedByDetails ? ', "_detail_hash" = NULL' : ''}${updateFrom(table, columns)}`;
  const children = childWriters(table);
  return {
    table,
    write: async (session, { rows }, provenance) => {
      if (rows.length === 0) return { inserted: 0, updated: 0, deleted: 0 };
      const found = await lookup(session, rows);
      const fresh = rows.filter((_row, place) => !found.has(place));
      const changed = rows.filter((row, place) => {
        const old = found.get(place);
        return old !== undefined && (old.deleted || old.hash !== row.hash);
      });
      const mapped = (row: Row): Values => toColumns(row, provenance);
      if (fresh.length > 0) await session.run(insertOf(table.name, columns), [stage(fresh.map(mapped))]);
      if (changed.length > 0) {
        await session.run(update, [stage(changed.map(mapped))]);
        await children.remove(session, changed);
      }
      await children.insert(session, [...fresh, ...changed], provenance);
      return { inserted: fresh.length, updated: changed.length, deleted: 0 };
    },
  };
}

function seriesWriter(table: ResourceTable): TableWriter {
  const columns = [...table.columns, ...engineColumns];
  const latest = `SELECT "_row_hash" AS hash, epoch_us("${OBSERVED_AT}") AS observed_us FROM ${quoted(table.name)}
    ORDER BY "${OBSERVED_AT}" DESC LIMIT 1`;
  return {
    table,
    write: async (session, { rows }, provenance) => {
      const changes = { inserted: 0, updated: 0, deleted: 0 };
      for (const row of rows) {
        const [last] = await session.all(latest);
        if (last?.['hash'] === row.hash) continue;
        const after = last === undefined ? null : Number(last['observed_us']) / 1000;
        const observed = { ...toColumns(row, provenance), [OBSERVED_AT]: later(provenance.syncedAt, after) };
        await session.run(insertOf(table.name, columns), [stage([observed])]);
        changes.inserted += 1;
      }
      return changes;
    },
  };
}

function detailWriter(table: ResourceTable): TableWriter {
  const own = table.columns.filter((column) => !table.key.includes(column.name));
  const keys = table.columns.filter((column) => table.key.includes(column.name));
  const columns = [...keys, ...own, ...detailColumns];
  const lookup = lookupOf(table, '_detail_hash');
  const update = `${updateOf(table, columns)}${updateFrom(table, columns)}`;
  const children = childWriters(table);
  return {
    table,
    write: async (session, { rows }, provenance) => {
      const found = await lookup(session, rows);
      const changed = rows.filter((row, place) => found.has(place) && found.get(place)?.hash !== row.hash);
      if (changed.length > 0) {
        const mapped = changed.map((row) => ({
          ...row.values,
          _detail_synced_at: provenance.syncedAt,
          _detail_hash: row.hash,
          _detail_extra: row.extra,
        }));
        await session.run(update, [stage(mapped)]);
        await children.remove(session, changed);
        await children.insert(session, changed, provenance);
      }
      return { inserted: 0, updated: changed.length, deleted: 0 };
    },
  };
}

// The stored hash of each given row that is there, by the row's place in the list.
function lookupOf(table: ResourceTable, hash: string) {
  const keys = table.columns.filter((column) => table.key.includes(column.name));
  const sql = `SELECT s._place AS place, t.${quoted(hash)} AS hash, t."_deleted_at" IS NOT NULL AS deleted
    FROM ${quoted(table.name)} t JOIN ${staged([...keys, placeColumn], '$1')} s ON ${sameKey('t', 's', table.key)}`;
  return async (session: Session, rows: readonly Row[]): Promise<Map<number, Found>> => {
    const result = await session.all(sql, [stage(rows.map((row, place) => ({ ...row.key, _place: place })))]);
    return new Map(
      result.map((row) => [
        Number(row['place']),
        { hash: row['hash'] as string | null, deleted: row['deleted'] === true },
      ]),
    );
  };
}

function insertOf(table: string, columns: readonly Column[]): string {
  const names = columns.map((column) => quoted(column.name)).join(', ');
  return `INSERT INTO ${quoted(table)} (${names}) SELECT ${names} FROM ${staged(columns, '$1')}`;
}

function updateOf(table: ResourceTable, columns: readonly Column[]): string {
  const set = columns
    .filter((column) => !table.key.includes(column.name))
    .map((column) => `${quoted(column.name)} = s.${quoted(column.name)}`);
  return `UPDATE ${quoted(table.name)} AS t SET ${set.join(', ')}`;
}

function updateFrom(table: ResourceTable, columns: readonly Column[]): string {
  return ` FROM ${staged(columns, '$1')} s WHERE ${sameKey('t', 's', table.key)}`;
}

function childWriters(table: ResourceTable) {
  const statements = table.children.map((child) => {
    const keys = child.columns.filter((column) => child.parentKey.includes(column.name));
    return {
      child,
      insert: insertOf(child.name, [...child.columns, ...engineColumns]),
      remove: `DELETE FROM ${quoted(child.name)} t USING ${staged(keys, '$1')} s WHERE ${sameKey('t', 's', child.parentKey)}`,
    };
  });
  return {
    remove: async (session: Session, rows: readonly Row[]): Promise<void> => {
      for (const { child, remove } of statements) {
        await session.run(remove, [stage(rows.map((row) => parentKeyOf(table, child, row.key)))]);
      }
    },
    insert: async (session: Session, rows: readonly Row[], provenance: Provenance): Promise<void> => {
      for (const [index, { insert }] of statements.entries()) {
        const entries = rows.flatMap((row) =>
          (row.children[index]?.rows ?? []).map(({ values, extra }) => ({
            ...values,
            ...engineValues(row.hash, extra, provenance),
          })),
        );
        if (entries.length > 0) await session.run(insert, [stage(entries)]);
      }
    },
  };
}

/** The key of a parent row under the names it has in a child table. */
export function parentKeyOf(table: ResourceTable, child: ChildTable, key: Values): Values {
  const renamed: Record<string, unknown> = {};
  for (const { name, source } of child.columns) {
    if (source.from === 'parent' && table.key.includes(source.column) && child.parentKey.includes(name)) {
      renamed[name] = key[source.column];
    }
  }
  return renamed;
}

function toColumns(row: Row, provenance: Provenance): Values {
  return { ...row.values, ...engineValues(row.hash, row.extra, provenance) };
}

function engineValues(hash: string, extra: unknown, { runId, syncedAt }: Provenance): Values {
  return { _synced_at: syncedAt, _run_id: runId, _row_hash: hash, _deleted_at: null, _extra: extra };
}

// A series has one row a moment, whatever upstream's clock does.
function later(syncedAt: string, afterMs: number | null): string {
  const at = Date.parse(`${syncedAt.replace(' ', 'T')}Z`);
  if (afterMs === null || at > afterMs) return syncedAt;
  return new Date(Math.floor(afterMs) + 1).toISOString().replace('T', ' ').replace('Z', '000');
}
