/** Milliseconds in a day. */
export const DAY_MS = 86_400_000;

/** Returns the UTC day of a time. */
export function toDay(epochMs: number): string {
  return new Date(epochMs).toISOString().slice(0, 10);
}

/** Returns the time that clocks in an IANA time zone show, as if they showed UTC. */
export function clockIn(zone: string, epochMs: number): number {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' });
  return Date.parse(`${format.format(epochMs).replace(' ', 'T')}Z`);
}

/** Returns the first millisecond of a UTC day. */
export function startOf(day: string): number {
  return Date.parse(`${day}T00:00:00Z`);
}

/** Returns the day `days` days later, or earlier if negative. */
export function shiftDay(day: string, days: number): string {
  return toDay(startOf(day) + days * DAY_MS);
}

/** Returns the number of days in a range, both ends included. */
export function rangeDays(from: string, to: string): number {
  return Math.round((startOf(to) - startOf(from)) / DAY_MS) + 1;
}

/** Returns the earlier of two days. */
export function earlierDay(a: string, b: string): string {
  if (a < b) return a;
  return b;
}

/** Returns the later of two days. */
export function laterDay(a: string, b: string): string {
  return earlierDay(a, b) === a ? b : a;
}
