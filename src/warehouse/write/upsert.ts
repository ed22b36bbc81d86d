import type { TableLoss } from '../../contract/plausibility/mass-deletion.ts';
import type { Row, TableRows, Values } from '../../contract/rows.ts';
import {
  DETAIL_ITEM,
  detailColumns,
  engineColumnsOf,
  OBSERVED_AT,
  type ResourceTable,
  WHOLE_ITEM,
} from '../../contract/tables.ts';
import type { Session } from '../database.ts';
import { quoted, sqlTypes } from '../schema.ts';
import { createChildWriter } from './child-rows.ts';
import type { HistoryWriter, PageRows } from './history.ts';
import { createKeyFilter, type KeyFilter } from './key-filter.ts';
import { stage, staged, wellFormed } from './staging.ts';
import { insertSql, pickColumns, type Statements, statementsOf } from './statements.ts';

/** How the rows of a resource are written to its table. */
export type WriteMode =
  /** Inserts new rows, replaces changed ones and revives deleted ones that upstream lists again. */
  | 'rows'
  /** Appends a row if it differs from the latest one. */
  | 'series'
  /** Adds columns to rows that a list has written. */
  | 'detail';

/** The run and the time that rows come from. */
export interface Provenance {
  readonly runId: string;
  /** Upstream's time, UTC, as `YYYY-MM-DD HH:MM:SS.ffffff`. */
  readonly syncedAt: string;
}

/** Row counts of a write. */
export interface Changes {
  inserted: number;
  updated: number;
  deleted: number;
  /** Rows that got their detail for the first time; not counted as inserted or updated. */
  completed: number;
}

/** Writes the rows of one table; its SQL is built once. */
export interface TableWriter {
  /** Calls `checkLoss` with the nested rows that stored rows would lose; it throws to reject the write. */
  write(
    session: Session,
    rows: TableRows,
    fixed: Values,
    provenance: Provenance,
    checkLoss?: (loss: TableLoss) => void,
  ): Promise<Changes>;
}

/** What a writer has to know about the other writers of its table. */
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

const PROVENANCE = ['_synced_at', '_run_id'];

function rowsWriter(table: ResourceTable, { hasDetails, isOnly }: WriterOptions, history: HistoryWriter): TableWriter {
  const columns = [...table.columns, ...engineColumnsOf(table)];
  const shared = [...table.fixed, ...PROVENANCE];
  const statements = statementsOf(columns, table.key, shared);
  const insert = insertSql(table.name, columns, statements);
  const lookup = lookupOf(table, '_row_hash', history.rowTime);
  const assigned = columns.filter((column) => !table.key.includes(column.name));
  const update = updateSql(
    table,
    statements,
    // A revived row lost the children of its detail. Without a hash the next detail is written again.
    [
      ...assigned.map((column) => assignment(column.name, statements.value(column))),
      ...(hasDetails ? ['"_detail_hash" = NULL'] : []),
    ],
  );
  const children = createChildWriter(table, shared);
  const filter = createNewRowFilter(table, isOnly);
  const staging = (rows: readonly Row[]): string[] =>
    stage(rows.map((row) => pickColumns({ ...row.values, ...engineValues(row) }, statements.staged)));
  return {
    write: async (session, { rows }, fixed, provenance, checkLoss) => {
      const values = sharedValues(fixed, provenance);
      const found = (await filter.allNew(session, rows))
        ? new Map<number, Found>()
        : await lookup(session, rows, values);
      const fresh = rows.filter((_row, place) => !found.has(place));
      const changed = rows.filter((row, place) => {
        const old = found.get(place);
        return old !== undefined && (old.deleted || old.hash !== row.hash);
      });
      const replaced = pageRows(changed, rows, found, history.rowTime);
      if (fresh.length > 0) await session.run(insert, statements.parameters(staging(fresh), values));
      if (changed.length > 0) {
        if (checkLoss !== undefined) {
          const stored = rows.filter((_row, place) => found.get(place)?.deleted === false);
          for (const loss of await children.countLosses(session, stored, values)) checkLoss(loss);
        }
        await history.keep(session, replaced);
        await session.run(update, statements.parameters(staging(changed), values));
        await children.remove(session, changed, values);
      }
      await children.insert(session, [...fresh, ...changed], values);
      await history.begin(session, pageRows(fresh, rows, found, history.rowTime), provenance.syncedAt);
      await history.record(session, replaced, provenance.syncedAt);
      return { ...nothing(), inserted: fresh.length, updated: changed.length };
    },
  };
}

