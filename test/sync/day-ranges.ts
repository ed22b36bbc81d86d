import fc from 'fast-check';
import { declarations } from '../../schemas/catalogue.ts';
import { createCatalogue } from '../../src/contract/catalogue.ts';
import { addDays, daysInRange } from '../../src/contract/time.ts';
import { coveredBy, type PlanContext } from '../../src/sync/plan/plan-context.ts';
import { withDependencies } from '../../src/sync/plan/plan-slices.ts';
import type { DayRange } from '../../src/sync/slice.ts';
import { utcDays } from '../../src/warehouse/ledger/echoed-days.ts';

export const TODAY = '2026-03-15';
export const NOW = Date.parse(`${TODAY}T15:00:00Z`);
export const catalogue = createCatalogue(declarations);

/** The context of a plan of everything, without earlier reads. */
export function contextAt(changes: Partial<PlanContext> = {}): PlanContext {
  return {
    today: TODAY,
    now: NOW,
    daysOf: utcDays,
    range: null,
    wanted: withDependencies(catalogue, null),
    names: new Map(),
    connections: 8,
    closed: [],
    open: [],
    begun: new Set(),
    read: new Set(),
    covered: coveredBy([]),
    full: false,
    rereads: 0,
    settleDays: 2,
    ...changes,
  };
}

export const dayBefore = (days: number): string => addDays(TODAY, -days);
export const range = (maxDays: number): fc.Arbitrary<DayRange> =>
  fc
    .tuple(fc.nat(maxDays), fc.nat(maxDays))
    .map(([a, b]) => ({ from: dayBefore(Math.max(a, b)), to: dayBefore(Math.min(a, b)) }));
export const counts = (maxDays: number): fc.Arbitrary<Map<string, number>> =>
  fc
    .array(fc.tuple(fc.nat(maxDays), fc.oneof(fc.nat(30), fc.nat(2_000))), { maxLength: 60 })
    .map((entries) => new Map(entries.map(([days, count]) => [dayBefore(days), count])));

export function daysOf({ from, to }: DayRange): string[] {
  return Array.from({ length: daysInRange(from, to) }, (_, index) => addDays(from, index));
}
