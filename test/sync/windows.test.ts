import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { RETRIES_MAX } from '../../src/contract/plausibility/completeness.ts';
import { addDays, daysInRange, RANGE_DAYS_MAX } from '../../src/contract/time.ts';
import { coveredBy, type PlanContext } from '../../src/sync/plan/plan-context.ts';
import { planBrand, planDetails, planOlder, planWorkspace, withDependencies } from '../../src/sync/plan/plan-slices.ts';
import { type CountedDays, planWindows } from '../../src/sync/plan/plan-windows.ts';
import type { DayRange, Slice } from '../../src/sync/slice.ts';
import type { ClosedSlice, OpenSlice } from '../../src/warehouse/ledger/slice-state.ts';
import { countOf } from '../support/counts.ts';
import { catalogue, contextAt as context, counts, dayBefore, daysOf, NOW, range, TODAY } from './day-ranges.ts';

const BRAND = '00000000-0000-4000-8000-00000000000a';

const windowed = catalogue.resources.filter(({ change }) => change.kind === 'window');
const [listed] = windowed as [(typeof windowed)[number]];
const brandOf = (sinceDays: number | null) => ({
  id: BRAND,
  since: sinceDays === null ? null : dayBefore(sinceDays),
  name: null,
});
/** Day counts of these items, none of which are stored. */
const countsOf = (counted: ReadonlyMap<string, number>): CountedDays => ({
  days: [...counted].map(([day, upstream]) => ({
    day,
    upstream,
    stored: 0,
    agreed: upstream === 0,
    figures: `${upstream}`,
  })),
  audits: new Map(),
});
const unread = { passId: 'p', rows: 0, state: null } as const;
const rangeOf = ({ from, to }: Slice): DayRange => ({ from: from as string, to: to as string });

