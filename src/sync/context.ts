import { DAY_MS, dayOf, eachDay } from '../contract/time.ts';
import { FUTURE_MS_MAX } from '../plausibility/run-clock.ts';
import type { ClosedChain, OpenChain } from '../warehouse/state.ts';
import type { DayRange, ParameterNames } from './chain.ts';

/** Days before today that are read in every run, because late answers and corrections come in them. */
export const SETTLE_DAYS = 2;
/** How long an unfinished run's work counts: for days that are over, and for what may move at any moment. */
const PAST_DAYS_FRESH_MS = 24 * 3_600_000;
const MOVING_FRESH_MS = 3_600_000;

/** What goes first when the budget is short: what others wait for, then what is long, then what is many. */
export const PRIORITY = { workspace: 100, history: 90, list: 80, window: 50, report: 40, detail: 30, day: 20 } as const;

/** What has ever been read whole. */
export interface Covered {
  chain(id: string): ClosedChain | undefined;
  /** When each day was last read whole, epoch milliseconds. */
  days(resource: string, brandId: string): ReadonlyMap<string, number>;
}

/** Everything a plan depends on besides the catalogue. */
export interface PlanContext {
  /** Upstream's day, UTC. */
  readonly today: string;
  readonly now: number;
  /** Days asked for on the command line, or null for all. */
  readonly range: DayRange | null;
  /** Resources to read; what they depend on is in here too. */
  readonly wanted: ReadonlySet<string>;
  readonly names: ParameterNames;
  readonly connections: number;
  /** Chains of the unfinished run that this one continues. */
  readonly closed: readonly ClosedChain[];
  readonly open: readonly OpenChain[];
  /** Brands of which an earlier pass has read something. */
  readonly read: ReadonlySet<string>;
  /** Every chain that was ever read whole. */
  readonly covered: Covered;
  /** Reads everything again, whatever is known of it. */
  readonly full: boolean;
  /** Deletes whatever upstream no longer lists, however much that is. */
  readonly acceptDeletions?: boolean;
  readonly settleDays: number;
  /** Chains of which there are pages from whichever run; those that do not go on must be begun anew. */
  readonly begun: ReadonlySet<string>;
}

/** Looks chains up by id and by day. `chains` come in the order in which they were closed. */
export function coveredBy(chains: readonly ClosedChain[]): Covered {
  const byId = new Map(chains.map((chain) => [chain.id, chain]));
  const byScope = new Map<string, ClosedChain[]>();
  for (const chain of chains) {
    const scope = `${chain.resource} ${chain.brandId ?? ''}`;
    const list = byScope.get(scope);
    if (list === undefined) byScope.set(scope, [chain]);
    else list.push(chain);
  }
  const known = new Map<string, ReadonlyMap<string, number>>();
  return {
    chain: (id) => byId.get(id),
    days: (resource, brandId) => {
      const scope = `${resource} ${brandId}`;
      const days = known.get(scope) ?? daysIn(byScope.get(scope) ?? []);
      known.set(scope, days);
      return days;
    },
  };
}

/** Whether what a chain has read still counts for the run that continues it. */
export function isFresh(chain: { to: string | null }, at: number, context: PlanContext): boolean {
  const past = chain.to !== null && chain.to < dayOf(at);
  // A time from the future is wrong, so it proves nothing.
  return at <= context.now + FUTURE_MS_MAX && context.now - at < (past ? PAST_DAYS_FRESH_MS : MOVING_FRESH_MS);
}

/** The end of a day, epoch milliseconds. */
export function endOf(day: string): number {
  return Date.parse(`${day}T00:00:00Z`) + DAY_MS;
}

function daysIn(chains: readonly ClosedChain[]): Map<string, number> {
  const days = new Map<string, number>();
  for (const { from, to, closedAt } of chains) {
    if (from === null || to === null) continue;
    for (const day of eachDay(from, to)) days.set(day, closedAt);
  }
  return days;
}
