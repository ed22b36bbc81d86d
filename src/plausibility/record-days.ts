import { addDays, dayOf } from '../contract/time.ts';

/** Earliest plausible day of a stored record. */
const EARLIEST_DAY = '2000-01-01';
/** Maximum days between today and the day of a record: upstream's clock may be set forward, but not by centuries. */
const FUTURE_DAYS_MAX = 366;

/** First and last plausible day of a record, both included. */
export interface RecordDays {
  readonly earliest: string;
  readonly latest: string;
}

/** Returns the plausible days of records of earlier syncs. `now` is epoch milliseconds. */
export function plausibleRecordDays(now: number): RecordDays {
  return { earliest: EARLIEST_DAY, latest: addDays(dayOf(now), FUTURE_DAYS_MAX) };
}
