import { createHash } from 'node:crypto';
import { SightlineError } from '../base/errors.ts';
import { type Catalogue, detailsOf, type Resource } from '../contract/catalogue.ts';
import type { Attempt } from '../contract/request.ts';
import type { Rejected, TableRows, Values } from '../contract/rows.ts';
import { type DeletionGuard, daysToKeep, isMassDeletion, type TableLoss } from '../plausibility/mass-deletion.ts';
import { ownKeyOf } from './conditions.ts';
import { type Database, type DatabaseOptions, openDatabase, type Session } from './database.ts';
import { type DriftNotes, writeDrift } from './ledger/drift-notes.ts';
import { forgetHeldDeletion, writeHeldDeletion } from './ledger/held-deletions.ts';
import {
  clearCheckpoints,
  forgetCoverage,
  forgetDays,
  type QuarantinedItem,
  quarantinedText,
  readDataVersion,
  type SeenRows,
  type SliceRef,
  sumCheckpoints,
  toTimestampText,
  writeCheckpoint,
  writeCoverage,
  writeQuarantine,
  writeRequests,
} from './ledger/ledger.ts';
import { type RawLocation, writeRawPage } from './ledger/raw-pages.ts';
import { beginRun, endRun, type RunRef, type RunTotals } from './ledger/runs.ts';
import { writeShapes } from './ledger/shapes.ts';
import { migrate } from './migrate.ts';
import { createHistoryWriter, type HistoryWriter, noHistory } from './write/history.ts';
import { removeImplausible } from './write/implausible-rows.ts';
import { writeListing } from './write/listings.ts';
import { countByDay, createTombstoneWriter, type TombstoneWriter, type UnseenRow } from './write/tombstones.ts';
import { type Changes, createTableWriter, type TableWriter, type WriteMode } from './write/upsert.ts';

/** A page to commit in one transaction: rows, child rows, checkpoint, ledger and data version. */
export interface PageCommit {
  readonly run: RunRef;
  readonly chain: SliceRef;
  readonly tables: readonly TableRows[];
  /** Upstream's time of the page, epoch milliseconds. */
  readonly date: number;
  /** Page number within the slice, counted from 1. */
  readonly page: number;
  /** Cursor of the next page; null for the last page of the slice. */
  readonly next: string | null;
  /** Whether the slice ends with the first page that changes nothing, because later pages do not change. */
  readonly untilKnown?: boolean;
  /**
   * Whether an item of this page or of an earlier page of the slice was rejected because of its times. The slice then
   * counts as not read: it adds no coverage, and no row is deleted because the slice lacks it.
   */
  readonly doubtful?: boolean;
  /** Limit of the deletions that the last page implies; null deletes without a limit. */
  readonly guard: DeletionGuard | null;
  readonly requests: readonly Attempt[];
  /** Position of the page in the archive of raw pages. */
  readonly raw?: RawLocation | null;
  readonly drift?: DriftNotes | null;
}

/** Changes of a committed page, by table. */
export interface PageResult {
  readonly tables: ReadonlyMap<string, Changes & { read: number }>;
  readonly quarantined: number;
  /** Reason why the end of the slice deleted no rows; null if the deletions were checked. */
  readonly deletionsSkipped: string | null;
  /** Deletions that were held back; their rows stay live. */
  readonly held: readonly HeldRows[];
  /** Whether the slice ended with this page. */
  readonly ended: boolean;
}

/** Rows of a table that the slice no longer lists but that stay live. */
export interface HeldRows extends TableLoss {
  /** Number of rows by day; empty if the table has no days. */
  readonly days: ReadonlyMap<string, number>;
  readonly keys: readonly Values[];
}

/** A page was not committed because it lacks most nested rows of its stored rows. */
export class LossError extends SightlineError {}

