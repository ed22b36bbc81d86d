const DAY_MS = 86_400_000;
/** Three letters each, which no locale of `toLocaleDateString` gives for September. */
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** Returns the UTC midnight of a day (`YYYY-MM-DD`). */
export function toDate(day: string): Date {
  return new Date(`${day}T00:00:00Z`);
}

/** Formats a day as `9 Nov`, or as `9 Nov 26` with a year. */
export function shortDay(day: string, hasYear = false): string {
  return `${Number(day.slice(8, 10))} ${monthOf(day)}${hasYear ? ` ${day.slice(2, 4)}` : ''}`;
}

/** Formats a day as `9 Nov 2026`. */
export function dayText(day: string): string {
  return `${shortDay(day)} ${day.slice(0, 4)}`;
}

/** Formats a month, named by its first day, as `Nov 2026`. */
export function monthName(day: string): string {
  return `${monthOf(day)} ${day.slice(0, 4)}`;
}

/** Formats a range of days, both included: `15 Sep to 9 Nov 2026`. Names both years if they differ. */
export function rangeText(from: string, to: string): string {
  const isOneYear = from.slice(0, 4) === to.slice(0, 4);
  return `${isOneYear ? shortDay(from) : dayText(from)} to ${dayText(to)}`;
}

/** Returns the Sunday of the week that begins on a Monday. */
export function endOfWeek(monday: string): string {
  return new Date(toDate(monday).getTime() + 6 * DAY_MS).toISOString().slice(0, 10);
}

function monthOf(day: string): string {
  return MONTHS[Number(day.slice(5, 7)) - 1] ?? '';
}
