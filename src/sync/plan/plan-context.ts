import type { DayOf } from '../../contract/plausibility/day-zone.ts';
import { FUTURE_MS_MAX } from '../../contract/plausibility/run-clock.ts';
import { eachDay } from '../../contract/time.ts';
import type { DaysOf } from '../../warehouse/ledger/echoed-days.ts';
import type { ClosedSlice, OpenSlice } from '../../warehouse/ledger/slice-state.ts';
import type { ParameterNames } from '../slice.ts';
import type { SyncOptions } from '../sync-options.ts';

/**
 * Maximum age of an unfinished run's slices for the next run to resume them: for days that are over, and for data
 * that may change at any moment.
 */
const PAST_DAYS_FRESH_MS = 24 * 3_600_000;
const MOVING_FRESH_MS = 3_600_000;

/**
 * Priorities of slices when the budget is short: first those that others depend on, then long ones, then numerous ones.
 */
export const PRIORITY = {
  workspace: 100,
  history: 90,
  older: 85,
  list: 80,
  window: 50,
  report: 40,
  detail: 30,
  day: 20,
  backfill: 10,
} as const;

/** Lookup of the slices that were ever read completely. */
export interface Covered {
  /** Returns the last complete read of the slice with this id. */
  closed(id: string): ClosedSlice | undefined;
  /** Returns the time of the last complete read of each day, epoch milliseconds. */
  days(resource: string, brandId: string): ReadonlyMap<string, number>;
}

/** Everything that a plan depends on besides the catalogue. */
export interface PlanContext
  extends Pick<SyncOptions, 'range' | 'acceptDeletions' | 'probe'>, Required<Pick<SyncOptions, 'full' | 'rereads'>> {
  /** Upstream's current day, UTC. */
  readonly today: string;
  /** Upstream's current time, epoch milliseconds. */
  readonly now: number;
  /** Days of resources and brands, as known before the run. */
  readonly daysOf: DaysOf;
  /** Resources to read, including the resources they depend on. */
  readonly wanted: ReadonlySet<string>;
  /** Upstream's names of parameters, by resource and declared name. */
  readonly names: ParameterNames;
  /** Slices that are read concurrently. */
  readonly connections: number;
  /** Completed slices of the unfinished run that this run resumes. */
  readonly closed: readonly ClosedSlice[];
  /** Unfinished slices of that run. */
  readonly open: readonly OpenSlice[];
  /** Brands of which a run other than the resumed one has read at least one slice. */
  readonly read: ReadonlySet<string>;
  /** Every slice that was ever read completely. */
  readonly covered: Covered;
  /** Number of days before today that are always read again, because they may still change. */
  readonly settleDays: number;
  /** Slices with checkpoints of any run. Those that cannot be resumed must be restarted. */
  readonly begun: ReadonlySet<string>;
}

/**
 * Returns the last day to read, in the days `days` of a resource and brand: the last requested day, or the current one. A requested range
 * that ends today, UTC, ends with the current day.
 */
export function lastDay({ range, today, now }: PlanContext, days: DayOf): string {
  const to = range?.to ?? today;
  return to === today ? days(now) : to;
}

/** Creates the lookup of slices by id and by day. `slices` must be sorted by time of completion. */
export function coveredBy(slices: readonly ClosedSlice[]): Covered {
  const byId = new Map(slices.map((slice) => [slice.id, slice]));
  const byScope = new Map<string, ClosedSlice[]>();
  for (const slice of slices) {
    const scope = `${slice.resource} ${slice.brandId ?? ''}`;
    const list = byScope.get(scope);
    if (list === undefined) byScope.set(scope, [slice]);
    else list.push(slice);
  }
  const known = new Map<string, ReadonlyMap<string, number>>();
  return {
    closed: (id) => byId.get(id),
    days: (resource, brandId) => {
      const scope = `${resource} ${brandId}`;
      const days = known.get(scope) ?? daysIn(byScope.get(scope) ?? []);
      known.set(scope, days);
      return days;
    },
  };
}

/** Returns whether data read at `at` (epoch milliseconds) are recent enough that a run that resumes the slice skips it. */
export function isFresh(
  { resource, brandId, to }: Pick<ClosedSlice, 'resource' | 'brandId' | 'to'>,
  at: number,
  context: PlanContext,
): boolean {
  const past = to !== null && to < context.daysOf(resource, brandId)(at);
  // A time in the future is wrong, so it does not count as fresh.
  return at <= context.now + FUTURE_MS_MAX && context.now - at < (past ? PAST_DAYS_FRESH_MS : MOVING_FRESH_MS);
}

function daysIn(slices: readonly ClosedSlice[]): Map<string, number> {
  const days = new Map<string, number>();
  for (const { from, to, closedAt } of slices) {
    if (from === null || to === null) continue;
    for (const day of eachDay(from, to)) days.set(day, closedAt);
  }
  return days;
}