/** A workspace's warehouse, opened by the process that owns it. */
export interface Warehouse {
  readonly database: Database;
  beginRun(run: { runId: string; options: string; now: number }): Promise<RunRef & { continues: boolean }>;
  endRun(run: RunRef, totals: RunTotals, now: number): Promise<void>;
  /**
   * Writes a page in one transaction.
   * @throws LossError if the page lacks most nested rows of its stored rows and `guard` is set
   */
  writePage(page: PageCommit): Promise<PageResult>;
  /** Records requests that returned no page. */
  noteRequests(run: RunRef, chain: Pick<SliceRef, 'id' | 'resource'>, requests: readonly Attempt[]): Promise<void>;
  /** Stores the forms of upstream's responses that the specification leaves open. */
  noteForms(resource: string, forms: ReadonlyMap<string, string>): Promise<void>;
  /** Deletes the checkpoints of a slice, so that it is read from the first page. */
  restartSlice(sliceId: string): Promise<void>;
  /** Sets the tombstones of rows that upstream reports as not found; returns their number. */
  markDeleted(resource: Resource, keys: readonly Values[], date: number): Promise<number>;
  /**
   * Removes the effects of wrong dates and clocks, as of the run's time; returns the number of rows marked as deleted.
   */
  removeImplausible(now: number): Promise<number>;
  close(): Promise<void>;
}

/**
 * Opens the warehouse and migrates its tables to the catalogue.
 * @throws `warehouse_locked`, `warehouse_newer`, `warehouse_invalid`
 */
