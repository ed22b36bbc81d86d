import type { ResourceDeclaration } from '../resource.ts';

/** The loss of more than this share of a list with more than this number of rows in one read is a mass deletion. */
const LOSS_SHARE_MAX = 0.5;
const LOSS_ROWS_MIN = 10;

/** Limits of the deletions after the last page of a slice. */
export interface DeletionGuard {
  /** Items per day by the day counts of this run; days without items are left out. Null without day counts. */
  readonly counts: Readonly<Record<string, number>> | null;
  /** Keeps every row, because the day counts of the list dropped by more than one read may delete. */
  readonly keep: boolean;
  /**
   * Keys, as JSON by table, of the rows that the read before lacked. A list of several pages loses only these: rows move from page to
   * page while it changes, so that no page lists them. Absent in the first read.
   */
  readonly lackedBefore?: Record<string, string[]> | undefined;
}

/** Number of stored rows of a day or list, and how many of them are missing from a read. */
export interface Loss {
  readonly before: number;
  readonly lost: number;
}

/** A loss with the name of its table. */
export interface TableLoss extends Loss {
  readonly table: string;
}

/**
 * Returns whether a loss must be confirmed before rows are deleted: more than half of more than 10 rows, unless the
 * resource declares another bound. Numbers of the last days are computed anew for every range, so they have no bound.
 */
export function isMassDeletion(
  { change, maxLoss }: Pick<ResourceDeclaration, 'change' | 'maxLoss'>,
  { before, lost }: Loss,
): boolean {
  if (lost === 0 || (change.kind === 'report' && change.span === 'recent')) return false;
  const { share = LOSS_SHARE_MAX, rows = LOSS_ROWS_MIN } = maxLoss ?? {};
  return before > rows && lost > share * before;
}

/**
 * Returns the days on which deletions are not made. With day counts: days on which fewer rows would remain than are
 * counted. Without: all of them if the read as a whole is a mass deletion.
 */
export function daysToKeep(
  resource: Pick<ResourceDeclaration, 'change' | 'maxLoss'>,
  { counts, keep }: DeletionGuard,
  losses: ReadonlyMap<string, Loss>,
): ReadonlySet<string> {
  const days = [...losses];
  const total = days.reduce((sum, [, { before, lost }]) => ({ before: sum.before + before, lost: sum.lost + lost }), {
    before: 0,
    lost: 0,
  });
  if (keep || (counts === null && isMassDeletion(resource, total))) return new Set(losses.keys());
  if (counts === null) return new Set();
  return new Set(days.filter(([day, { before, lost }]) => before - lost < (counts[day] ?? 0)).map(([day]) => day));
}

/** Returns true if the day counts of a list dropped by more than one read may delete. */
export function hasDropped(
  resource: Pick<ResourceDeclaration, 'change' | 'maxLoss'>,
  days: readonly { readonly upstream: number; readonly stored: number }[],
): boolean {
  const before = days.reduce((sum, { stored }) => sum + stored, 0);
  return isMassDeletion(resource, {
    before,
    lost: days.reduce((sum, day) => sum + Math.max(0, day.stored - day.upstream), 0),
  });
}