describe('the plan of a windowed resource', () => {
  test('covers all days from the first possible one to today exactly once', () => {
    expect(windowed.length).toBeGreaterThan(0);
    fc.assert(
      fc.property(counts(1_500), fc.option(fc.nat(1_500)), (counted, since) => {
        for (const resource of windowed) {
          const slices = planWindows(resource, brandOf(since), countsOf(counted), context()).slices;
          const days = slices.flatMap((slice) => daysOf(rangeOf(slice))).sort();
          expect(new Set(days).size).toBe(days.length);
          const first = [...counted.keys(), ...(since === null ? [] : [dayBefore(since)]), TODAY].sort()[0] as string;
          for (const day of daysOf({ from: first, to: TODAY })) expect(days.includes(day)).toBe(true);
          expect(days.at(-1)).toBe(TODAY);
          for (const slice of slices)
            expect(daysInRange(rangeOf(slice).from, rangeOf(slice).to)).toBeLessThanOrEqual(RANGE_DAYS_MAX);
          expect(new Set(slices.map(({ id }) => id)).size).toBe(slices.length);
        }
      }),
      { numRuns: countOf(30, 200) },
    );
  });

  test('starts in 2015 at the earliest, whatever the brand, the day counts or earlier reads contain', () => {
    const years = ['0001-01-01', '1970-01-01', '2014-12-31', '9999-12-31'];
    for (const resource of windowed) {
      const read = years.map((day) => closedOn(resource.name, day));
      const counted = countsOf(new Map([...years, dayBefore(3)].map((day) => [day, 5])));
      const brand = { id: BRAND, since: '0001-01-01', name: null };
      const { slices } = planWindows(resource, brand, counted, context({ covered: coveredBy(read) }));
      expect(slices.map(({ to }) => to)).toEqual([TODAY]);
      // One more range before the first known day costs nothing.
      expect(slices.map(({ from }) => from)).toEqual([addDays(TODAY, 1 - RANGE_DAYS_MAX)]);
    }
  });

  test('of a requested range covers exactly its days', () => {
    fc.assert(
      fc.property(counts(900), range(900), (counted, asked) => {
        for (const resource of windowed) {
          const slices = planWindows(resource, brandOf(500), countsOf(counted), context({ range: asked })).slices;
          expect(slices.flatMap((slice) => daysOf(rangeOf(slice)))).toEqual(daysOf(asked));
        }
      }),
      { numRuns: countOf(30, 200) },
    );
  });

  test('of a resumed run skips completed slices and resumes unfinished ones', () => {
    fc.assert(
      fc.property(
        counts(600),
        fc.array(fc.boolean(), { minLength: 60, maxLength: 60 }),
        fc.array(fc.boolean(), { minLength: 60, maxLength: 60 }),
        (counted, done, begun) => {
          for (const resource of windowed) {
            const all = planWindows(resource, brandOf(500), countsOf(counted), context()).slices;
            const at = NOW - 60_000;
            const place = (slice: Slice) => ({
              id: slice.id,
              resource: slice.resource,
              brandId: BRAND,
              from: slice.from,
              to: slice.to,
            });
            const closed: ClosedSlice[] = all
              .filter((_slice, index) => done[index % 60])
              .map((slice) => ({ ...place(slice), ...unread, closedAt: at }));
            const open: OpenSlice[] = all
              .filter((_slice, index) => !done[index % 60] && begun[index % 60])
              .map((slice) => ({ ...place(slice), pages: 1, next: 'x', at }));
            const rest = planWindows(resource, brandOf(500), countsOf(counted), context({ closed, open })).slices;
            const days = [...rest, ...closed]
              .flatMap((slice) => daysOf({ from: slice.from as string, to: slice.to as string }))
              .sort();
            expect(new Set(days).size).toBe(days.length);
            expect(days).toEqual(all.flatMap((slice) => daysOf(rangeOf(slice))).sort());
            for (const { id } of open) expect(rest.map((slice) => slice.id)).toContain(id);
            for (const { id } of closed) expect(rest.map((slice) => slice.id)).not.toContain(id);
          }
        },
      ),
      { numRuns: countOf(30, 200) },
    );
  });

  test('skips days that were read completely and agree with the day counts', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            upstream: fc.nat(250),
            stored: fc.nat(250),
            agrees: fc.boolean(),
            wasRead: fc.boolean(),
            isKnown: fc.boolean(),
          }),
          { minLength: 8, maxLength: 300 },
        ),
        (states) => {
          for (const resource of windowed) {
            const days = states.map((state, index) => ({ ...state, day: dayBefore(states.length - 1 - index) }));
            const isEqual = (day: (typeof days)[number]): boolean => day.agrees && day.upstream === day.stored;
            const closed = days
              .filter(({ wasRead }) => wasRead)
              .map(({ day }) => ({ ...closedOn(resource.name, day) }));
            const counted: CountedDays = {
              days: days.map((day) => ({ ...day, agreed: isEqual(day), figures: day.day })),
              audits: new Map(
                days.map((day) => [
                  day.day,
                  {
                    agreed: isEqual(day),
                    figures: day.isKnown ? day.day : 'before',
                    tries: isEqual(day) ? 0 : 1,
                    retryAt: isEqual(day) ? null : NOW + 1,
                  },
                ]),
              ),
            };
            const planned = planWindows(
              resource,
              brandOf(states.length - 1),
              counted,
              context({ covered: coveredBy(closed) }),
            );
            if (planned.unreliable) continue;
            const read = new Set(planned.slices.flatMap((slice) => daysOf(rangeOf(slice))));
            for (const day of days) {
              const moves = day.day >= dayBefore(2);
              const differs = !isEqual(day) && !(day.wasRead && day.isKnown);
              const isEmpty = day.upstream === 0 && day.stored === 0;
              const isDue = moves || differs || (!day.wasRead && !isEmpty);
              if (isDue) expect(read.has(day.day), `${day.day} is due`).toBe(true);
              else if (!isEmpty) expect(read.has(day.day), `${day.day} is whole`).toBe(false);
            }
            // No more requests than full pages need, plus one for every group of consecutive days.
            const items = days.filter(({ day }) => read.has(day)).reduce((sum, { upstream }) => sum + upstream, 0);
            const requests = planned.slices.reduce((sum, { expected }) => sum + expected, 0);
            expect(requests).toBeLessThanOrEqual(Math.ceil(items / 100) + planned.slices.length);
          }
        },
      ),
      { numRuns: countOf(30, 200) },
    );
  });

  test('reads a day again if it was read before its end, and all days in a full run', () => {
    const readAt = (day: string, at: string) => ({ ...closedOn(listed.name, day), closedAt: Date.parse(at) });
    const days = Array.from({ length: 10 }, (_, index) => dayBefore(9 - index));
    const counted = { ...countsOf(new Map()), days: days.map((day) => ({ ...same, day })) };
    const half = dayBefore(5);
    const closed = days.map((day) => readAt(day, day === half ? `${day}T12:00:00Z` : `${addDays(day, 1)}T02:00:00Z`));
    const read = (changes: Partial<PlanContext>): string[] =>
      planWindows(listed, brandOf(9), counted, context({ covered: coveredBy(closed), ...changes })).slices.flatMap(
        (slice) => daysOf(rangeOf(slice)),
      );
    expect(read({})).toEqual([half, dayBefore(2), dayBefore(1), TODAY]);
    expect(read({ full: true })).toEqual(expect.arrayContaining(days));
    expect(read({ range: { from: dayBefore(8), to: dayBefore(7) } })).toEqual([dayBefore(8), dayBefore(7)]);
  });

  test('reads only the last days if the day counts are missing or, with a warning, if they never agree', () => {
    const { days, covered, planned } = planDiffering({ tries: RETRIES_MAX, retryAt: NOW + 1 });
    expect(planned.unreliable).toBe(true);
    expect(planned.slices.flatMap((slice) => daysOf(rangeOf(slice)))).toEqual(days.slice(-8));
    const without = planWindows(listed, brandOf(29), null, context({ covered }));
    expect(without.slices.flatMap((slice) => daysOf(rangeOf(slice)))).toEqual(days.slice(-8));
  });
});

