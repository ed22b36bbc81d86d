import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { declarations } from '../../schemas/catalogue.ts';
import { createCatalogue } from '../../src/contract/catalogue.ts';
import { addDays, daysInRange, RANGE_DAYS_MAX } from '../../src/contract/time.ts';
import type { Chain, DayRange } from '../../src/sync/chain.ts';
import {
  type PlanContext,
  planBrand,
  planDays,
  planOlder,
  planWindows,
  planWorkspace,
  withDependencies,
} from '../../src/sync/plan.ts';
import { packWindows, pagesPerWindow } from '../../src/sync/windows.ts';
import type { ClosedChain, OpenChain } from '../../src/warehouse/state.ts';

const TODAY = '2026-03-15';
const NOW = Date.parse(`${TODAY}T15:00:00Z`);
const BRAND = '00000000-0000-4000-8000-00000000000a';
const catalogue = createCatalogue(declarations);

const dayBefore = (days: number): string => addDays(TODAY, -days);
const range = (maxDays: number): fc.Arbitrary<DayRange> =>
  fc
    .tuple(fc.nat(maxDays), fc.nat(maxDays))
    .map(([a, b]) => ({ from: dayBefore(Math.max(a, b)), to: dayBefore(Math.min(a, b)) }));
const counts = (maxDays: number): fc.Arbitrary<Map<string, number>> =>
  fc
    .array(fc.tuple(fc.nat(maxDays), fc.oneof(fc.nat(30), fc.nat(2_000))), { maxLength: 60 })
    .map((entries) => new Map(entries.map(([days, count]) => [dayBefore(days), count])));

function daysOf({ from, to }: DayRange): string[] {
  return Array.from({ length: daysInRange(from, to) }, (_, index) => addDays(from, index));
}

describe('packed windows', () => {
  test('tile the range without gap or overlap, none too long, and spare what is covered', () => {
    fc.assert(
      fc.property(
        fc.record({
          range: range(1_200),
          counts: counts(1_300),
          skip: fc.array(range(1_300), { maxLength: 4 }),
          pageItems: fc.constantFrom(1, 25, 100),
          pagesMin: fc.integer({ min: 1, max: 20 }),
        }),
        (options) => {
          const windows = packWindows(options);
          const days = windows.flatMap(daysOf);
          const wanted = daysOf(options.range).filter(
            (day) => !options.skip.some(({ from, to }) => from <= day && day <= to),
          );
          expect(days).toEqual(wanted);
          for (const window of windows) {
            expect(daysInRange(window.from, window.to)).toBeGreaterThan(0);
            expect(daysInRange(window.from, window.to)).toBeLessThanOrEqual(RANGE_DAYS_MAX);
            const items = daysOf(window).reduce((sum, day) => sum + (options.counts.get(day) ?? 0), 0);
            expect(window.items).toBe(items);
          }
        },
      ),
      { numRuns: 200 },
    );
  });

  test('are full, but for the last before a gap', () => {
    const many = new Map(daysOf({ from: dayBefore(99), to: TODAY }).map((day) => [day, 70]));
    const windows = packWindows({
      range: { from: dayBefore(99), to: TODAY },
      counts: many,
      skip: [],
      pageItems: 100,
      pagesMin: 3,
    });
    for (const { items } of windows.slice(0, -1)) expect(items).toBeGreaterThanOrEqual(300);
    expect(windows.length).toBe(20);
  });

  test('have from 1 to 20 pages, and enough of them to keep every connection busy', () => {
    fc.assert(
      fc.property(fc.nat(10_000_000), fc.integer({ min: 1, max: 32 }), (items, connections) => {
        const pages = pagesPerWindow(items, 100, connections);
        expect(pages).toBeGreaterThanOrEqual(1);
        expect(pages).toBeLessThanOrEqual(20);
        if (pages > 1) expect(items / 100 / pages).toBeGreaterThan(connections * 4 - 1);
      }),
    );
  });
});

