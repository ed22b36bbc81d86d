import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type ReportedTotals, resolveTotals, SETTLE_DAYS } from '../../src/contract/plausibility/range-totals.ts';
import { addDays, DAY_MS, dayOf, eachDay } from '../../src/contract/time.ts';
import { olderTotals, planTotals, recentTotals } from '../../src/sync/plan/plan-totals.ts';
import { RECENT_TOTALS_DAYS, totalsResources } from '../../src/warehouse/ledger/reported-totals.ts';
import { catalogue, contextAt, dayBefore, NOW, TODAY } from './day-ranges.ts';

const [resource] = totalsResources(catalogue);
const brand = { id: '00000000-0000-4000-8000-00000000000a', since: null, name: null };

/** Numbers of days before today; days without an entry are zero. */
type Days = ReadonlyMap<string, number>;
type Answer = (days: Days, from: string, to: string) => number | null;

const sum: Answer = (days, from, to) => [...eachDay(from, to)].reduce((total, day) => total + (days.get(day) ?? 0), 0);
/** Visitors: who returns on another day counts once per range. */
const unique: Answer = (days, from, to) => Math.max(0, ...[...eachDay(from, to)].map((day) => days.get(day) ?? 0));
const mean: Answer = (days, from, to) => (sum(days, from, to) ?? 0) / [...eachDay(from, to)].length;

/** Runs one sync of the totals: the whole range first, then what is planned, until nothing is. */
function syncTotals(days: Days, answer: Answer, reported: ReportedTotals[], now: number, older = false) {
  const context = contextAt({ today: dayOf(now), now, settleDays: SETTLE_DAYS });
  const asked = new Set<string>();
  const read = (from: string, to: string): void => {
    const at = reported.findIndex((one) => one.from === from && one.to === to);
    if (at >= 0) reported.splice(at, 1);
    reported.push({ from, to, readAt: now + asked.size * 1_000, values: [answer(days, from, to)] });
  };
  read(addDays(context.today, -365), context.today);
  const rowDays = [...days]
    .filter(([, n]) => n > 0)
    .map(([day]) => day)
    .sort();
  const hasRows = (from: string, to: string): boolean => rowDays.some((day) => from <= day && day <= to);
  const stateOf = () => {
    const first = addDays(context.today, -365);
    const totals = { resolved: resolveTotals(reported, { hasRows }), rowDays, first, days: dayOf };
    if (resource === undefined) throw new Error('no report has totals');
    return { resource, brand, totals, asked };
  };
  for (;;) {
    const state = stateOf();
    const recent = recentTotals(state, context);
    const range = older ? { ...recent, from: state.totals.first } : recent;
    const slices = planTotals(state, range, context);
    if (slices.length === 0)
      return { requests: asked.size, resolved: state.totals.resolved, older: olderTotals(state, recent, context) };
    for (const { id, from, to } of slices) {
      expect(asked.has(id)).toBe(false);
      asked.add(id);
      read(from ?? '', to ?? '');
    }
  }
}

const someDays = (span: number) =>
  fc
    .array(fc.tuple(fc.nat(span - 1), fc.oneof(fc.constant(0), fc.nat(3_000))), { maxLength: span })
    .map((entries): Days => new Map(entries.map(([age, visits]) => [dayBefore(age), visits])));

