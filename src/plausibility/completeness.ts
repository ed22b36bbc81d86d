const HOUR_MS = 3_600_000;

/** Hours until a differing day is read again, by the number of runs that already read it without success. */
const RETRY_AFTER_HOURS = [0, 0, 6] as const;
/** Number of runs after which a difference is permanent and no longer makes a run partial. */
export const RETRIES_MAX = RETRY_AFTER_HOURS.length + 1;
/** Hours between retries of a permanent difference, so that a list that upstream repairs late is still stored. */
const PERMANENT_RETRY_HOURS = 30 * 24;

/** One day of a list: stored rows and upstream's day count. */
export interface ComparedDay {
  readonly day: string;
  readonly upstream: number;
  readonly held: number;
  /** True if every number that upstream reports for the day equals the number computed from the stored rows. */
  readonly agreed: boolean;
}

/**
 * Returns true if the stored rows of a day are proven complete. Rows of today can arrive after the count, so today is proven
 * if at least the counted number of rows is stored.
 */
export function isProven({ day, upstream, held, agreed }: ComparedDay, today: string): boolean {
  return agreed || (day >= today && held >= upstream);
}

/** Returns when to read a day again after `tries` runs without success, in epoch milliseconds. */
export function nextRetryAt(tries: number, nowMs: number): number {
  return nowMs + (RETRY_AFTER_HOURS[tries - 1] ?? PERMANENT_RETRY_HOURS) * HOUR_MS;
}
