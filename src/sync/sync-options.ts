import type { Allowance } from '../upstream/allowance.ts';
import type { DayRange } from './slice.ts';

/** Options of a run. */
export interface SyncOptions {
  /** Resources to read, including those they depend on; null for all. */
  readonly only: readonly string[] | null;
  /** Days to read, both included; null for the complete history. */
  readonly range: DayRange | null;
  /** Ids of the brands to read; null for all. */
  readonly brands: readonly string[] | null;
  /** Reads everything again, even if it is up to date. */
  readonly full?: boolean;
  /** Accepts a plan that is far larger than the last one. */
  readonly acceptPlan?: boolean;
  /** Removes all expired raw pages at the end, not only those of one day. */
  readonly acceptExpiry?: boolean;
  /** Deletes all rows that upstream no longer lists, without a limit. */
  readonly acceptDeletions?: boolean;
  /** Reads only what estimates depend on: no totals of days. */
  readonly probe?: boolean;
  /** Requests that re-read the least recently read days at the end of a run that reads everything; default 0. */
  readonly rereads?: number;
  /** Limit of the run; the next run resumes. */
  readonly allowance?: Allowance;
}
