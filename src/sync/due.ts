import { addDays, DAY_MS, eachDay } from '../contract/time.ts';
import type { DayRange } from './chain.ts';

/** A day of a window as planning sees it; what is not known is null. */
export interface DayState {
  /** Items by upstream's census; null when there is none. */
  readonly upstream: number | null;
  readonly held: number;
  /** Whether all figures of the census agree with the rows held; null without a census. */
  readonly agreed: boolean | null;
  /** Whether the same difference was there when the day was last read, and its next retry is not due yet. */
  readonly isKnown: boolean;
  /** Whether the last read of the day lacked rows that upstream counts, although the figures agree. */
  readonly isLacking: boolean;
  /** When the day was last read whole, epoch milliseconds; null when never. */
  readonly readAt: number | null;
}

/** What decides which days are due. */
export interface DueOptions {
  readonly range: DayRange;
  readonly today: string;
  readonly stateOf: (day: string) => DayState;
  /** Days before today that are read in every run, because they still move. */
  readonly settleDays: number;
  /** Reads every day, whatever is known of it. */
  readonly full: boolean;
}

/** Why a day is read; `free` days have nothing to read and cost nothing beside others. */
export type Due =
  | { readonly kind: 'due'; readonly reason: string }
  | { readonly kind: 'free' }
  | { readonly kind: 'whole' };

/**
 * Decides for every day of a range whether it is due: days never read whole, days that were not over when they were
 * read, days that still move, and days whose figures differ from upstream's in a way that reading may mend.
 */
export function dueDays(options: DueOptions): ReadonlyMap<string, Due> {
  const { range } = options;
  const days = new Map<string, Due>();
  for (const day of eachDay(range.from, range.to)) days.set(day, dueOf(day, options));
  return days;
}

function dueOf(day: string, { today, stateOf, settleDays, full }: DueOptions): Due {
  const due = (reason: string): Due => ({ kind: 'due', reason });
  const state = stateOf(day);
  const { upstream, held, agreed, isKnown, isLacking, readAt } = state;
  const isEmpty = upstream === 0 && held === 0;
  if (full) return due('asked for in full');
  if (day >= addDays(today, -settleDays)) return due('still moving');
  // Empty days, too, are read once: a census that counts nothing is no proof that nothing is there.
  if (readAt === null) return due('never read');
  if (isLacking) return due('lacked rows when it was read');
  if (isEmpty && agreed !== false) return { kind: 'free' };
  if (agreed === false && !isKnown) {
    return due(upstream === held ? 'figures differ from the census' : 'counts differ from the census');
  }
  if (readAt < Date.parse(`${day}T00:00:00Z`) + DAY_MS) return due('was not over when it was read');
  return { kind: 'whole' };
}
