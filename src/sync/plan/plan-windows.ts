import type { Resource } from '../../contract/catalogue.ts';
import { RETRIES_MAX } from '../../contract/plausibility/completeness.ts';
import { firstPlannedDay } from '../../contract/plausibility/item-times.ts';
import { type DeletionGuard, hasDropped } from '../../contract/plausibility/mass-deletion.ts';
import { addDays, eachDay, RANGE_DAYS_MAX } from '../../contract/time.ts';
import type { ListedBrand } from '../../warehouse/brand-list.ts';
import type { Audit } from '../../warehouse/ledger/audits.ts';
import type { ClosedSlice, OpenSlice } from '../../warehouse/ledger/slice-state.ts';
import { type DayRange, type Slice, slicesOf } from '../slice.ts';
import { type DayState, type Due, dueDays } from './due.ts';
import { isFresh, type PlanContext, PRIORITY } from './plan-context.ts';
import { packWindows, pagesPerWindow } from './windows.ts';

/**
 * Number of days that must differ permanently, and their share of all counted days, before the day counts are
 * considered unreliable.
 */
const UNRELIABLE_DAYS_MIN = 5;
const UNRELIABLE_SHARE = 0.5;
/** Number of days to read first if most days differ, to see whether a new read fixes them. */
const SAMPLE_DAYS = 3;
/** Days that every run reads again if the day counts are missing, unreliable or lack an engine. */
const LOOKBACK_DAYS = 7;
/** Upstream's day counts of a window, with the stored counts and earlier audits. */
export interface CountedDays {
  readonly days: readonly Pick<Audit, 'day' | 'upstream' | 'stored' | 'agreed' | 'figures'>[];
  readonly audits: ReadonlyMap<string, Pick<Audit, 'figures' | 'agreed' | 'tries' | 'retryAt'>>;
  /** Engines with stored responses that the day counts do not cover; default none. */
  readonly uncounted?: readonly string[];
}

/** Slices and decisions for the days of a window. */
export interface PlannedWindows {
  readonly slices: readonly Slice[];
  /** Number of skipped days, which are up to date. */
  readonly whole: number;
  /** Reasons for reading days, each with the number of days. */
  readonly reasons: ReadonlyMap<string, number>;
  /** Whether the day counts contradict the stored rows so often that they are ignored. */
  readonly unreliable: boolean;
}

/**
 * Plans windows over the due days of a brand, packed so that their pages are full. `counted` is null without day
 * counts.
 */
export function planWindows(
  resource: Resource,
  brand: ListedBrand,
  counted: CountedDays | null,
  context: PlanContext,
): PlannedWindows {
  const brandId = brand.id;
  const counts = new Map((counted?.days ?? []).map(({ day, upstream }) => [day, upstream]));
  const covered = context.covered.days(resource.name, brandId);
  const to = context.range?.to ?? context.today;
  const from = context.range?.from ?? firstDayOf([...counts.keys(), ...covered.keys(), brand.since], to, context);
  const unreliable = counted !== null && isUnreliable(counted);
  const days = dueDays({
    range: { from, to },
    today: context.today,
    settleDays:
      counted === null || unreliable || (counted.uncounted ?? []).length > 0
        ? Math.max(LOOKBACK_DAYS, context.settleDays)
        : context.settleDays,
    full: context.full || context.range !== null,
    stateOf: stateReader(resource, brandId, unreliable ? null : counted, context),
  });
  const open = rangesOf(
    context.open.map((slice) => ({ slice, at: slice.at })),
    resource,
    brandId,
    context,
  );
  const closed = rangesOf(
    context.closed.map((slice) => ({ slice, at: slice.closedAt })),
    resource,
    brandId,
    context,
  );
  const skip = [...days].flatMap(([day, { kind }]) => (kind === 'whole' ? [{ from: day, to: day }] : []));
  const pageItems = resource.query['limit']?.max ?? 1;
  const isDue = (day: string): boolean => days.get(day)?.kind === 'due';
  const total = [...days.keys()].reduce((sum, day) => sum + (isDue(day) ? (counts.get(day) ?? 0) : 0), 0);
  const windows = packWindows({
    range: { from, to },
    counts,
    skip: [...skip, ...closed, ...open],
    pageItems,
    pagesMin: pagesPerWindow(total, pageItems, context.connections),
  }).filter((window) => [...eachDay(window.from, window.to)].some(isDue));
  const [oldest] = windows;
  // Extend the oldest window into the past: days without data cost no request, and unexpected older data is found.
  if (oldest !== undefined && oldest.from === from && context.range === null && (!covered.has(from) || context.full)) {
    windows[0] = { ...oldest, from: addDays(oldest.to, 1 - RANGE_DAYS_MAX) };
  }
  const guardOf = guarder(resource, counted);
  const resumed = open.map((range) => ({ ...range, items: 0, reason: 'resumes the last run' }));
  const planned = [...windows.map((window) => ({ ...window, reason: reasonOf(window, days) })), ...resumed];
  const slices = planned.flatMap((window) =>
    slicesOf(
      resource,
      {
        brandId,
        range: { from: window.from, to: window.to },
        expected: Math.ceil(window.items / pageItems),
        reason: window.reason,
        priority: PRIORITY.window,
        guard: guardOf(window),
      },
      context.names,
    ),
  );
  return { slices, whole: skip.length, reasons: reasonsOf(days.values()), unreliable };
}

/** Plans windows over days that are still not proven after the run has read the due days. */
export function planAgain(
  resource: Resource,
  brand: ListedBrand,
  days: readonly string[],
  counted: CountedDays,
  context: PlanContext,
): readonly Slice[] {
  return planDays(resource, brand, days, counted, { reason: 'still differs from the day counts', context });
}

