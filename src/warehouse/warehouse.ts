import { createHash } from 'node:crypto';
import { toExactJson } from '../base/json.ts';
import { type Catalogue, detailsOf, type Resource } from '../contract/catalogue.ts';
import type { Implausible } from '../contract/implausible.ts';
import type { Attempt } from '../contract/request.ts';
import type { Rejected, TableRows, Values } from '../contract/rows.ts';
import { ownKeyOf } from './conditions.ts';
import { type Database, type DatabaseOptions, openDatabase, type Session } from './database.ts';
import { createTableReaper, type TableReaper } from './deletion.ts';
import { type DriftNotes, writeDrift } from './drift.ts';
import { createHistoryWriter, type HistoryWriter, noHistory } from './history.ts';
import {
  type ChainRef,
  clearCheckpoints,
  type QuarantinedItem,
  readDataVersion,
  type SeenRows,
  sumCheckpoints,
  toTimestampText,
  writeCheckpoint,
  writeCoverage,
  writeQuarantine,
  writeRequests,
} from './ledger.ts';
import { writeListing } from './listings.ts';
import { migrate } from './migrate.ts';
import { type RawPlace, writeRawPage } from './raw-pages.ts';
import { beginRun, endRun, type RunRef, type RunTotals } from './runs.ts';
import { writeShapes } from './shapes.ts';
import { wellFormed } from './staging.ts';
import { type Changes, createTableWriter, type TableWriter, type WriteMode } from './upsert.ts';

/** A page to be committed as a whole: rows, children, checkpoint, ledger and data version, or nothing. */
export interface PageCommit {
  readonly run: RunRef;
  readonly chain: ChainRef;
  readonly tables: readonly TableRows[];
  /** Upstream's time of the answer, epoch milliseconds. */
  readonly date: number;
  /** Counted from 1 within the chain. */
  readonly page: number;
  /** Cursor of the next page; null closes the chain. */
  readonly next: string | null;
  /** Whether the chain may end with a page that brings nothing new, because what follows does not change. */
  readonly untilKnown?: boolean;
  readonly requests: readonly Attempt[];
  /** The answer itself, for who keeps answers. */
  readonly arrival?: Arrival;
  /** Where the answer is kept, and where it departs from its declaration. */
  readonly notes?: PageNotes;
}

/** An answer as it came. */
export interface Arrival {
  readonly body: unknown;
  readonly bytes: Uint8Array;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** For a detail: the id of the list's row. */
  readonly member: string | null;
}

/** What is written of a page beside its rows. */
export interface PageNotes {
  readonly raw: RawPlace | null;
  readonly drift: DriftNotes | null;
}

/** What a committed page changed, by table. */
export interface PageResult {
  readonly tables: ReadonlyMap<string, Changes & { read: number }>;
  readonly quarantined: number;
  /** Set when the chain closed without looking for deletions, and why. */
  readonly deletionsSkipped: string | null;
  /** Whether the chain ended with this page. */
  readonly ended: boolean;
}

/** A workspace's warehouse, opened by the one process that owns it. */
export interface Warehouse {
  readonly database: Database;
  beginRun(run: { runId: string; options: string; now: number }): Promise<RunRef & { continues: boolean }>;
  endRun(run: RunRef, totals: RunTotals, now: number): Promise<void>;
  commitPage(commit: PageCommit): Promise<PageResult>;
  /** Writes requests that brought no page. */
  noteRequests(run: RunRef, chain: Pick<ChainRef, 'id' | 'resource'>, requests: readonly Attempt[]): Promise<void>;
  /**
   * Reports values that were ignored because they lie outside their bounds. Does nothing unless drift is watched (`openRecords`).
   */
  noteImplausible(run: RunRef, resource: string, implausible: readonly Implausible[], at: number): Promise<void>;
  /** Keeps how upstream's answers look where the specification leaves it open. */
  noteForms(resource: string, forms: ReadonlyMap<string, string>): Promise<void>;
  /** Forgets what a chain has read so far. */
  restartChain(chainId: string): Promise<void>;
  /** Marks rows of a list as deleted, because upstream no longer knows them. */
  markDeleted(resource: Resource, keys: readonly Values[], date: number): Promise<number>;
  close(): Promise<void>;
}

