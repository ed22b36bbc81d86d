import type { TableLoss } from '../../contract/plausibility/mass-deletion.ts';
import type { Row } from '../../contract/rows.ts';
import {
  DETAIL_ITEM,
  detailColumns,
  engineColumnsOf,
  OBSERVED_AT,
  type ResourceTable,
  WHOLE_ITEM,
} from '../../contract/tables.ts';
import type { Session } from '../database.ts';
import { toTimestampText } from '../ledger/ledger.ts';
import { quoted, sqlTypes } from '../schema.ts';
import { type ChildWriter, createChildWriters, type ParentRow, type Provenance } from './child-rows.ts';
import type { HistoryWriter, PageRows } from './history.ts';
import { createKeyFilter, type KeyFilter } from './key-filter.ts';
import { stage, staged, wellFormed } from './staging.ts';
import { insertSql, pickColumns, statementsOf, updateSql } from './statements.ts';

/** How the rows of a resource are written to its table. */
export type WriteMode =
  /** Inserts new rows, replaces changed ones and revives deleted ones that upstream lists again. */
  | 'rows'
  /** Appends a row if it differs from the latest one. */
  | 'series'
  /** Adds columns to rows that a list has written. */
  | 'detail';

/** Row counts of a page's write to a table. */
export interface Changes {
  /** Rows of the page. */
  read: number;
  inserted: number;
  updated: number;
  deleted: number;
  /** Rows that got their detail for the first time; not counted as inserted or updated. */
  completed: number;
}

/** The rows of a page for one table. */
export interface TablePage {
  readonly rows: readonly Row[];
  readonly provenance: Provenance;
  /** Counted by the writer. */
  readonly changes: Changes;
  /** Called with the nested rows that stored rows would lose; throws to reject the write. */
  readonly checkLoss?: (loss: TableLoss) => void;
}

/** Writes the rows of one table; its SQL is built once. */
export interface TableWriter {
  /** Writes the rows of pages that have no row in common. */
  write(session: Session, pages: readonly TablePage[]): Promise<void>;
}

/** Properties of the other writers of a table. */
export interface WriterOptions {
  /** Whether details add columns to the rows. */
  readonly hasDetails: boolean;
  /** Whether no other writer adds rows to the table. */
  readonly isOnly: boolean;
}

/** Creates the writer of a table. Writing the same rows again changes nothing. */
export function createTableWriter(
  table: ResourceTable,
  mode: WriteMode,
  options: WriterOptions,
  history: HistoryWriter,
): TableWriter {
  switch (mode) {
    case 'rows':
      return rowsWriter(table, options, history);
    case 'series':
      return seriesWriter(table);
    case 'detail':
      return detailWriter(table, history);
  }
}

function rowsWriter(table: ResourceTable, { hasDetails, isOnly }: WriterOptions, history: HistoryWriter): TableWriter {
  const columns = [...table.columns, ...engineColumnsOf(table)];
  const statements = statementsOf(columns, table.key);
  const insert = insertSql(table.name, columns, statements);
  const lookup = lookupOf(table, '_row_hash', history.rowTime);
  // A revived row lost the children of its detail. Without a hash the next detail is written again.
  const update = updateSql(table, columns, statements, hasDetails ? ['"_detail_hash" = NULL'] : []);
  const children = createChildWriters(table);
  const filter = createNewRowFilter(table, isOnly);
  const staging = (items: readonly PageRow[]): string[] =>
    stage(items.map((item) => pickColumns({ ...item.row.values, ...engineValues(item) }, statements.staged)));
  return {
    write: async (session, pages) => {
      const items = itemsOf(pages);
      if (!(await filter.allNew(session, items))) await lookup(session, items);
      const fresh = items.filter(({ found }) => found === null);
      const changed = items.filter(({ row, found }) => found !== null && (found.deleted || found.hash !== row.hash));
      for (const { page } of fresh) page.changes.inserted += 1;
      for (const { page } of changed) page.changes.updated += 1;
      if (fresh.length > 0) await session.run(insert, [staging(fresh)]);
      if (changed.length > 0) {
        await checkLosses(session, children, changed, items);
        await history.keep(session, pageRows(changed, history.rowTime));
        await session.run(update, [staging(changed)]);
        for (const child of children) await child.remove(session, changed);
      }
      for (const child of children) await child.insert(session, [...fresh, ...changed]);
      await history.begin(session, pageRows(fresh, history.rowTime), timesOf(pages));
      await record(session, history, changed);
    },
  };
}

