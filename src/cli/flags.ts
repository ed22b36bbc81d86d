import { SightlineError } from '../base/errors.ts';
import { DAY_MS } from '../contract/time.ts';
import { momentsOf, offsetAt } from '../scheduler/zone.ts';
import type { DayRange } from '../sync/chain.ts';
import type { Allowance } from '../upstream/allowance.ts';
import { toDayFlag, toInteger } from './context.ts';
import { terminal } from './terminal.ts';

/** Names from a flag that takes several, both `--only a b` and `--only a,b`; null when it is not given. Throws `usage`. */
export function listOf(flag: string, values: readonly string[] | undefined): string[] | null {
  const parts = values?.flatMap((value) => value.split(',').filter((part) => part !== '')) ?? null;
  if (parts?.length === 0) throw new SightlineError('usage', `${flag} names nothing; allowed: one name or several`);
  return parts;
}

/** The days of `--from` and `--to`, of which the second is today by default; null when neither is given. Throws `usage`. */
export function rangeOf({ from, to }: { readonly from?: string; readonly to?: string }): DayRange | null {
  if (from === undefined && to === undefined) return null;
  const first = from === undefined ? null : toDayFlag('--from', from);
  const last = to === undefined ? new Date().toISOString().slice(0, 10) : toDayFlag('--to', to);
  if (first === null) throw new SightlineError('usage', '--to needs --from');
  if (first > last)
    throw new SightlineError('usage', `--from ${first} is after --to ${last}; allowed: a day not after it`);
  return { from: first, to: last };
}

/** What the flags allow a run, if they limit it at all; `now` is epoch milliseconds. Throws `usage`. */
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

// The next moment at which clocks show that time where the command was given: today, or tomorrow where it is over.
function nextTime(text: string, now: number): number {
  const match = /^([01]\d|2[0-3]):([0-5]\d)$/.exec(text);
  if (match === null) {
    throw new SightlineError('usage', `--until is ${JSON.stringify(text)}; allowed: a time of the day, such as 06:00`);
  }
  const { timeZone } = terminal();
  const wallMs = now + offsetAt(timeZone, now);
  const atMs = wallMs - (wallMs % DAY_MS) + (Number(match[1]) * 60 + Number(match[2])) * 60_000;
  const moments = [atMs, atMs + DAY_MS].flatMap((at) => momentsOf(timeZone, at).moments);
  return moments.find((moment) => moment > now) as number;
}
