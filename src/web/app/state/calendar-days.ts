/** A day in UTC as `YYYY-MM-DD`. */
export type Day = string;

const DAY_MS = 86_400_000;

export const isDay = (text: string): boolean =>
  /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text)) && dayOf(Date.parse(text)) === text;

export const dayOf = (timeMs: number): Day => new Date(timeMs).toISOString().slice(0, 10);

export const addDays = (day: Day, days: number): Day => dayOf(Date.parse(day) + days * DAY_MS);

/** Returns the number of days of a range; both ends are included. */
export const daysBetween = (from: Day, to: Day): number => Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS) + 1;

/** Returns the period of a chart that shows about 8 to 60 points for a range of days. */
export function grainOf(from: Day, to: Day): 'day' | 'week' | 'month' {
  const days = daysBetween(from, to);
  if (days <= 45) return 'day';
  return days <= 400 ? 'week' : 'month';
}
