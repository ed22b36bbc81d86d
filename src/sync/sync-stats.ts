import { z } from 'zod';
import { type rowCounts, type ValueOf } from '../contract/operation/json-parts.ts';
import type { Attempt } from '../contract/request.ts';
import type { PageResult } from '../warehouse/write/page-commit.ts';
import type { Slice } from './slice.ts';

/** Row counts of one table in a run. */
export type TableStats = z.infer<typeof rowCounts>;

/** Progress of one resource in a run. */
export interface ResourceStats {
  /** Completed requests, and the expected total. */
  done: number;
  expected: number;
  rows: number;
  slicesOpen: number;
  failed: number;
}

/** An unfinished slice, or a warning for the user. */
export const trouble = z.object({
  slice: z.string().describe('the slice, such as `responses` of a brand and a range of days'),
  code: z.string(),
  message: z.string(),
});

/** An unfinished slice, or a warning for the user. */
export type Trouble = ValueOf<typeof trouble>;

/** Sync stats: counters of a run, shown as progress and in the final summary. */
export interface SyncStats {
  readonly resources: ReadonlyMap<string, Readonly<ResourceStats>>;
  readonly tables: ReadonlyMap<string, Readonly<TableStats>>;
  readonly failures: readonly Trouble[];
  readonly warnings: readonly Trouble[];
  /** Reason why the run stops sending requests (allowance used up); null while it may go on. */
  readonly allowance: string | null;
  readonly requests: number;
  /** Predicted requests of the run; 0 once every slice is planned. */
  readonly predicted: number;
  readonly retries: number;
  readonly waitedMs: number;
  readonly quarantined: number;
  forecast(requests: number): void;
  planned(slices: readonly Slice[]): void;
  attempted(attempt: Attempt): void;
  page(slice: Slice, pages: number, last: boolean, result: PageResult): void;
  closed(slice: Slice, pages: number): void;
  failed(slice: Slice, pages: number, trouble: Trouble): void;
  /** Counts rows that were marked as deleted outside of a page. */
  deleted(table: string, rows: number): void;
  warned(trouble: Trouble): void;
  /** Adds a failure because stored rows are not proven complete; the run becomes partial. */
  unproven(trouble: Trouble): void;
  /** Records that the allowance is used up; the next run reads the slice. */
  ranOut(reason: string): void;
}

/** Returns the counts of a table, which are added if they are missing. */
export function statsOf(tables: Map<string, TableStats>, name: string): TableStats {
  const table = tables.get(name) ?? { read: 0, inserted: 0, updated: 0, deleted: 0 };
  tables.set(name, table);
  return table;
}

/** Adds the changes of a page to the counts by table. */
export function addChanges(tables: Map<string, TableStats>, changed: PageResult['tables']): void {
  for (const [name, changes] of changed) {
    const table = statsOf(tables, name);
    for (const key of ['read', 'inserted', 'updated', 'deleted'] as const) table[key] += changes[key];
  }
}

function resourceStatsOf(resources: Map<string, ResourceStats>, name: string): ResourceStats {
  const stats = resources.get(name) ?? { done: 0, expected: 0, rows: 0, slicesOpen: 0, failed: 0 };
  resources.set(name, stats);
  return stats;
}

/** Creates empty sync stats. */
export function createSyncStats(): SyncStats {
  const resources = new Map<string, ResourceStats>();
  const tables = new Map<string, TableStats>();
  const failures: Trouble[] = [];
  const warnings: Trouble[] = [];
  const expectedOf = new Map<string, number>();
  const resourceOf = (name: string): ResourceStats => resourceStatsOf(resources, name);
  const expect = (slice: Slice, requests: number): void => {
    resourceOf(slice.resource).expected += requests - (expectedOf.get(slice.id) ?? 0);
    expectedOf.set(slice.id, requests);
  };
  let waitedMs = 0;
  const stats: { -readonly [Name in keyof SyncStats]: SyncStats[Name] } = {
    resources,
    tables,
    failures,
    warnings,
    allowance: null,
    requests: 0,
    predicted: 0,
    retries: 0,
    waitedMs: 0,
    quarantined: 0,
    forecast: (requests) => {
      stats.predicted = requests;
    },
    planned: (slices) => {
      for (const slice of slices) {
        expect(slice, slice.expected);
        resourceOf(slice.resource).slicesOpen += 1;
      }
    },
    attempted: (attempt) => {
      stats.requests += 1;
      if (attempt.attempt > 1) stats.retries += 1;
      waitedMs += attempt.waitedMs;
      stats.waitedMs = Math.round(waitedMs);
    },
    page: (slice, pages, last, result) => {
      const resource = resourceOf(slice.resource);
      resource.done += 1;
      expect(slice, last ? pages : Math.max(expectedOf.get(slice.id) ?? 1, pages + 1));
      stats.quarantined += result.quarantined;
      addChanges(tables, result.tables);
      for (const { read } of result.tables.values()) resource.rows += read;
      if (result.deletionsSkipped !== null) warnings.push(skippedDeletions(slice, result.deletionsSkipped));
    },
    closed: (slice, pages) => {
      resourceOf(slice.resource).slicesOpen -= 1;
      expect(slice, pages);
    },
    failed: (slice, pages, trouble) => {
      const resource = resourceOf(slice.resource);
      resource.slicesOpen -= 1;
      resource.failed += 1;
      expect(slice, pages);
      failures.push(trouble);
    },
    deleted: (name, rows) => {
      statsOf(tables, name).deleted += rows;
    },
    warned: (trouble) => void warnings.push(trouble),
    unproven: (trouble) => void failures.push(trouble),
    ranOut: (reason) => {
      stats.allowance ??= reason;
    },
  };
  return stats;
}

function skippedDeletions(slice: Slice, reason: string): Trouble {
  return { slice: slice.id, code: 'deletions_skipped', message: `deletions were not checked: ${reason}` };
}