function seriesWriter(table: ResourceTable): TableWriter {
  const columns = [...table.columns, ...engineColumnsOf(table)];
  const statements = statementsOf(columns, table.key);
  const insert = insertSql(table.name, columns, statements);
  const scope = table.fixed.map((name, index) => {
    const kind = table.columns.find((column) => column.name === name)?.kind ?? 'text';
    return `AND ${quoted(name)} IS NOT DISTINCT FROM CAST($${index + 1} AS ${sqlTypes[kind]})`;
  });
  const latest = `SELECT "_row_hash" AS hash, epoch_ms("${OBSERVED_AT}") AS observed_ms FROM ${quoted(table.name)}
    WHERE true ${scope.join(' ')} ORDER BY "${OBSERVED_AT}" DESC LIMIT 1`;
  return {
    write: async (session, pages) => {
      for (const item of itemsOf(pages)) {
        const { provenance, changes } = item.page;
        const { values, hash } = item.row;
        const scoped = table.fixed.map((name) => (values[name] ?? null) as string | null);
        const [last] = await session.all(latest, scoped);
        if (last?.['hash'] === hash) continue;
        const observed = laterThan(provenance.syncedAt, last === undefined ? null : Number(last['observed_ms']));
        const written = { ...values, [OBSERVED_AT]: observed, ...engineValues(item) };
        await session.run(insert, [stage([pickColumns(written, statements.staged)])]);
        changes.inserted += 1;
      }
    },
  };
}

function detailWriter(table: ResourceTable, history: HistoryWriter): TableWriter {
  const columns = [...table.columns, ...detailColumns];
  const statements = statementsOf(columns, table.key);
  const lookup = lookupOf(table, '_detail_hash', history.rowTime);
  const update = updateSql(table, columns, statements);
  const children = createChildWriters(table);
  const staging = ({ row, page }: PageRow) =>
    pickColumns(
      {
        ...row.values,
        _detail_hash: row.hash,
        _detail_extra: row.extra,
        [DETAIL_ITEM]: row.item === null ? null : wellFormed(row.item),
        _detail_synced_at: page.provenance.syncedAt,
      },
      statements.staged,
    );
  return {
    write: async (session, pages) => {
      const items = itemsOf(pages);
      await lookup(session, items);
      const changed = items.filter(({ row, found }) => found !== null && found.hash !== row.hash);
      const isKnown = ({ found }: PageRow): boolean => found !== null && found.hash !== null;
      const known = changed.filter(isKnown);
      const completed = changed.filter((item) => !isKnown(item));
      for (const { page } of known) page.changes.updated += 1;
      for (const { page } of completed) page.changes.completed += 1;
      if (changed.length === 0) return;
      // A first detail also overwrites the last values of a deleted row.
      const overwritten = changed.filter((item) => isKnown(item) || item.found?.deleted === true);
      await history.keep(session, pageRows(overwritten, history.rowTime));
      await session.run(update, [stage(changed.map(staging))]);
      for (const child of children) await child.remove(session, changed);
      for (const child of children) await child.insert(session, changed);
      // The first detail completes a row that a list wrote; it does not start a new version.
      await history.complete(session, pageRows(completed, history.rowTime));
      await record(session, history, known);
    },
  };
}

// If the declaration has a field with the item, the field's column is one of the table's own columns.
function engineValues({ row: { hash, extra, item }, page }: PageRow): Record<string, unknown> {
  const { runId, syncedAt } = page.provenance;
  const own = { _synced_at: syncedAt, _run_id: runId, _row_hash: hash, _extra: extra };
  return item === null ? own : { ...own, [WHOLE_ITEM]: wellFormed(item) };
}

interface Found {
  readonly hash: string | null;
  readonly deleted: boolean;
  readonly time: string | null;
}

/** A row of a page, and the stored row with the same key. */
interface PageRow extends ParentRow {
  readonly page: TablePage;
  /** Null if there is none. */
  found: Found | null;
}

