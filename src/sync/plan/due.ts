import { addDays, DAY_MS, eachDay } from '../../contract/time.ts';
import type { DayRange } from '../slice.ts';

/** The state of a day of a window; unknown values are null. */
export interface DayState {
  /** Items of the day by upstream's day counts; null without day counts. */
  readonly upstream: number | null;
  readonly stored: number;
  /** Whether all figures of the day counts match the stored rows; null without day counts. */
  readonly agreed: boolean | null;
  /** Whether the last read of the day found the same difference and the next retry is not due yet. */
  readonly isKnown: boolean;
  /** Whether the last read of the day lacked rows that upstream counts although the figures agree. */
  readonly isLacking: boolean;
  /** Time of the last complete read of the day, epoch milliseconds; null if there was none. */
  readonly readAt: number | null;
}

/** Options of `dueDays`. */
export interface DueOptions {
  readonly range: DayRange;
  readonly today: string;
  readonly stateOf: (day: string) => DayState;
  /** Days before today that every run reads, because they still change. */
  readonly settleDays: number;
  /** Reads every day, even if it is up to date. */
  readonly full: boolean;
}

/**
 * Decision about a day. `due`: read it; `free`: it is empty, so include it if that saves a window; `whole`: up to date,
 * skip it.
 */
export type Due =
  | { readonly kind: 'due'; readonly reason: string }
  | { readonly kind: 'free' }
  | { readonly kind: 'whole' };

/**
 * Decides for every day of a range whether to read it. Due are days that were never read completely or were read before
 * their end, recent days, and days whose figures differ from upstream's in a way that a new read may fix.
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
  const { upstream, stored, agreed, isKnown, isLacking, readAt } = state;
  const isEmpty = upstream === 0 && stored === 0;
  if (full) return due('requested explicitly');
  if (day >= addDays(today, -settleDays)) return due('recent, may still change');
  // Read empty days once too: day counts of 0 do not prove that the day is empty.
  if (readAt === null) return due('never read');
  if (isLacking) return due('lacked rows when it was read');
  if (isEmpty && agreed !== false) return { kind: 'free' };
  if (agreed === false && !isKnown) {
    return due(upstream === stored ? 'figures differ from the day counts' : 'row count differs from the day counts');
  }
  if (readAt < Date.parse(`${day}T00:00:00Z`) + DAY_MS) return due('was read before its end');
  return { kind: 'whole' };
}