function seriesWriter(table: ResourceTable): TableWriter {
  const columns = [...table.columns, ...engineColumnsOf(table)];
  const statements = statementsOf(columns, table.key, [...table.fixed, ...PROVENANCE]);
  const insert = insertSql(table.name, columns, statements);
  const scope = table.fixed.map((name, index) => {
    const kind = table.columns.find((column) => column.name === name)?.kind ?? 'text';
    return `AND ${quoted(name)} IS NOT DISTINCT FROM CAST($${index + 1} AS ${sqlTypes[kind]})`;
  });
  const latest = `SELECT "_row_hash" AS hash, epoch_ms("${OBSERVED_AT}") AS observed_ms FROM ${quoted(table.name)}
    WHERE true ${scope.join(' ')} ORDER BY "${OBSERVED_AT}" DESC LIMIT 1`;
  return {
    write: async (session, { rows }, fixed, provenance) => {
      const changes = nothing();
      const scoped = table.fixed.map((name) => (fixed[name] ?? null) as string | null);
      for (const row of rows) {
        const [last] = await session.all(latest, scoped);
        if (last?.['hash'] === row.hash) continue;
        const observed = laterThan(provenance.syncedAt, last === undefined ? null : Number(last['observed_ms']));
        const values = { ...row.values, [OBSERVED_AT]: observed, ...engineValues(row) };
        const staging = stage([pickColumns(values, statements.staged)]);
        await session.run(insert, statements.parameters(staging, sharedValues(fixed, provenance)));
        changes.inserted += 1;
      }
      return changes;
    },
  };
}

function detailWriter(table: ResourceTable, history: HistoryWriter): TableWriter {
  const columns = [...table.columns, ...detailColumns];
  const shared = [...table.fixed, '_detail_synced_at'];
  const statements = statementsOf(columns, table.key, shared);
  const lookup = lookupOf(table, '_detail_hash', history.rowTime);
  const assigned = columns.filter((column) => !table.key.includes(column.name));
  const update = updateSql(
    table,
    statements,
    assigned.map((column) => assignment(column.name, statements.value(column))),
  );
  const children = createChildWriter(table, [...table.fixed, ...PROVENANCE]);
  return {
    write: async (session, { rows }, fixed, provenance) => {
      const values = { ...sharedValues(fixed, provenance), _detail_synced_at: provenance.syncedAt };
      const found = await lookup(session, rows, values);
      const changed = rows.filter((row, place) => found.has(place) && found.get(place)?.hash !== row.hash);
      const known = rows.filter((row, place) => ![null, undefined, row.hash].includes(found.get(place)?.hash));
      if (changed.length === 0) return nothing();
      const staging = changed.map((row) =>
        pickColumns(
          {
            ...row.values,
            _detail_hash: row.hash,
            _detail_extra: row.extra,
            [DETAIL_ITEM]: row.item === null ? null : wellFormed(row.item),
          },
          statements.staged,
        ),
      );
      const replaced = pageRows(known, rows, found, history.rowTime);
      // A first detail also overwrites the last values of a deleted row.
      const overwritten = changed.filter(
        (row) => known.includes(row) || found.get(rows.indexOf(row))?.deleted === true,
      );
      await history.keep(session, pageRows(overwritten, rows, found, history.rowTime));
      await session.run(update, statements.parameters(stage(staging), values));
      await children.remove(session, changed, values);
      await children.insert(session, changed, values);
      // The first detail completes a row that a list wrote; it does not start a new version.
      const completed = changed.filter((row) => !known.includes(row));
      await history.complete(session, pageRows(completed, rows, found, history.rowTime));
      await history.record(session, replaced, provenance.syncedAt);
      return { ...nothing(), updated: known.length, completed: changed.length - known.length };
    },
  };
}