/** Opens the warehouse and brings its tables up to the catalogue. */
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
  const reapers = new Map<string, TableReaper>();
  for (const resource of catalogue.resources) {
    const details = detailsOf(catalogue, resource.name).flatMap((detail) => detail.derived);
    for (const table of resource.derived) {
      const name = `${resource.name}/${table.name}`;
      const own = details.filter((detail) => detail.name === table.name);
      const history = historyOf(table.name);
      writers.set(name, createTableWriter(table, writeModeOf(resource), own.length > 0, history));
      reapers.set(name, createTableReaper(table, [table, ...own], history));
    }
  }
  const writerOf = (chain: ChainRef, rows: TableRows) =>
    writers.get(`${chain.resource}/${rows.table.name}`) as TableWriter;
  const reaperOf = (resource: string, table: string) => reapers.get(`${resource}/${table}`) as TableReaper;

  const commit = async (session: Session, page: PageCommit): Promise<PageResult> => {
    const { run, chain, date } = page;
    const syncedAt = `${toTimestampText(date)}000`;
    const tables = new Map<string, Changes & { read: number }>();
    let quarantined = 0;
    for (const rows of page.tables) {
      const changes = await writerOf(chain, rows).write(session, rows, chain.fixed, { runId: run.runId, syncedAt });
      tables.set(rows.table.name, { ...changes, read: rows.rows.length });
      const items = rows.rejected.map((item) => quarantineRow(chain, item));
      await writeQuarantine(session, run.runId, chain, items, date);
      quarantined += rows.rejectedCount;
    }
    const { raw = null, drift = null } = page.notes ?? {};
    if (raw !== null) await writeRawPage(session, run.runId, chain, { number: page.page, at: date, place: raw });
    if (drift !== null) await writeDrift(session, run.runId, drift, date);
    const seen = page.tables.map(({ table, seen: keys, unidentified }) => ({ table: table.name, keys, unidentified }));
    let deletionsSkipped: string | null = null;
    const isKnown = page.untilKnown === true && isUnchanged(tables);
    if (page.next === null || isKnown) {
      deletionsSkipped = await closeChain(session, page, seen, tables, syncedAt);
      if (await writeListings(session, page)) dataVersion += 1;
    } else await writeCheckpoint(session, run.passId, chain, { number: page.page, next: page.next, seen, at: date });
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
    return { tables, quarantined, deletionsSkipped, ended: page.next === null || isKnown };
  };

  const closeChain = async (
    session: Session,
    { run, chain, date, page, next }: PageCommit,
    seen: readonly SeenRows[],
    tables: Map<string, Changes & { read: number }>,
    syncedAt: string,
  ): Promise<string | null> => {
    const none = { unidentified: 0, rows: 0, since: null };
    const earlier = page === 1 ? none : await sumCheckpoints(session, chain.id);
    const unidentified = seen.reduce((sum, rows) => sum + rows.unidentified, earlier.unidentified);
    const skipped =
      unidentified > 0
        ? 'items without a readable key, null in place of a list, or a full page that names no next one'
        : null;
    // What ended early has not seen what it left out.
    if (next === null && accountsForAbsence(catalogue.get(chain.resource)) && skipped === null) {
      const extent = { fixed: chain.fixed, from: chain.from, to: chain.to };
      for (const { table, keys } of seen) {
        const reaper = reaperOf(chain.resource, table);
        const changes = tables.get(table) as Changes;
        changes.deleted += await reaper.markUnseen(session, chain.id, keys, extent, syncedAt);
      }
    }
    if (page > 1) await clearCheckpoints(session, chain.id);
    const rows = seen.reduce((sum, { keys }) => sum + keys.length, earlier.rows);
    await writeCoverage(session, run, chain, rows, earlier.since ?? date);
    return skipped;
  };

  // Of a list that names no order, upstream's own is kept beside the rows: a new item at its head changes no other.
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
    commitPage: (page) => database.transaction((session) => commit(session, page)),
    noteRequests: (run, chain, requests) =>
      database.transaction((session) => writeRequests(session, run.runId, chain, requests, null)),
    noteImplausible: () => Promise.resolve(),
    noteForms: (resource, forms) => database.transaction((session) => writeShapes(session, resource, forms)),
    restartChain: (chainId) => database.transaction((session) => clearCheckpoints(session, chainId)),
    markDeleted: (resource, keys, date) =>
      database.transaction(async (session) => {
        let marked = 0;
        for (const table of resource.derived) {
          marked += await reaperOf(resource.name, table.name).mark(session, keys, toTimestampText(date));
        }
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

// A series keeps what was, and a detail is one of its list's rows: in both, absence says nothing.
function accountsForAbsence(resource: Resource): boolean {
  return resource.change.kind !== 'value' && resource.change.kind !== 'detail';
}

function isUnchanged(tables: ReadonlyMap<string, Changes & { read: number }>): boolean {
  const all = [...tables.values()];
  return all.some(({ read }) => read > 0) && all.every(({ inserted, updated }) => inserted + updated === 0);
}

function quarantineRow(chain: ChainRef, { table, reason, item }: Rejected): QuarantinedItem {
  const json = wellFormed(item === undefined ? 'null' : toExactJson(item));
  const id = createHash('sha256')
    .update(JSON.stringify([chain.resource, table, chain.fixed, reason, json]))
    .digest('hex')
    .slice(0, 32);
  return { id, table, reason, json };
}