function context(changes: Partial<PlanContext> = {}): PlanContext {
  return {
    today: TODAY,
    now: NOW,
    range: null,
    wanted: withDependencies(catalogue, null),
    names: new Map(),
    connections: 8,
    closed: [],
    open: [],
    begun: new Set(),
    ...changes,
  };
}

const windowed = catalogue.resources.filter(({ change }) => change.kind === 'window');
const brandOf = (sinceDays: number | null) => ({ id: BRAND, since: sinceDays === null ? null : dayBefore(sinceDays) });
const rangeOf = ({ from, to }: Chain): DayRange => ({ from: from as string, to: to as string });

describe('the plan of a windowed resource', () => {
  test('covers everything from the first day that may hold something to today, once', () => {
    expect(windowed.length).toBeGreaterThan(0);
    fc.assert(
      fc.property(counts(1_500), fc.option(fc.nat(1_500)), (counted, since) => {
        for (const resource of windowed) {
          const chains = planWindows(resource, brandOf(since), counted, context());
          const days = chains.flatMap((chain) => daysOf(rangeOf(chain))).sort();
          expect(new Set(days).size).toBe(days.length);
          const first = [...counted.keys(), ...(since === null ? [] : [dayBefore(since)]), TODAY].sort()[0] as string;
          for (const day of daysOf({ from: first, to: TODAY })) expect(days.includes(day)).toBe(true);
          expect(days.at(-1)).toBe(TODAY);
          for (const chain of chains)
            expect(daysInRange(rangeOf(chain).from, rangeOf(chain).to)).toBeLessThanOrEqual(RANGE_DAYS_MAX);
          expect(new Set(chains.map(({ id }) => id)).size).toBe(chains.length);
        }
      }),
      { numRuns: 60 },
    );
  });

  test('of asked days covers those and no others', () => {
    fc.assert(
      fc.property(counts(900), range(900), (counted, asked) => {
        for (const resource of windowed) {
          const chains = planWindows(resource, brandOf(500), counted, context({ range: asked }));
          expect(chains.flatMap((chain) => daysOf(rangeOf(chain)))).toEqual(daysOf(asked));
        }
      }),
      { numRuns: 60 },
    );
  });

  test('of a run that goes on leaves out what is closed and resumes what is open', () => {
    fc.assert(
      fc.property(
        counts(600),
        fc.array(fc.boolean(), { minLength: 60, maxLength: 60 }),
        fc.array(fc.boolean(), { minLength: 60, maxLength: 60 }),
        (counted, done, begun) => {
          for (const resource of windowed) {
            const all = planWindows(resource, brandOf(500), counted, context());
            const at = NOW - 60_000;
            const place = (chain: Chain) => ({
              id: chain.id,
              resource: chain.resource,
              brandId: BRAND,
              from: chain.from,
              to: chain.to,
            });
            const closed: ClosedChain[] = all
              .filter((_chain, index) => done[index % 60])
              .map((chain) => ({ ...place(chain), closedAt: at }));
            const open: OpenChain[] = all
              .filter((_chain, index) => !done[index % 60] && begun[index % 60])
              .map((chain) => ({ ...place(chain), pages: 1, next: 'x', at }));
            const rest = planWindows(resource, brandOf(500), counted, context({ closed, open }));
            const days = [...rest, ...closed]
              .flatMap((chain) => daysOf({ from: chain.from as string, to: chain.to as string }))
              .sort();
            expect(new Set(days).size).toBe(days.length);
            expect(days).toEqual(all.flatMap((chain) => daysOf(rangeOf(chain))).sort());
            for (const { id } of open) expect(rest.map((chain) => chain.id)).toContain(id);
            for (const { id } of closed) expect(rest.map((chain) => chain.id)).not.toContain(id);
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  test('reads again what was closed too long ago', () => {
    const resource = windowed[0] as (typeof windowed)[number];
    const closedAt = (ageMs: number, to: string): ClosedChain[] => [
      { id: 'x', resource: resource.name, brandId: BRAND, from: dayBefore(20), to, closedAt: NOW - ageMs },
    ];
    const days = (closed: ClosedChain[]): string[] =>
      planWindows(resource, brandOf(20), new Map(), context({ closed })).flatMap((chain) => daysOf(rangeOf(chain)));
    expect(days(closedAt(2 * 3_600_000, dayBefore(3)))).not.toContain(dayBefore(10));
    expect(days(closedAt(25 * 3_600_000, dayBefore(3)))).toContain(dayBefore(10));
    expect(days(closedAt(30 * 60_000, TODAY))).not.toContain(TODAY);
    expect(days(closedAt(2 * 3_600_000, TODAY))).toContain(TODAY);
  });
});

describe('the plan of a history', () => {
  const histories = catalogue.resources.filter(({ change }) => change.kind === 'report' && change.span === 'history');

  test('goes back range by range until the brand was not there, and ends', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4_000 }), (since) => {
        for (const resource of histories) {
          const brand = brandOf(since);
          let chains = planBrand(catalogue, brand, context({ wanted: new Set([resource.name]) }));
          const days: string[] = [];
          for (let round = 0; chains.length > 0; round++) {
            expect(round).toBeLessThan(25);
            const [chain] = chains as [Chain];
            days.unshift(...daysOf(rangeOf(chain)));
            chains = planOlder(resource, chain, brand, null, context());
          }
          expect(new Set(days).size).toBe(days.length);
          expect((days[0] as string) <= dayBefore(since)).toBe(true);
          expect(days.length).toBe(daysInRange(days[0] as string, TODAY));
          expect(days.length).toBeLessThan(Math.max(RANGE_DAYS_MAX, since + 1) + RANGE_DAYS_MAX + 1);
        }
      }),
      { numRuns: 30 },
    );
  });

  test('goes on from the newest range, and from any that has a row, whatever the brand says', () => {
    for (const resource of histories) {
      for (const brand of [brandOf(null), brandOf(5)]) {
        const [newest] = planBrand(catalogue, brand, context({ wanted: new Set([resource.name]) })) as [Chain];
        const [older] = planOlder(resource, newest, brand, null, context()) as [Chain];
        expect(older.to).toBe(addDays(newest.from as string, -1));
        expect(planOlder(resource, older, brand, older.to, context()).length).toBe(1);
        expect(planOlder(resource, older, brand, null, context())).toEqual([]);
      }
    }
  });

  test('asks for each day from the first with a row to the end of the range', () => {
    for (const resource of histories) {
      const [chain] = planBrand(catalogue, brandOf(9), context({ wanted: new Set([resource.name]) })) as [Chain];
      const days = planDays(resource, chain, dayBefore(4), context()).filter(({ fixed }) => {
        return Object.keys(chain.fixed).every((name) => name.startsWith('range_') || fixed[name] === chain.fixed[name]);
      });
      expect(days.map(({ from, to }) => [from, to])).toEqual(
        [4, 3, 2, 1, 0].map((age) => [dayBefore(age), dayBefore(age)]),
      );
    }
  });
});

describe('the plan of everything', () => {
  test('asks every endpoint but details, and none twice', () => {
    const chains = [...planWorkspace(catalogue, context()), ...planBrand(catalogue, brandOf(9), context())];
    expect(new Set(chains.map(({ id }) => id)).size).toBe(chains.length);
    const asked = new Set(chains.map(({ resource }) => resource));
    for (const { name, change } of catalogue.resources) {
      const comesLater = change.kind === 'detail' || (change.kind === 'window' && change.census !== undefined);
      expect(asked.has(name), name).toBe(!comesLater);
    }
    for (const chain of chains) expect(chain.path).not.toMatch(/[{}]/);
  });

  test('of one resource asks for it and what it needs', () => {
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
