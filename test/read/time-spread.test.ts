import { describe, expect, it } from 'vitest';
import { expectedStart, readSpread } from '../../src/read/time-spread.ts';

const DAY_MS = 86_400_000;
const NEWEST_MS = Date.parse('2026-03-15T00:00:00Z');

/** Rows of 100 days. */
const spread = (rows: number) => ({ rows, oldestMs: NEWEST_MS - 100 * DAY_MS, newestMs: NEWEST_MS });

describe('the expected start of a page', () => {
  it('leaves room for three times the rows of the page, and for more under a filter', () => {
    const page = { count: 100, isFiltered: false };
    expect(expectedStart(spread(30_000), Number.POSITIVE_INFINITY, page)).toBe(NEWEST_MS - DAY_MS);
    expect(expectedStart(spread(30_000), NEWEST_MS - 10 * DAY_MS, page)).toBe(NEWEST_MS - 11 * DAY_MS);
    expect(expectedStart(spread(30_000), NEWEST_MS, { count: 100, isFiltered: true })).toBe(NEWEST_MS - 8 * DAY_MS);
  });

  it('is null if the page may need all rows, also if they are few in many years', () => {
    expect(expectedStart(spread(200), NEWEST_MS, { count: 100, isFiltered: false })).toBe(null);
    const sparse = { rows: 2, oldestMs: Date.parse('1990-01-01T00:00:00Z'), newestMs: NEWEST_MS };
    expect(expectedStart(sparse, NEWEST_MS, { count: 101, isFiltered: true })).toBe(null);
    expect(expectedStart({ ...sparse, oldestMs: NEWEST_MS, rows: 1 }, NEWEST_MS, { count: 1, isFiltered: false })).toBe(
      null,
    );
  });
});

it('reads how rows are spread, and null without rows', async () => {
  const place = { table: 'alerts', column: 'detected_at', brandId: null };
  expect(await readSpread(async () => [[4, 1_000, 9_000]], place)).toEqual({
    rows: 4,
    oldestMs: 1_000,
    newestMs: 9_000,
  });
  expect(await readSpread(async () => [[0, null, null]], { ...place, brandId: 'a' })).toBe(null);
});
