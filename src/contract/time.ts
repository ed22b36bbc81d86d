const TIMESTAMP =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s*(Z|[+-]\d{2}(?::?\d{2})?)?)?$/i;
const DAY = /^(\d{4})-(\d{2})-(\d{2})$/;
const MIDNIGHT = /^(\d{4}-\d{2}-\d{2})T00:00:00(?:\.0+)?(?:Z|\+00:?00)?$/i;

/** Longest range that the API takes, in days. */
export const RANGE_DAYS_MAX = 366;

/** The last day that can be written as `YYYY-MM-DD`. */
export const DAY_MAX = '9999-12-31';

/** Milliseconds of one UTC day. */
export const DAY_MS = 86_400_000;

/**
 * Reads an ISO 8601 date-time and returns it in UTC as `YYYY-MM-DD HH:MM:SS.ffffff`, the form the warehouse
 * casts to TIMESTAMP, or null when the text is no real moment (30 February, 25 o'clock). Without an offset the
 * text is taken as UTC, which is what the API promises. Digits finer than a microsecond are cut off.
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
  // Built by setters, because Date.UTC takes the years 0 to 99 for 1900 to 1999.
  const moment = new Date(0);
  moment.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  moment.setUTCHours(Number(hour), Number(minute), Number(second));
  const utc = new Date(moment.getTime() - offsetMs);
  if (utc.getUTCFullYear() < 1 || utc.getUTCFullYear() > 9999) return null;
  const whole = utc.toISOString();
  return `${whole.slice(0, 10)} ${whole.slice(11, 19)}.${micros}`;
}

/** Reads `YYYY-MM-DD`, or a midnight written as a date-time, and returns the day, or null when there is none. */
export function toDay(text: string): string | null {
  const day = MIDNIGHT.exec(text)?.[1] ?? text;
  const match = DAY.exec(day);
  if (match === null) return null;
  return isCalendarDay(Number(match[1]), Number(match[2]), Number(match[3])) ? day : null;
}

/** The UTC day, `YYYY-MM-DD`, that a moment in epoch milliseconds falls on. */
export function dayOf(epochMs: number): string {
  return new Date(epochMs).toISOString().slice(0, 10);
}

/** The day `days` after (or, when negative, before) `day`. */
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

/** How many days the range holds, both ends included; zero or less when it is turned around. */
export function daysInRange(from: string, to: string): number {
  return Math.round((Date.parse(`${to}T00:00:00Z`) - Date.parse(`${from}T00:00:00Z`)) / DAY_MS) + 1;
}

/**
 * The days of a range in order, both ends included, or every `step`-th of them. Ends at 9999-12-31, after which years have
 * five digits and sort before all others.
 */
export function* eachDay(from: string, to: string, step = 1): Generator<string> {
  const count = daysInRange(from, to);
  for (let index = 0; index < count; index += step) yield addDays(from, index);
}

function isCalendarDay(year: number, month: number, day: number): boolean {
  if (year < 1 || month < 1 || month > 12 || day < 1) return false;
  // The calendar repeats itself every 400 years, and Date.UTC takes the first hundred for others.
  return day <= new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate();
}

function toOffsetMs(offset: string): number | null {
  if (offset.toUpperCase() === 'Z') return 0;
  const hours = Number(offset.slice(1, 3));
  const minutes = Number(offset.slice(3).replace(':', '') || '0');
  if (hours > 15 || minutes > 59) return null;
  return (offset.startsWith('-') ? -1 : 1) * (hours * 60 + minutes) * 60_000;
}