export async function openWarehouse(path: string, catalogue: Catalogue, options: DatabaseOptions): Promise<Warehouse> {
  const database = await openDatabase(path, options);
  let dataVersion: number;
  try {
    await migrate(database, catalogue);
    dataVersion = await readDataVersion(database);
  } catch (thrown) {
    await database.close();
    throw thrown;
  }
  const historyOf = (table: string): HistoryWriter => {
    const history = catalogue.histories.find(({ of }) => of === table);
    return history === undefined ? noHistory : createHistoryWriter(history);
  };
  const writers = new Map<string, TableWriter>();
  const tombstoneWriters = new Map<string, TombstoneWriter>();
  for (const resource of catalogue.resources) {
    const details = detailsOf(catalogue, resource.name).flatMap((detail) => detail.derived);
    for (const table of resource.derived) {
      const name = `${resource.name}/${table.name}`;
      const own = details.filter((detail) => detail.name === table.name);
      const history = historyOf(table.name);
      writers.set(name, createTableWriter(table, writeModeOf(resource), own.length > 0, history));
      tombstoneWriters.set(name, createTombstoneWriter(table, [table, ...own], history));
    }
  }
  const writerOf = (chain: SliceRef, rows: TableRows) =>
    writers.get(`${chain.resource}/${rows.table.name}`) as TableWriter;
  const tombstonesOf = (resource: string, table: string) =>
    tombstoneWriters.get(`${resource}/${table}`) as TombstoneWriter;

  const commit = async (session: Session, page: PageCommit): Promise<PageResult> => {
    const { run, chain, date } = page;
    const syncedAt = `${toTimestampText(date)}000`;
    const tables = new Map<string, Changes & { read: number }>();
    let quarantined = 0;
    for (const rows of page.tables) {
      const provenance = { runId: run.runId, syncedAt };
      const check =
        page.guard === null ? undefined : (loss: TableLoss) => rejectLoss(catalogue.get(chain.resource), loss);
      const changes = await writerOf(chain, rows).write(session, rows, chain.fixed, provenance, check);
      tables.set(rows.table.name, { ...changes, read: rows.rows.length });
      const items = rows.rejected.map((item) => quarantineRow(chain, item));
      await writeQuarantine(session, run.runId, chain, items, date);
      quarantined += rows.rejectedCount;
    }
    const { raw = null, drift = null } = page;
    if (raw !== null) await writeRawPage(session, run.runId, chain, { number: page.page, at: date, place: raw });
    if (drift !== null) await writeDrift(session, run.runId, drift, date);
    const seen = page.tables.map(({ table, seen: keys, unidentified }) => ({ table: table.name, keys, unidentified }));
    let deletionsSkipped: string | null = null;
    let held: readonly HeldRows[] = [];
    // Other items of the page may be wrong too, so read all days of the window again, including days that other slices
    // have read.
    if (page.doubtful === true) {
      await forgetCoverage(session, chain.id);
      if (catalogue.get(chain.resource).change.kind === 'window') await forgetDays(session, chain);
    }
    const isKnown = page.untilKnown === true && isUnchanged(tables);
    if (page.next === null || isKnown) {
      ({ skipped: deletionsSkipped, held } = await closeSlice(session, page, seen, tables, syncedAt));
      if (await writeListings(session, page)) dataVersion += 1;
    } else if (page.doubtful !== true) {
      // Without a checkpoint the slice resumes at the first doubtful page.
      await writeCheckpoint(session, run.passId, chain, { number: page.page, next: page.next, seen, at: date });
    }
    const sums = { rows: 0, inserted: 0, updated: 0, deleted: 0 };
    let completed = 0;
    for (const changes of tables.values()) {
      sums.rows += changes.read;
      sums.inserted += changes.inserted;
      sums.updated += changes.updated;
      sums.deleted += changes.deleted;
      completed += changes.completed;
    }
    if (sums.inserted + sums.updated + sums.deleted + completed > 0) dataVersion += 1;
    await writeRequests(session, run.runId, chain, page.requests, { ...sums, dataVersion });
    return { tables, quarantined, deletionsSkipped, held, ended: page.next === null || isKnown };
  };

  const closeSlice = async (
    session: Session,
    { run, chain, date, page, next, guard, doubtful = false }: PageCommit,
    seen: readonly SeenRows[],
    tables: Map<string, Changes & { read: number }>,
    syncedAt: string,
  ): Promise<{ skipped: string | null; held: readonly HeldRows[] }> => {
    const noCheckpoints = { unidentified: 0, rows: 0, since: null };
    const earlier = page === 1 ? noCheckpoints : await sumCheckpoints(session, chain.id);
    const unidentified = seen.reduce((sum, rows) => sum + rows.unidentified, earlier.unidentified);
    const skipped =
      unidentified > 0
        ? 'items without a readable key, null instead of a list, or a full page without a next cursor'
        : null;
    const resource = catalogue.get(chain.resource);
    const held: HeldRows[] = [];
    let deleted = 0;
    // A slice that ended early did not list the remaining rows.
    if (next === null && impliesDeletions(resource) && skipped === null) {
      const extent = { fixed: chain.fixed, from: chain.from, to: chain.to };
      await forgetHeldDeletion(session, chain.id);
      for (const { table, keys } of seen) {
        const tombstones = tombstonesOf(chain.resource, table);
        // A list of a single page is identified by its keys, so wrong times of its items do not matter.
        if (doubtful && (page > 1 || tombstones.extent.kind === 'time')) continue;
        const unseen = await tombstones.findUnseen(session, chain.id, keys, extent);
        if (unseen.length === 0) continue;
        const losses = guard === null ? new Map() : await tombstones.countLosses(session, unseen, extent);
        const days = guard === null ? new Set<string>() : daysToKeep(resource, guard, losses);
        const isHeld = ({ day }: UnseenRow): boolean => days.has(day);
        const gone = unseen.filter((row) => !isHeld(row)).map(({ key }) => key);
        const marked = await tombstones.mark(session, gone, syncedAt);
        deleted += marked;
        (tables.get(table) as Changes).deleted += marked;
        const kept = unseen.filter(isHeld);
        if (kept.length === 0) continue;
        const before = [...losses.values()].reduce((sum, loss) => sum + loss.before, 0);
        const loss = { table, before, lost: kept.length };
        held.push({ ...loss, days: countByDay(kept), keys: kept.map(({ key }) => key) });
        if (guard?.counts === null) await writeHeldDeletion(session, run.runId, chain, loss, syncedAt);
      }
    }
    if (page > 1) await clearCheckpoints(session, chain.id);
    const rows = seen.reduce((sum, { keys }) => sum + keys.length, earlier.rows);
    // A settled list is read up to the first page without changes, which can hide missing rows on later pages. After a
    // deletion the next read covers all pages.
    const covered = deleted + held.length > 0 ? { ...chain, state: null } : chain;
    if (!doubtful) await writeCoverage(session, run, covered, rows, earlier.since ?? date);
    return { skipped, held };
  };

  // For a list without a declared order, store upstream's order: a new first item changes no other row.
  const writeListings = async (session: Session, { chain, tables }: PageCommit): Promise<boolean> => {
    const resource = catalogue.get(chain.resource);
    if (resource.change.kind !== 'set' || resource.order !== undefined) return false;
    let changed = false;
    for (const { table, seen } of tables) {
      const key = ownKeyOf(table);
      const keys = seen.map((values) => String(values[key]));
      changed = (await writeListing(session, chain, table.name, keys)) || changed;
    }
    return changed;
  };

  return {
    database,
    beginRun: (run) => database.transaction((session) => beginRun(session, run)),
    endRun: (run, totals, now) =>
      database.transaction((session) => endRun(session, run, { ...totals, dataVersion }, now)),
    writePage: (page) => database.transaction((session) => commit(session, page)),
    noteRequests: (run, chain, requests) =>
      database.transaction((session) => writeRequests(session, run.runId, chain, requests, null)),
    noteForms: (resource, forms) => database.transaction((session) => writeShapes(session, resource, forms)),
    restartSlice: (sliceId) => database.transaction((session) => clearCheckpoints(session, sliceId)),
    markDeleted: (resource, keys, date) =>
      database.transaction(async (session) => {
        let marked = 0;
        for (const table of resource.derived) {
          marked += await tombstonesOf(resource.name, table.name).mark(session, keys, toTimestampText(date));
        }
        if (marked > 0) dataVersion += 1;
        return marked;
      }),
    removeImplausible: (now) =>
      database.transaction(async (session) => {
        const marked = await removeImplausible(session, catalogue, tombstonesOf, now);
        if (marked > 0) dataVersion += 1;
        return marked;
      }),
    close: () => database.close(),
  };
}

