import { addDays } from '../contract/time.ts';

const HOUR_MS = 3_600_000;

/** Days before today whose counts may lack responses that are listed already, because upstream computes them hours later. */
const COUNTS_LAG_DAYS = 1;

/** Hours from a run in which a day differed to its next retry, by the number of runs that read the day in vain. */
const RETRY_AFTER_HOURS = [0, 0, 6] as const;
/** Runs after which a difference is permanent: it no longer makes a run partial. */
export const RETRIES_MAX = RETRY_AFTER_HOURS.length + 1;
/** Hours between retries of a permanent difference, so that a list that is repaired late is still stored. */
const PERMANENT_RETRY_HOURS = 30 * 24;

/** Permanent differences from which on a new difference within their bounds is upstream's own, too. */
const PERMANENT_DAYS_MIN = 5;

/** A day of a list beside upstream's count of it. */
export interface ComparedDay {
  readonly day: string;
  readonly upstream: number;
  readonly held: number;
  /** Whether every figure of upstream's day equals the figure computed from the stored rows. */
  readonly agreed: boolean;
}

/**
 * Returns whether the stored rows of a day are proven to be complete. Rows of today may arrive after they were counted, so
 * today is proven if no counted row is missing. Yesterday is proven if more rows are stored than counted; its counts must
 * agree a day later.
 */
export function isProven({ day, upstream, held, agreed }: ComparedDay, today: string): boolean {
  if (agreed || (day >= today && held >= upstream)) return true;
  return day >= addDays(today, -COUNTS_LAG_DAYS) && held > upstream;
}

/** When a day that was read in vain in `tries` runs is read again; epoch milliseconds. */
export function nextRetryAt(tries: number, nowMs: number): number {
  return nowMs + (RETRY_AFTER_HOURS[tries - 1] ?? PERMANENT_RETRY_HOURS) * HOUR_MS;
}

/**
 * Creates the check whether a day differs by as many rows as days whose difference is permanent: upstream counts some days
 * otherwise than it lists them, so each new day would make four runs partial.
 */
export function createUsualCheck(
  permanent: readonly Pick<ComparedDay, 'upstream' | 'held'>[],
): (day: Pick<ComparedDay, 'upstream' | 'held'>) => boolean {
  if (permanent.length < PERMANENT_DAYS_MIN) return () => false;
  const differences = permanent.map(({ upstream, held }) => upstream - held);
  const [least, most] = [Math.min(...differences), Math.max(...differences)];
  return ({ upstream, held }) => least <= upstream - held && upstream - held <= most;
}
