const TIMESTAMP =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s*(Z|[+-]\d{2}(?::?\d{2})?)?)?$/i;
const DAY = /^(\d{4})-(\d{2})-(\d{2})$/;
const MIDNIGHT = /^(\d{4}-\d{2}-\d{2})T00:00:00(?:\.0+)?(?:Z|\+00:?00)?$/i;

/** Maximum length of a range in the API, in days. */
export const RANGE_DAYS_MAX = 366;

/** The last day with a four-digit year. */
export const DAY_MAX = '9999-12-31';

/** Milliseconds of one UTC day. */
export const DAY_MS = 86_400_000;

/**
 * Converts an ISO 8601 date-time to UTC in the form `YYYY-MM-DD HH:MM:SS.ffffff`, which the warehouse casts to TIMESTAMP.
 * Returns null if the text is not a valid time (30 February, 25:00). Text without an offset is UTC, as the API specifies.
 * Digits beyond microseconds are truncated.
 * @example toTimestamp('2026-11-19T02:15:00+01:00') === '2026-11-19 01:15:00.000000'
 */
export function toTimestamp(text: string): string | null {
  const match = TIMESTAMP.exec(text);
  if (match === null) return null;
  const [, year, month, day, hour = '00', minute = '00', second = '00', fraction = '', offset = 'Z'] = match;
  if (!isCalendarDay(Number(year), Number(month), Number(day))) return null;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return null;
  const micros = fraction.slice(0, 6).padEnd(6, '0');
  if (offset === 'Z') return `${year}-${month}-${day} ${hour}:${minute}:${second}.${micros}`;
  const offsetMs = toOffsetMs(offset);
  if (offsetMs === null) return null;
  // Use setters: Date.UTC maps the years 0 to 99 to 1900 to 1999.
  const moment = new Date(0);
  moment.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  moment.setUTCHours(Number(hour), Number(minute), Number(second));
  const utc = new Date(moment.getTime() - offsetMs);
  if (utc.getUTCFullYear() < 1 || utc.getUTCFullYear() > 9999) return null;
  const whole = utc.toISOString();
  return `${whole.slice(0, 10)} ${whole.slice(11, 19)}.${micros}`;
}

/** Returns the day of `YYYY-MM-DD` or of a date-time at midnight UTC; null for any other text. */
export function toDay(text: string): string | null {
  const day = MIDNIGHT.exec(text)?.[1] ?? text;
  const match = DAY.exec(day);
  if (match === null) return null;
  return isCalendarDay(Number(match[1]), Number(match[2]), Number(match[3])) ? day : null;
}

/** Returns the UTC day (`YYYY-MM-DD`) of a time in epoch milliseconds. */
export function dayOf(epochMs: number): string {
  return new Date(epochMs).toISOString().slice(0, 10);
}

/**
 * Formats a time (ISO 8601 or epoch milliseconds) for people: `2026-11-22 14:02 UTC`. JSON has ISO 8601 instead. Returns other
 * text unchanged, because a record on disk may be damaged.
 */
export function shownTime(time: string | number): string {
  const moment = new Date(time);
  if (Number.isNaN(moment.getTime())) return String(time);
  return `${moment.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

/** Formats a day for people: `22 Nov 2026`. */
export function shownDay(day: string): string {
  return `${Number(day.slice(8))} ${MONTHS[Number(day.slice(5, 7)) - 1]} ${day.slice(0, 4)}`;
}

/** Formats a range of days for people: `26 Oct to 22 Nov 2026`, `1 to 7 Nov 2026`. The first day has only what differs from the last. */
export function shownDays(from: string, to: string): string {
  if (from === to) return shownDay(to);
  const [day, month, year] = shownDay(from).split(' ');
  const first = from.slice(0, 7) === to.slice(0, 7) ? day : `${day} ${month}`;
  return `${from.slice(0, 4) === to.slice(0, 4) ? first : `${first} ${year}`} to ${shownDay(to)}`;
}

/** Returns the day `days` after `day`; negative values go back. */
export function addDays(day: string, days: number): string {
  return dayOf(Date.parse(`${day}T00:00:00Z`) + days * DAY_MS);
}

/** The earlier of two days. */
export function earlierDay(a: string, b: string): string {
  return a < b ? a : b;
}

/** The later of two days. */
export function laterDay(a: string, b: string): string {
  return a > b ? a : b;
}

/** Returns the number of days from `from` to `to`, inclusive; zero or negative if `to` is before `from`. */
export function daysInRange(from: string, to: string): number {
  return Math.round((Date.parse(`${to}T00:00:00Z`) - Date.parse(`${from}T00:00:00Z`)) / DAY_MS) + 1;
}

/**
 * Yields every `step`-th day from `from` to `to`, inclusive. Days must not exceed 9999-12-31, because five-digit years do not
 * sort as text.
 */
export function* eachDay(from: string, to: string, step = 1): Generator<string> {
  const startMs = Date.parse(`${from}T00:00:00Z`);
  const count = daysInRange(from, to);
  for (let index = 0; index < count; index += step) yield dayOf(startMs + index * DAY_MS);
}

function isCalendarDay(year: number, month: number, day: number): boolean {
  if (year < 1 || month < 1 || month > 12 || day < 1) return false;
  const isLeapYear = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return day <= (month === 2 && isLeapYear ? 29 : (MONTH_DAYS[month - 1] as number));
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

const MONTH_DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

function toOffsetMs(offset: string): number | null {
  if (offset.toUpperCase() === 'Z') return 0;
  const hours = Number(offset.slice(1, 3));
  const minutes = Number(offset.slice(3).replace(':', '') || '0');
  if (hours > 15 || minutes > 59) return null;
  return (offset.startsWith('-') ? -1 : 1) * (hours * 60 + minutes) * 60_000;
}
