import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { daysInRange, RANGE_DAYS_MAX } from '../../src/contract/time.ts';
import { packWindows, pagesPerWindow } from '../../src/sync/plan/windows.ts';
import { countOf } from '../support/counts.ts';
import { counts, dayBefore, daysOf, range, TODAY } from './day-ranges.ts';

describe('packed windows', () => {
  test('cover the range without gaps or overlaps, none too long, and skip covered days', () => {
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
      { numRuns: countOf(60, 400) },
    );
  });

  test('are full, except the last one before a gap', () => {
    const many = new Map(daysOf({ from: dayBefore(99), to: TODAY }).map((day) => [day, 70]));
    const windows = packWindows({
      range: { from: dayBefore(99), to: TODAY },
      counts: many,
      skip: [],
      pageItems: 100,
      pagesMin: 3,
    });
    for (const { items } of windows.slice(0, -1)) {
      expect(items).toBeGreaterThanOrEqual(270);
      expect(items / (100 * Math.ceil(items / 100))).toBeGreaterThanOrEqual(0.98);
    }
  });

  test('need few more requests than full pages, for any number of items per day', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 5, max: 2_000 }),
        fc.integer({ min: 90, max: 366 }),
        fc.nat(1_000),
        (base, days, seed) => {
          const counted = new Map(
            daysOf({ from: dayBefore(days - 1), to: TODAY }).map((day, index) => [
              day,
              Math.round(base * (0.6 + (((index + seed) * 7919) % 97) / 120)),
            ]),
          );
          const items = [...counted.values()].reduce((sum, count) => sum + count, 0);
          const pagesMin = pagesPerWindow(items, 100, 8);
          const range = { from: dayBefore(days - 1), to: TODAY };
          const windows = packWindows({ range, counts: counted, skip: [], pageItems: 100, pagesMin });
          const requests = windows.reduce((sum, window) => sum + Math.ceil(window.items / 100), 0);
          expect(requests).toBeLessThanOrEqual(Math.ceil(1.05 * (items / 100)) + 2);
        },
      ),
    );
  });

  test('have 1 to 20 pages and are numerous enough to keep every connection busy', () => {
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
