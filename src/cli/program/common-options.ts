import { SightlineError } from '../../base/errors.ts';
import { DAY_MS } from '../../contract/time.ts';
import { momentsOf, offsetAt } from '../../jobs/zone.ts';
import type { DayRange } from '../../sync/slice.ts';
import type { Allowance } from '../../upstream/allowance.ts';
import { terminal } from '../output/terminal.ts';
import { day, flag, integer, oneOf, option, refused, text, toInteger, withDefault, withNames } from './option-kinds.ts';

/** Options of commands on all workspaces. */
export const dataOptions = {
  dataDir: text('<folder>', 'data folder (default: SIGHTLINE_DATA_DIR or ./data)'),
  home: text('<destination>', 'destination that keeps the warehouse between runs (default: the setting home)'),
  json: flag('print the result as JSON on standard output'),
};

/** Options of commands on one workspace. */
export const workspaceOptions = {
  workspace: withNames('workspace', 'w', text('<workspace>', 'name of the workspace (default: the configured one)')),
  ...dataOptions,
};

/** Options of commands that send requests for a part of the data. */
export const syncRangeOptions = {
  from: day('first day, YYYY-MM-DD (default: the complete history)'),
  to: day('last day, YYYY-MM-DD (default: today)'),
  baseUrl: text('<url>', 'root of the versioned API (default: SIGHTLINE_BASE_URL)'),
};

/** Options that limit a sync. */
export const allowanceOptions = {
  maxRequests: integer('<number>', 'stop after this many requests; the next run resumes', 1, 1_000_000_000),
  maxMinutes: integer('<number>', 'stop after this many minutes', 1, 1_000_000),
  until: option('<time>', 'stop at this local time of day, HH:MM', toMinuteOfDay),
};

/** Default of `queryTimeout` in milliseconds. */
export const QUERY_TIMEOUT_MS = 30_000;

export const queryTimeout = withDefault(
  option('<seconds>', 'time limit of a query', (given, name) => toInteger(name, given, 1, 600) * 1_000),
  String(QUERY_TIMEOUT_MS / 1_000),
);

/** Options of commands that log. Repeats `LOG_LEVELS`, because importing the log would slow down help. */
export const logOptions = {
  logLevel: withDefault(
    oneOf('<level>', 'least severe level that is logged to standard error', [
      'silent',
      'fatal',
      'error',
      'warn',
      'info',
      'debug',
      'trace',
    ]),
    'info',
  ),
};

/** The days from `--from` to `--to`, which is today by default. Returns null if neither is given. Throws `usage`. */
export function rangeOf(from: string | null, to: string | null): DayRange | null {
  if (from === null && to === null) return null;
  if (from === null) throw new SightlineError('usage', '--to requires --from');
  const today = new Date().toISOString().slice(0, 10);
  if (to === null && from > today) throw refused('--from', from, `today (${today}) or an earlier day, without --to`);
  checkOrder(from, to);
  return { from, to: to ?? today };
}

/** Throws `usage` if the first day is after the last. */
export function checkOrder(from: string | null, to: string | null): void {
  if (from === null || to === null || from <= to) return;
  throw new SightlineError('usage', `--from ${from} is after --to ${to}; allowed: the same day or an earlier one`);
}

/** The allowance that the options set; empty if they set none. `nowMs` is in epoch milliseconds. */
export function allowanceOf(
  given: { readonly maxRequests: number | null; readonly maxMinutes: number | null; readonly until: number | null },
  nowMs: number,
): { allowance?: Allowance } {
  const { maxRequests, maxMinutes, until } = given;
  if (maxRequests === null && maxMinutes === null && until === null) return {};
  const ends = [
    ...(maxMinutes === null ? [] : [nowMs + maxMinutes * 60_000]),
    ...(until === null ? [] : [nextTime(until, nowMs)]),
  ];
  return { allowance: { maxRequests, deadline: ends.length === 0 ? null : Math.min(...ends) } };
}

function toMinuteOfDay(given: string, name: string): number {
  const match = /^([01]\d|2[0-3]):([0-5]\d)$/.exec(given);
  if (match === null) throw refused(name, given, 'a time of day, such as 06:00');
  return Number(match[1]) * 60 + Number(match[2]);
}

// The next occurrence of a time of day in the user's time zone.
function nextTime(minuteOfDay: number, nowMs: number): number {
  const { timeZone } = terminal();
  const wallMs = nowMs + offsetAt(timeZone, nowMs);
  const atMs = wallMs - (wallMs % DAY_MS) + minuteOfDay * 60_000;
  const moments = [atMs, atMs + DAY_MS].flatMap((at) => momentsOf(timeZone, at).moments);
  return moments.find((moment) => moment > nowMs) as number;
}
