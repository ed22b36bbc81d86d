import { addDays, dayOf } from '../contract/time.ts';

/** Earliest day that a stored record may be about or may have been written on. */
const EARLIEST_DAY = '2000-01-01';
/** Days after today that a record may be about: upstream's clock may be set forward, but not by centuries. */
const FUTURE_DAYS_MAX = 366;

/** First and last plausible day of a record, both included. */
export interface RecordDays {
  readonly earliest: string;
  readonly latest: string;
}

/** The days that records of earlier syncs may be about. `now` is epoch milliseconds. */
export function plausibleRecordDays(now: number): RecordDays {
  return { earliest: EARLIEST_DAY, latest: addDays(dayOf(now), FUTURE_DAYS_MAX) };
}
