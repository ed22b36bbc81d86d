import { SightlineError } from '../../base/errors.ts';
import type { DeletionGuard, TableLoss } from '../../contract/plausibility/mass-deletion.ts';
import type { Attempt } from '../../contract/request.ts';
import type { TableRows, Values } from '../../contract/rows.ts';
import type { StoredAnswer } from '../ledger/answers.ts';
import type { DriftNotes } from '../ledger/drift-notes.ts';
import type { SliceRef } from '../ledger/ledger.ts';
import type { RawLocation } from '../ledger/raw-pages.ts';
import type { RunRef } from '../ledger/runs.ts';
import type { Changes } from './upsert.ts';

/** A page to commit in one transaction: rows, child rows, checkpoint, ledger and data version. */
export interface PageCommit {
  readonly run: RunRef;
  readonly slice: SliceRef;
  readonly tables: readonly TableRows[];
  /** Whether the request had no `to`, so that upstream chose the last day of the slice. */
  readonly isOpen?: boolean;
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
  /** Whether upstream reported that the list or page does not exist (404). */
  readonly isMissing?: true;
  /** Limit of the deletions that the last page implies; null deletes without a limit. */
  readonly guard: DeletionGuard | null;
  readonly requests: readonly Attempt[];
  /** Position of the page in the archive of raw pages. */
  readonly raw?: RawLocation | null;
  readonly drift?: DriftNotes | null;
  /** The response to keep as evidence for the calibration; null for none. */
  readonly answer?: PageAnswer | null;
}

/** A report as received, with the query parameters by their declared names. */
export type PageAnswer = Pick<StoredAnswer, 'query' | 'body'>;

/** Changes of a committed page, by table. */
export interface PageResult {
  readonly tables: ReadonlyMap<string, Changes>;
  readonly quarantined: number;
  /** Reason why the end of the slice deleted no rows; null if the deletions were checked. */
  readonly deletionsSkipped: string | null;
  /** Deletions that nothing confirms; their rows stay live. */
  readonly unconfirmed: readonly UnconfirmedRows[];
  /** Whether the slice ended with this page. */
  readonly ended: boolean;
}

/** Rows of a table that the slice no longer lists but that stay live. */
export interface UnconfirmedRows extends TableLoss {
  /** Number of rows by day; empty if the table has no days. */
  readonly days: ReadonlyMap<string, number>;
  readonly keys: readonly Values[];
}

/** A page was not committed because it lacks most nested rows of its stored rows. */
export class LossError extends SightlineError {}
