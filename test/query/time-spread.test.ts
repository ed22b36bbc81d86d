import { describe, expect, it } from 'vitest';
import { createTimeSpreads, expectedStart } from '../../src/query/time-spread.ts';

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

it('reads how rows are spread once for each table and brand, again after a query that failed', async () => {
  const spreads = createTimeSpreads();
  const statements: string[] = [];
  const place = { table: 'alerts', column: 'detected_at', brandId: null };
  const query = async (sql: string): Promise<unknown[][]> => {
    statements.push(sql);
    if (statements.length === 1) throw new Error('stopped');
    return statements.length === 2 ? [[4, 1_000, 9_000]] : [[0, null, null]];
  };
  await expect(spreads.of(query, place)).rejects.toThrow('stopped');
  expect(await spreads.of(query, place)).toEqual({ rows: 4, oldestMs: 1_000, newestMs: 9_000 });
  expect(await spreads.of(query, place)).toEqual({ rows: 4, oldestMs: 1_000, newestMs: 9_000 });
  expect(await spreads.of(query, { ...place, brandId: 'a' })).toBe(null);
  expect(await spreads.of(query, { ...place, brandId: 'a' })).toBe(null);
  expect(statements).toHaveLength(3);
});