describe('totals of days', () => {
  test('are exact for every recent day, whether or not they add up', () => {
    fc.assert(
      fc.property(someDays(60), fc.constantFrom(sum, unique, mean), (days, answer) => {
        const { resolved } = syncTotals(days, answer, [], NOW);
        for (const day of eachDay(dayBefore(RECENT_TOTALS_DAYS - 1), TODAY)) {
          expect(resolved.day(day)?.values, day).toEqual([days.get(day) ?? 0]);
        }
      }),
    );
  });

  test('cost one request for a range without any, and at most three more than there are days', () => {
    fc.assert(
      fc.property(someDays(400), (days) => {
        const { requests } = syncTotals(days, sum, [], NOW, true);
        expect(requests).toBeLessThanOrEqual(366 + 3);
      }),
      { numRuns: 20 },
    );
    expect(syncTotals(new Map(), sum, [], NOW).requests).toBe(0);
    const recent = new Map([
      [dayBefore(20), 5],
      [dayBefore(10), 7],
    ]);
    expect(syncTotals(recent, sum, [], NOW).requests).toBeLessThan(RECENT_TOTALS_DAYS);
  });

  test('are not requested before the first day with data', () => {
    const days = new Map(Array.from({ length: 45 }, (_, age) => [dayBefore(age), 100 + age]));
    const reported: ReportedTotals[] = [];
    const { requests, resolved } = syncTotals(days, sum, reported, NOW, true);
    expect(requests).toBeLessThanOrEqual(45 + 3);
    expect(reported.filter(({ from, to }) => to < dayBefore(44) && from !== dayBefore(365))).toEqual([]);
    expect(resolved.day(dayBefore(200))?.values).toEqual([0]);
  });

  test('older than 30 days are left to the background', () => {
    const days = new Map(Array.from({ length: 100 }, (_, age) => [dayBefore(age), 1 + age]));
    const { requests, older } = syncTotals(days, sum, [], NOW);
    expect(requests).toBeLessThanOrEqual(RECENT_TOTALS_DAYS + 1);
    expect(older[0]).toEqual({ from: dayBefore(99), to: dayBefore(30) });
  });

  test('follow by subtraction only after a range equalled the sum of its parts', () => {
    const days = new Map(Array.from({ length: 60 }, (_, age) => [dayBefore(age), 10 + age]));
    const derived = (answer: Answer): number => {
      const { resolved } = syncTotals(days, answer, [], NOW);
      const recent = [...eachDay(dayBefore(RECENT_TOTALS_DAYS - 1), TODAY)];
      return recent.filter((day) => resolved.day(day)?.isDerived === true).length;
    };
    expect(derived(sum)).toBeGreaterThan(0);
    expect(derived(unique)).toBe(0);
    expect(derived(mean)).toBe(0);
    expect(syncTotals(days, sum, [], NOW).resolved.additive).toBe('shown');
    expect(syncTotals(days, unique, [], NOW).resolved.additive).toBe('contradicted');
    expect(syncTotals(days, mean, [], NOW).resolved.additive).not.toBe('shown');
  });

  test('are not subtracted from a range that was read at another time', () => {
    const at = (age: number): number => NOW - age * DAY_MS;
    const reads = [
      { from: dayBefore(20), to: dayBefore(11), readAt: at(3), values: [100] },
      { from: dayBefore(20), to: dayBefore(16), readAt: at(3), values: [40] },
      { from: dayBefore(15), to: dayBefore(11), readAt: at(3), values: [60] },
      { from: dayBefore(14), to: dayBefore(11), readAt: at(1), values: [55] },
    ];
    const { additive, day } = resolveTotals(reads, { hasRows: () => true });
    expect(additive).toBe('shown');
    expect(day(dayBefore(15))).toBeUndefined();
  });

  test('that still change are read again by every run, and no others', () => {
    const days = new Map(Array.from({ length: 60 }, (_, age) => [dayBefore(age - 1), 10 + age]));
    const reported: ReportedTotals[] = [];
    syncTotals(days, sum, reported, NOW);
    const next = syncTotals(days, sum, reported, NOW + DAY_MS);
    expect(next.requests).toBe(SETTLE_DAYS + 1);
  });

  test('of a range are those of its days, or reported totals where days are missing, or unknown', () => {
    const days = new Map(Array.from({ length: 100 }, (_, age) => [dayBefore(age), 1 + age]));
    const reported: ReportedTotals[] = [];
    const { resolved } = syncTotals(days, sum, reported, NOW);
    fc.assert(
      fc.property(fc.nat(29), fc.nat(29), (a, b) => {
        const [from, to] = [dayBefore(Math.max(a, b)), dayBefore(Math.min(a, b))];
        expect(resolved.range(from, to)).toEqual([sum(days, from, to)]);
      }),
    );
    expect(resolved.range(dayBefore(365), TODAY)).toEqual([sum(days, dayBefore(365), TODAY)]);
    expect(resolved.range(dayBefore(40), dayBefore(35))).toBeNull();
  });

  test('of a range are the reported ones if totals do not add up', () => {
    const days = new Map(Array.from({ length: 60 }, (_, age) => [dayBefore(age), 10 + age]));
    const { resolved } = syncTotals(days, unique, [], NOW);
    expect(resolved.range(dayBefore(365), TODAY)).toEqual([69]);
  });
});