/** Whether so many days differ that a sample of them is read first. */
export function areMost(differing: number, days: number): boolean {
  return differing >= UNRELIABLE_DAYS_MIN && differing > UNRELIABLE_SHARE * days;
}

// Deletions in a window must agree with the day counts of the run.
function guarder(resource: Resource, counted: Pick<CountedDays, 'days'> | null): (range: DayRange) => DeletionGuard {
  if (counted === null) return () => ({ counts: null, keep: false });
  const keep = hasDropped(resource, counted.days);
  return ({ from, to }) => {
    const days = counted.days.filter(({ day, upstream }) => upstream > 0 && from <= day && day <= to);
    return { counts: Object.fromEntries(days.map(({ day, upstream }) => [day, upstream])), keep };
  };
}

/** Plans windows over exactly these days. */
export function planDays(
  resource: Resource,
  brand: ListedBrand,
  chosen: readonly string[],
  counted: Pick<CountedDays, 'days'>,
  { reason, context }: { readonly reason: string; readonly context: PlanContext },
): readonly Slice[] {
  const days = new Set(chosen);
  const [from, to] = [chosen.toSorted()[0], chosen.toSorted().at(-1)];
  if (from === undefined || to === undefined) return [];
  const pageItems = resource.query['limit']?.max ?? 1;
  const counts = new Map(counted.days.map(({ day, upstream }) => [day, upstream]));
  const between = [...eachDay(from, to)];
  const skip = between.filter((day) => !days.has(day)).map((day) => ({ from: day, to: day }));
  const guardOf = guarder(resource, counted);
  return packWindows({ range: { from, to }, counts, skip, pageItems, pagesMin: 1 }).flatMap((window) =>
    slicesOf(
      resource,
      {
        brandId: brand.id,
        range: { from: window.from, to: window.to },
        expected: Math.ceil(window.items / pageItems),
        reason,
        priority: PRIORITY.window,
        guard: guardOf(window),
      },
      context.names,
    ),
  );
}

// Returns the first plausible day; `to` if there is no earlier one.
function firstDayOf(days: Iterable<string | null>, to: string, { today }: PlanContext): string {
  const least = firstPlannedDay(today);
  let first = to;
  for (const day of days) if (day !== null && day >= least && day < first) first = day;
  return first;
}

function rangesOf(
  slices: readonly { slice: ClosedSlice | OpenSlice; at: number }[],
  resource: Resource,
  brandId: string,
  context: PlanContext,
): DayRange[] {
  return slices.flatMap(({ slice, at }) => {
    const mine = slice.resource === resource.name && slice.brandId === brandId && isFresh(slice, at, context);
    return mine && slice.from !== null && slice.to !== null ? [{ from: slice.from, to: slice.to }] : [];
  });
}

function stateReader(
  resource: Resource,
  brandId: string,
  counted: CountedDays | null,
  context: PlanContext,
): (day: string) => DayState {
  const readAt = context.covered.days(resource.name, brandId);
  const byDay = new Map((counted?.days ?? []).map((figures) => [figures.day, figures]));
  const sample = counted === null || context.acceptDeletions === true ? null : sampleOf(counted, context.now);
  return (day) => {
    const figures = byDay.get(day);
    const read = readAt.get(day) ?? null;
    if (counted === null) {
      return { upstream: null, stored: 0, agreed: null, isKnown: false, isLacking: false, readAt: read };
    }
    const { upstream, stored, agreed } = figures ?? { upstream: 0, stored: 0, agreed: true };
    const audit = counted.audits.get(day);
    const isPending = audit !== undefined && audit.tries > 0;
    const isDue =
      context.acceptDeletions === true || ((audit?.retryAt ?? 0) <= context.now && sample?.has(day) !== false);
    const isKnown = read !== null && isPending && audit.figures === figures?.figures && !isDue;
    return { upstream, stored, agreed, isKnown, isLacking: isPending && audit.agreed && isDue, readAt: read };
  };
}

// If most days are retried, returns a sample that shows whether the others have changed too; null to read all.
function sampleOf({ days, audits }: CountedDays, now: number): ReadonlySet<string> | null {
  const retried = days.filter(({ day, figures }) => {
    const audit = audits.get(day);
    return audit !== undefined && audit.tries > 0 && audit.figures === figures && (audit.retryAt ?? 0) <= now;
  });
  if (!areMost(retried.length, days.length)) return null;
  return new Set(newest(retried.map(({ day }) => day)));
}

/** Returns the days to read first if most days differ. */
export function newest(days: readonly string[]): string[] {
  return days.toSorted().slice(-SAMPLE_DAYS);
}

// Differences that remain after all retries mean that the day counts are wrong.
function isUnreliable({ days, audits }: CountedDays): boolean {
  const lasting = days.filter(({ day, agreed, figures }) => {
    const audit = audits.get(day);
    return !agreed && audit?.figures === figures && audit.tries >= RETRIES_MAX;
  });
  return areMost(lasting.length, days.length);
}

function reasonOf({ from, to }: DayRange, days: ReadonlyMap<string, Due>): string {
  const counts = reasonsOf([...eachDay(from, to)].flatMap((day) => days.get(day) ?? []));
  return [...counts].map(([reason, count]) => `${reason} (${count} ${count === 1 ? 'day' : 'days'})`).join(', ');
}

function reasonsOf(days: Iterable<Due>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const due of days) {
    if (due.kind === 'due') counts.set(due.reason, (counts.get(due.reason) ?? 0) + 1);
  }
  return counts;
}
