import { type Cron, matchesDay } from './cron-pattern.ts';
import { momentsOf, offsetAt } from './zone.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** Days searched for the next run. The next 29 February can be eight years away. */
const DAYS_MAX = 9 * 366;

/**
 * Returns the first moment after `afterMs` at which a cron expression is due in a time zone; null if there is none
 * within nine years. A local time that a clock change skips is due at the moment at which it would have come without
 * the change. A repeated local time is due only the first time, unless the expression matches every hour.
 */
export function nextRun(cron: Cron, timeZone: string, afterMs: number): number | null {
  const firstDay = Math.floor((afterMs + offsetAt(timeZone, afterMs)) / DAY_MS) * DAY_MS;
  // Start with the day before: a time that it skipped may be due on this day.
  for (let index = -1; index < DAYS_MAX; index++) {
    const dayMs = firstDay + index * DAY_MS;
    if (!isDay(cron, dayMs)) continue;
    const found = firstOfDay(cron, timeZone, dayMs, afterMs);
    // If clocks change around midnight, the last minutes of a day can come after the first minutes of the next.
    if (found !== null) return earliest(found, laterDay(cron, timeZone, dayMs, afterMs));
  }
  return null;
}

/**
 * Returns the last moment after `afterMs`, and not after `untilMs`, at which an expression was due; null if there is
 * none.
 */
export function lastRun(cron: Cron, timeZone: string, afterMs: number, untilMs: number): number | null {
  let last: number | null = null;
  // Search the last hour first, then two days, then the full range, because most expressions are frequent.
  for (const fromMs of [untilMs - HOUR_MS, untilMs - 2 * DAY_MS, afterMs].map((at) => Math.max(afterMs, at))) {
    for (let at = nextRun(cron, timeZone, fromMs); at !== null && at <= untilMs; at = nextRun(cron, timeZone, at)) {
      last = at;
    }
    if (last !== null) return last;
  }
  return last;
}

function laterDay(cron: Cron, timeZone: string, dayMs: number, afterMs: number): number | null {
  const next = dayMs + DAY_MS;
  if (offsetAt(timeZone, dayMs - DAY_MS) === offsetAt(timeZone, next + DAY_MS)) return null;
  return isDay(cron, next) ? firstOfDay(cron, timeZone, next, afterMs) : null;
}

function earliest(first: number, second: number | null): number {
  return second === null ? first : Math.min(first, second);
}

function isDay(cron: Cron, dayMs: number): boolean {
  const day = new Date(dayMs);
  const [month, dayOfMonth, dayOfWeek] = [day.getUTCMonth() + 1, day.getUTCDate(), day.getUTCDay()];
  return matchesDay(cron, { month, dayOfMonth, dayOfWeek });
}

function firstOfDay(cron: Cron, timeZone: string, dayMs: number, afterMs: number): number | null {
  const offset = offsetAt(timeZone, dayMs - DAY_MS);
  // If the offset does not change around this day, one offset is enough for all of its times.
  const isSteady = offsetAt(timeZone, dayMs + 2 * DAY_MS) === offset;
  let first: number | null = null;
  for (const hour of [...cron.hours].sort(ascending)) {
    for (const minute of [...cron.minutes].sort(ascending)) {
      const wallMs = dayMs + hour * HOUR_MS + minute * MINUTE_MS;
      const due = isSteady ? [wallMs - offset] : dueMoments(cron, timeZone, wallMs);
      for (const at of due) if (at > afterMs && (first === null || at < first)) first = at;
      if (isSteady && first !== null) return first;
    }
  }
  return first;
}

function dueMoments(cron: Cron, timeZone: string, wallMs: number): number[] {
  const { moments } = momentsOf(timeZone, wallMs);
  return cron.isEveryHour ? moments : moments.slice(0, 1);
}

function ascending(a: number, b: number): number {
  return a - b;
}