const same = { upstream: 10, stored: 10, agreed: true, figures: 'same' } as const;

function closedOn(resource: string, day: string): ClosedSlice {
  return { ...unread, id: `${resource} ${day}`, resource, brandId: BRAND, from: day, to: day, closedAt: NOW };
}

/** Plans 30 days that were read and differ. */
function planDiffering(retries: { readonly tries: number; readonly retryAt: number }) {
  const days = Array.from({ length: 30 }, (_, index) => dayBefore(29 - index));
  const counted: CountedDays = {
    days: days.map((day) => ({ ...same, day, agreed: false, upstream: 11 })),
    audits: new Map(days.map((day) => [day, { ...same, agreed: false, ...retries }])),
  };
  const covered = coveredBy(days.map((day) => closedOn(listed.name, day)));
  return { days, covered, planned: planWindows(listed, brandOf(29), counted, context({ covered })) };
}

test('reads a sample of the days first if the last read of most days changed nothing', () => {
  const { days, planned } = planDiffering({ tries: 1, retryAt: NOW });
  expect(planned.unreliable).toBe(false);
  expect(planned.slices.flatMap((slice) => daysOf(rangeOf(slice)))).toEqual(days.slice(-3));
});

describe('the plan of details', () => {
  test('requests the details of new and changed rows only', () => {
    for (const detail of catalogue.resources.filter(({ change }) => change.kind === 'detail')) {
      const plan = (detailed: boolean, full = false): string[] =>
        planDetails(detail, BRAND, [{ id: BRAND, detailed }], context({ full })).map(({ id }) => id);
      expect(plan(false).length).toBe(1);
      expect(plan(true)).toEqual([]);
      expect(plan(true, true)).toEqual(plan(false));
    }
  });
});

describe('the plan of a history', () => {
  const histories = catalogue.resources.filter(({ change }) => change.kind === 'report' && change.span === 'history');

  test('goes back range by range until before the creation of the brand', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4_000 }), (since) => {
        for (const resource of histories) {
          const brand = brandOf(since);
          let slices = planBrand(catalogue, brand, context({ wanted: new Set([resource.name]) }));
          const days: string[] = [];
          for (let round = 0; slices.length > 0; round++) {
            expect(round).toBeLessThan(25);
            const [slice] = slices as [Slice];
            days.unshift(...daysOf(rangeOf(slice)));
            slices = planOlder(resource, slice, brand, false, context());
          }
          expect(new Set(days).size).toBe(days.length);
          expect((days[0] as string) <= dayBefore(since)).toBe(true);
          expect(days.length).toBe(daysInRange(days[0] as string, TODAY));
          expect(days.length).toBeLessThan(Math.max(RANGE_DAYS_MAX, since + 1) + RANGE_DAYS_MAX + 1);
        }
      }),
      { numRuns: countOf(15, 100) },
    );
  });

  test("continues from the newest range and from any range with a row, whatever the brand's creation date", () => {
    for (const resource of histories) {
      for (const brand of [brandOf(null), brandOf(5)]) {
        const [newest] = planBrand(catalogue, brand, context({ wanted: new Set([resource.name]) })) as [Slice];
        const [older] = planOlder(resource, newest, brand, false, context()) as [Slice];
        expect(older.to).toBe(addDays(newest.from as string, -1));
        expect(planOlder(resource, older, brand, true, context()).length).toBe(1);
        expect(planOlder(resource, older, brand, false, context())).toEqual([]);
      }
    }
  });
});

describe('the plan of everything', () => {
  test('requests every endpoint except details exactly once', () => {
    const slices = [...planWorkspace(catalogue, context()), ...planBrand(catalogue, brandOf(9), context())];
    expect(new Set(slices.map(({ id }) => id)).size).toBe(slices.length);
    const asked = new Set(slices.map(({ resource }) => resource));
    for (const { name, change } of catalogue.resources) {
      const comesLater = change.kind === 'detail' || (change.kind === 'window' && change.dayCounts !== undefined);
      expect(asked.has(name), name).toBe(!comesLater);
    }
    for (const slice of slices) expect(slice.path).not.toMatch(/[{}]/);
  });

  test('of one resource requests it and its dependencies', () => {
    for (const { name } of catalogue.resources) {
      const wanted = withDependencies(catalogue, [name]);
      expect(wanted.has(name)).toBe(true);
      for (const needed of wanted) {
        for (const further of withDependencies(catalogue, [needed])) expect(wanted.has(further)).toBe(true);
      }
    }
    expect(() => withDependencies(catalogue, ['nothing'])).toThrow(RangeError);
  });
});