function itemsOf(pages: readonly TablePage[]): PageRow[] {
  return pages.flatMap((page) => page.rows.map((row) => ({ row, page, found: null })));
}

// Sets `found` of the rows that exist.
function lookupOf(table: ResourceTable, hash: string, rowTime: string | undefined) {
  const statements = statementsOf(
    table.columns.filter((column) => table.key.includes(column.name)),
    table.key,
  );
  const place = { name: '_place', kind: 'integer' } as const;
  const sql = `SELECT s._place AS place, t.${quoted(hash)} AS hash, t."_deleted_at" IS NOT NULL AS deleted,
      ${rowTime === undefined ? 'NULL' : `CAST(t.${quoted(rowTime)} AS VARCHAR)`} AS time
    FROM ${quoted(table.name)} t JOIN ${staged([...statements.staged, place], '$1')} s ON ${statements.matches}`;
  return async (session: Session, items: readonly PageRow[]): Promise<void> => {
    if (items.length === 0) return;
    const keys = items.map(({ row }, index) => ({ ...pickColumns(row.key, statements.staged), _place: index }));
    for (const { place: index, hash: stored, deleted, time } of await session.all(sql, [stage(keys)])) {
      const item = items[Number(index)] as PageRow;
      item.found = { hash: stored as string | null, deleted: deleted === true, time: time as string | null };
    }
  };
}

// During the first fill of an empty table the filter shows that rows are new without a query. A page whose transaction
// fails leaves its keys in the filter, which only costs a query later.
function createNewRowFilter({ name }: ResourceTable, isOnly: boolean) {
  let filter: KeyFilter | null | undefined = isOnly ? undefined : null;
  return {
    allNew: async (session: Session, items: readonly PageRow[]): Promise<boolean> => {
      if (filter === undefined) {
        const [any] = await session.all(`SELECT 1 FROM ${quoted(name)} LIMIT 1`);
        filter = any === undefined ? createKeyFilter() : null;
      }
      if (filter === null) return false;
      let allNew = true;
      for (const { row } of items) if (filter.add(JSON.stringify(row.key))) allNew = false;
      return allNew;
    },
  };
}

function pagesOf(items: readonly PageRow[]): ReadonlySet<TablePage> {
  return new Set(items.map(({ page }) => page));
}

// Checks the nested rows of the stored rows of pages with changed rows.
async function checkLosses(
  session: Session,
  children: readonly ChildWriter[],
  changed: readonly PageRow[],
  items: readonly PageRow[],
): Promise<void> {
  for (const page of pagesOf(changed)) {
    const stored = items.filter((item) => item.page === page && item.found?.deleted === false);
    for (const child of children) page.checkLoss?.(await child.countLoss(session, stored));
  }
}

// Adds versions of the changed rows, valid from the times of their pages.
async function record(session: Session, history: HistoryWriter, changed: readonly PageRow[]): Promise<void> {
  for (const page of pagesOf(changed)) {
    const own = changed.filter((item) => item.page === page);
    await history.record(session, pageRows(own, history.rowTime), page.provenance.syncedAt);
  }
}

// The first and last time of pages.
function timesOf(pages: readonly TablePage[]): [first: string, last: string] {
  const times = pages.map(({ provenance }) => provenance.syncedAt).sort();
  return [times[0] ?? '', times.at(-1) ?? ''];
}

// The keys of some rows, with the range of their stored and new times. Times of one form are ordered as text.
function pageRows(items: readonly PageRow[], rowTime: string | undefined): PageRows {
  const keys = items.map(({ row }) => row.key);
  if (rowTime === undefined) return { keys, times: [null, null] };
  const times = items
    .flatMap(({ row, found }) => [found?.time, row.values[rowTime]])
    .filter((time) => typeof time === 'string')
    .sort();
  return { keys, times: [times[0] ?? null, times.at(-1) ?? null] };
}

// Returns a time after `afterMs`: a series has one row per moment, even if upstream's clock goes back.
function laterThan(syncedAt: string, afterMs: number | null): string {
  const at = Date.parse(`${syncedAt.replace(' ', 'T')}Z`);
  if (afterMs === null || at > afterMs) return syncedAt;
  return `${toTimestampText(afterMs + 1)}000`;
}
