import { randomUUID } from 'node:crypto';
import { type Catalogue, createLiveCatalogue, type Resource } from '../contract/catalogue.ts';
import { createObservedForms, type ObservedForms } from '../contract/field-forms.ts';
import type { Attempt } from '../contract/request.ts';
import type { Repeats, Values } from '../contract/rows.ts';
import { type Database, type DatabaseOptions, openDatabase, type Session } from './database.ts';
import { type GenericEndpoints, openGenericEndpoints } from './generic/generic-endpoints.ts';
import {
  clearCheckpoints,
  createKnownSlices,
  readDataVersion,
  readRepeats,
  type SliceRef,
  toTimestampText,
  writeRequests,
} from './ledger/ledger.ts';
import { beginRun, endRun, type RunOrigin, type RunRef, type RunTotals, recordRun } from './ledger/runs.ts';
import { createShapeWriter, readShapes, type ShapeWriter } from './ledger/shapes.ts';
import { migrate } from './migrate.ts';
import { removeImplausible } from './write/implausible-rows.ts';
import type { PageCommit, PageResult } from './write/page-commit.ts';
import { createTableWriters } from './write/table-writers.ts';
import { writePages } from './write/write-page.ts';

/** A workspace's warehouse, opened by the process that owns it. */
export interface Warehouse {
  readonly database: Database;
  /** The observed forms of values. The forms of a page are stored with it. */
  readonly forms: ObservedForms;
  /** Resources whose tables the warehouse has: the declared ones and those of `endpoints`. It changes while the warehouse is open. */
  readonly catalogue: Catalogue;
  /** The inferred declarations of undeclared endpoints. */
  readonly endpoints: GenericEndpoints;
  beginRun(run: {
    runId: string;
    options: string;
    now: number;
    origin?: RunOrigin;
  }): Promise<RunRef & { continues: boolean }>;
  endRun(run: RunRef, totals: RunTotals, now: number): Promise<void>;
  /** Records an operation that replaced data without requests. */
  recordRun(origin: RunOrigin, now: number): Promise<void>;
  /**
   * Writes a page in one transaction.
   * @throws LossError if the page lacks most nested rows of its stored rows and `guard` is set
   */
  writePage(page: PageCommit): Promise<PageResult>;
  /** Records requests that returned no page. */
  noteRequests(run: RunRef, slice: Pick<SliceRef, 'id' | 'resource'>, requests: readonly Attempt[]): Promise<void>;
  /** Stores the forms of upstream's responses that the specification leaves open. */
  noteForms(resource: string, forms: ReadonlyMap<string, string>): Promise<void>;
  /** Counts the rows of an unfinished slice that are identified by their content. */
  contentRepeats(sliceId: string): Promise<Repeats>;
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
export async function openWarehouse(path: string, declared: Catalogue, options: DatabaseOptions): Promise<Warehouse> {
  const database = await openDatabase(path, options);
  const version = { current: 0 };
  const known = createKnownSlices('coverage');
  const unconfirmed = createKnownSlices('unconfirmed_deletions');
  const catalogue = createLiveCatalogue(declared);
  let writers = createTableWriters(catalogue);
  let forms = createObservedForms();
  let endpoints: GenericEndpoints;
  let shapes: ShapeWriter;
  try {
    await migrate(database, declared);
    endpoints = await openGenericEndpoints(database, catalogue, () => {
      writers = createTableWriters(catalogue);
    });
    const [dataVersion, stored] = await database.exclusive(async ({ query }) => [
      await readDataVersion(query),
      await readShapes(query),
    ]);
    version.current = dataVersion;
    forms = createObservedForms(stored.rows);
    shapes = createShapeWriter(stored);
  } catch (thrown) {
    await database.close();
    throw thrown;
  }
  type Write = { readonly before: (session: Session) => unknown; readonly page?: PageCommit };
  const commit = database.groupCommit(async (session, writes: readonly Write[]) => {
    for (const { before } of writes) await before(session);
    const pages = writes.flatMap(({ page }) => page ?? []);
    const results = await writePages({ catalogue, writers, version, known, unconfirmed }, session, pages);
    return writes.map(({ page }) => (page === undefined ? null : (results.shift() as PageResult)));
  });
  return {
    database,
    forms,
    catalogue,
    endpoints,
    beginRun: (run) => database.transaction((session) => beginRun(session, run)),
    recordRun: (origin, now) =>
      database.transaction((session) => recordRun(session, { ...origin, runId: randomUUID(), now })),
    endRun: (run, totals, now) =>
      database.transaction((session) => endRun(session, run, { ...totals, dataVersion: version.current }, now)),
    writePage: async (page) => {
      const { resource } = page.slice;
      const observed = forms.unstored(resource);
      const result = await shapes.write(resource, observed.forms, (before) => commit({ before, page }));
      observed.stored();
      return result as PageResult;
    },
    noteRequests: (run, slice, requests) =>
      commit({ before: (session) => writeRequests(session, run.runId, slice, requests, null) }).then(() => undefined),
    noteForms: async (resource, forms) => {
      if (shapes.isChanged(resource, forms)) await shapes.write(resource, forms, (before) => commit({ before }));
    },
    contentRepeats: (sliceId) => database.exclusive((session) => readRepeats(session, sliceId)),
    restartSlice: (sliceId) => database.transaction((session) => clearCheckpoints(session, sliceId)),
    markDeleted: (resource, keys, date) =>
      database.transaction(async (session) => {
        let marked = 0;
        for (const { name } of resource.derived) {
          marked += await writers.tombstonesOf(resource.name, name).mark(session, keys, toTimestampText(date));
        }
        if (marked > 0) version.current += 1;
        return marked;
      }),
    removeImplausible: (now) =>
      database.transaction(async (session) => {
        const marked = await removeImplausible(session, catalogue, writers.tombstonesOf, now);
        if (marked > 0) version.current += 1;
        return marked;
      }),
    close: () => database.close(),
  };
}
