import type { ResourceDeclaration } from '../contract/resource.ts';

/** Share of a list's rows, and rows, beyond which their loss in one read is a mass deletion. */
const LOSS_SHARE_MAX = 0.5;
const LOSS_ROWS_MIN = 10;

/** What limits the deletions that the last page of a chain implies. */
export interface DeletionGuard {
  /** Items per day by the day counts of this run; days without items are left out. Null without day counts. */
  readonly counts: Readonly<Record<string, number>> | null;
  /** Keeps every row, because the day counts of the whole list dropped by more than one read may remove. */
  readonly keep: boolean;
}

/** Stored rows of a day, or of a whole list, and how many of them a read no longer lists. */
export interface Loss {
  readonly before: number;
  readonly lost: number;
}

/** The loss of a table's rows. */
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

/** Returns whether the day counts of a whole list dropped by more than one read may remove. */
export function hasDropped(
  resource: Pick<ResourceDeclaration, 'change' | 'maxLoss'>,
  days: readonly { readonly upstream: number; readonly held: number }[],
): boolean {
  const before = days.reduce((sum, { held }) => sum + held, 0);
  return isMassDeletion(resource, {
    before,
    lost: days.reduce((sum, day) => sum + Math.max(0, day.held - day.upstream), 0),
  });
}