// If the declaration has a field with the item, the field's column is one of the table's own columns.
function engineValues({ hash, extra, item }: Row): Record<string, unknown> {
  return { _row_hash: hash, _extra: extra, ...(item === null ? {} : { [WHOLE_ITEM]: wellFormed(item) }) };
}

interface Found {
  readonly hash: string | null;
  readonly deleted: boolean;
  readonly time: string | null;
}

// Looks up the stored hash and time of each given row that exists, keyed by the row's index in `rows`.
function lookupOf(table: ResourceTable, hash: string, rowTime: string | undefined) {
  const keys = table.columns.filter((column) => table.key.includes(column.name));
  const statements = statementsOf(keys, table.key, table.fixed);
  const place = { name: '_place', kind: 'integer' } as const;
  const sql = `SELECT s._place AS place, t.${quoted(hash)} AS hash, t."_deleted_at" IS NOT NULL AS deleted,
      ${rowTime === undefined ? 'NULL' : `CAST(t.${quoted(rowTime)} AS VARCHAR)`} AS time
    FROM ${quoted(table.name)} t JOIN ${staged([...statements.staged, place], '$1')} s ON ${statements.matches}`;
  return async (session: Session, rows: readonly Row[], values: Values): Promise<Map<number, Found>> => {
    if (rows.length === 0) return new Map();
    const staging = rows.map((row, index) => ({ ...pickColumns(row.key, statements.staged), _place: index }));
    const result = await session.all(sql, statements.parameters(stage(staging), values));
    return new Map(
      result.map((row) => [
        Number(row['place']),
        { hash: row['hash'] as string | null, deleted: row['deleted'] === true, time: row['time'] as string | null },
      ]),
    );
  };
}

// During the first fill of an empty table the filter shows that rows are new without a query. A page whose transaction
// fails leaves its keys in the filter, which only costs a query later.
function createNewRowFilter({ name }: ResourceTable, isOnly: boolean) {
  let filter: KeyFilter | null | undefined = isOnly ? undefined : null;
  return {
    allNew: async (session: Session, rows: readonly Row[]): Promise<boolean> => {
      if (filter === undefined) {
        const [any] = await session.all(`SELECT 1 FROM ${quoted(name)} LIMIT 1`);
        filter = any === undefined ? createKeyFilter() : null;
      }
      if (filter === null) return false;
      let allNew = true;
      for (const { key } of rows) if (filter.add(JSON.stringify(key))) allNew = false;
      return allNew;
    },
  };
}

function updateSql(table: ResourceTable, statements: Statements, assignments: readonly string[]): string {
  return `UPDATE ${quoted(table.name)} AS t SET ${assignments.join(', ')}
    FROM ${statements.rows} s WHERE ${statements.matches}`;
}

function assignment(column: string, value: string): string {
  return `${quoted(column)} = ${value}`;
}

function sharedValues(fixed: Values, { runId, syncedAt }: Provenance): Values {
  return { ...fixed, _synced_at: syncedAt, _run_id: runId };
}

// Some rows of a page, with the range of their stored and new times. Times of one form are ordered as text.
function pageRows(
  some: readonly Row[],
  page: readonly Row[],
  found: ReadonlyMap<number, Found>,
  rowTime: string | undefined,
): PageRows {
  const keys = some.map((row) => row.key);
  if (rowTime === undefined) return { keys, times: [null, null] };
  const chosen = new Set(some);
  const times = page
    .flatMap((row, place) => (chosen.has(row) ? [found.get(place)?.time, row.values[rowTime]] : []))
    .filter((time) => typeof time === 'string')
    .sort();
  return { keys, times: [times[0] ?? null, times.at(-1) ?? null] };
}

function nothing(): Changes {
  return { inserted: 0, updated: 0, deleted: 0, completed: 0 };
}

// Returns a time after `afterMs`: a series has one row per moment, even if upstream's clock goes back.
function laterThan(syncedAt: string, afterMs: number | null): string {
  const at = Date.parse(`${syncedAt.replace(' ', 'T')}Z`);
  if (afterMs === null || at > afterMs) return syncedAt;
  return new Date(afterMs + 1).toISOString().replace('T', ' ').replace('Z', '000');
}
