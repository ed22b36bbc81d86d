import { SightlineError } from '../../base/errors.ts';
import { DAY_MS } from '../../contract/time.ts';
import { momentsOf, offsetAt } from '../../scheduler/zone.ts';
import type { DayRange } from '../../sync/slice.ts';
import type { Allowance } from '../../upstream/allowance.ts';
import { toDayFlag, toInteger } from '../context.ts';
import { terminal } from '../output/terminal.ts';

/** Splits the values of a flag such as `--only a b` or `--only a,b`. Returns null if it is not given. Throws `usage`. */
export function listOf(flag: string, values: readonly string[] | undefined): string[] | null {
  const parts = values?.flatMap((value) => value.split(',').filter((part) => part !== '')) ?? null;
  if (parts?.length === 0) throw new SightlineError('usage', `${flag} is empty; allowed: one or more names`);
  return parts;
}

/** The days from `--from` to `--to`, which is today by default. Returns null if neither is given. Throws `usage`. */
export function rangeOf({ from, to }: { readonly from?: string; readonly to?: string }): DayRange | null {
  if (from === undefined && to === undefined) return null;
  const first = from === undefined ? null : toDayFlag('--from', from);
  const last = to === undefined ? new Date().toISOString().slice(0, 10) : toDayFlag('--to', to);
  if (first === null) throw new SightlineError('usage', '--to requires --from');
  if (first > last)
    throw new SightlineError('usage', `--from ${first} is after --to ${last}; allowed: the same day or an earlier one`);
  return { from: first, to: last };
}

/** The allowance that the flags set; empty if they set none. `now` is in epoch milliseconds. Throws `usage`. */
export function allowanceOf(
  flags: { readonly maxRequests?: string; readonly maxMinutes?: string; readonly until?: string },
  now: number,
): { allowance?: Allowance } {
  const { maxRequests, maxMinutes, until } = flags;
  if (maxRequests === undefined && maxMinutes === undefined && until === undefined) return {};
  const requests = maxRequests === undefined ? null : toInteger('--max-requests', maxRequests, 1, 1_000_000_000);
  const ends = [
    ...(maxMinutes === undefined ? [] : [now + toInteger('--max-minutes', maxMinutes, 1, 1_000_000) * 60_000]),
    ...(until === undefined ? [] : [nextTime(until, now)]),
  ];
  return { allowance: { maxRequests: requests, deadline: ends.length === 0 ? null : Math.min(...ends) } };
}

// The next occurrence of a time of day in the user's time zone.
function nextTime(text: string, now: number): number {
  const match = /^([01]\d|2[0-3]):([0-5]\d)$/.exec(text);
  if (match === null) {
    throw new SightlineError('usage', `--until is ${JSON.stringify(text)}; allowed: a time of day, such as 06:00`);
  }
  const { timeZone } = terminal();
  const wallMs = now + offsetAt(timeZone, now);
  const atMs = wallMs - (wallMs % DAY_MS) + (Number(match[1]) * 60 + Number(match[2])) * 60_000;
  const moments = [atMs, atMs + DAY_MS].flatMap((at) => momentsOf(timeZone, at).moments);
  return moments.find((moment) => moment > now) as number;
}
