import { addDays } from '../time.ts';

const HOUR_MS = 3_600_000;

/** Days before today whose counts may lack responses that are listed already, because upstream computes them hours later. */
const COUNTS_LAG_DAYS = 1;

/** Hours until a differing day is read again, by the number of runs that already read it without success. */
const RETRY_AFTER_HOURS = [0, 0, 6] as const;
/** Number of runs after which a difference is permanent and no longer makes a run partial. */
export const RETRIES_MAX = RETRY_AFTER_HOURS.length + 1;
/** Hours between retries of a permanent difference, so that a list that upstream repairs late is still stored. */
const PERMANENT_RETRY_HOURS = 30 * 24;

/** Number of permanent differences from which on a new difference within their bounds is attributed to upstream, too. */
const PERMANENT_DAYS_MIN = 5;

/** One day of a list: stored rows and upstream's day count. */
export interface ComparedDay {
  readonly day: string;
  readonly upstream: number;
  readonly stored: number;
  /** True if every number that upstream reports for the day equals the number computed from the stored rows. */
  readonly agreed: boolean;
}

/**
 * Returns whether the stored rows of a day are proven to be complete. Rows of today may arrive after they were counted, so
 * today is proven if no counted row is missing. Yesterday is proven if more rows are stored than counted; its counts must
 * agree a day later.
 */
export function isProven({ day, upstream, stored, agreed }: ComparedDay, today: string): boolean {
  if (agreed || (day >= today && stored >= upstream)) return true;
  return day >= addDays(today, -COUNTS_LAG_DAYS) && stored > upstream;
}

/** Returns when to read a day again after `tries` runs without success, in epoch milliseconds. */
export function nextRetryAt(tries: number, nowMs: number): number {
  return nowMs + (RETRY_AFTER_HOURS[tries - 1] ?? PERMANENT_RETRY_HOURS) * HOUR_MS;
}

/**
 * Creates the check whether a day differs by as many rows as days whose difference is permanent: upstream counts some days
 * otherwise than it lists them, so each new day would make four runs partial.
 */
export function createUsualCheck(
  permanent: readonly Pick<ComparedDay, 'upstream' | 'stored'>[],
): (day: Pick<ComparedDay, 'upstream' | 'stored'>) => boolean {
  if (permanent.length < PERMANENT_DAYS_MIN) return () => false;
  const differences = permanent.map(({ upstream, stored }) => upstream - stored);
  const [least, most] = [Math.min(...differences), Math.max(...differences)];
  return ({ upstream, stored }) => least <= upstream - stored && upstream - stored <= most;
}