function writeModeOf(resource: Resource): WriteMode {
  if (resource.change.kind === 'value') return 'series';
  return resource.change.kind === 'detail' ? 'detail' : 'rows';
}

// A series keeps earlier rows, and a detail is a part of a list's row: neither has rows to delete.
function impliesDeletions(resource: Resource): boolean {
  return resource.change.kind !== 'value' && resource.change.kind !== 'detail';
}

// Rejects a page that lacks most nested rows, because upstream may have dropped the field and not the items.
function rejectLoss(resource: Resource, loss: TableLoss): void {
  if (!isMassDeletion(resource, loss)) return;
  const { table, before, lost } = loss;
  const message =
    `the page lacks ${lost} of ${before} stored rows of ${table} and was not stored. ` +
    'If upstream deleted them, run `sightline sync --accept-deletions`';
  throw new LossError('bad_answer', message);
}

function isUnchanged(tables: ReadonlyMap<string, Changes & { read: number }>): boolean {
  const all = [...tables.values()];
  return all.some(({ read }) => read > 0) && all.every(({ inserted, updated }) => inserted + updated === 0);
}

function quarantineRow(chain: SliceRef, { table, reason, item }: Rejected): QuarantinedItem {
  const json = quarantinedText(item);
  const id = createHash('sha256')
    .update(JSON.stringify([chain.resource, table, chain.fixed, reason, json]))
    .digest('hex')
    .slice(0, 32);
  return { id, table, reason, json };
}
