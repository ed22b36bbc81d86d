import { describe, expect, test } from 'vitest';
import { declarations } from '../../../schemas/catalogue.ts';
import { createCatalogue } from '../../../src/contract/catalogue.ts';
import { createTimeCheck, firstPlannedDay, plausibleSince } from '../../../src/contract/plausibility/item-times.ts';
import { createRowReader } from '../../../src/contract/rows.ts';

const TODAY = '2026-03-15';
const BRAND = '00000000-0000-4000-8000-00000000000a';
const catalogue = createCatalogue(declarations);
const UNBOUNDED = { itemsMax: Number.POSITIVE_INFINITY, bytes: 0, isDamaged: false };

/** Reads a page with one item with these fields and returns the reason for its rejection. */
function refused(name: string, fields: object, range: { from: string; to: string } | null = null): string | null {
  const resource = catalogue.get(name);
  const item = { id: BRAND, ...fields };
  const check = createTimeCheck(resource, { range, today: TODAY });
  const [rows] = createRowReader(catalogue, resource).read(
    { data: [item] },
    { brand_id: BRAND },
    { ...UNBOUNDED, check },
  );
  expect(rows?.seen, 'a refused item is no deletion').toHaveLength(1);
  expect((rows?.rows.length ?? 0) + (rows?.rejected.length ?? 0)).toBe(1);
  return rows?.rejected[0]?.reason ?? null;
}

describe('an item of a requested range', () => {
  const range = { from: '2026-03-10', to: '2026-03-12' };
  const reasonOf = (createdAt: string | null) => refused('responses', { createdAt }, range);

  test('is stored if its time is within the requested days, up to the last microsecond', () => {
    for (const time of [
      '2026-03-10T00:00:00Z',
      '2026-03-12T23:59:59.999999Z',
      '2026-03-13T01:59:59+02:00',
      '2026-03-09T22:00:00-02:00',
    ])
      expect(reasonOf(time), time).toBeNull();
  });

  test('is rejected if its time is outside, with its time in UTC and the range in the reason', () => {
    expect(reasonOf('0001-01-01T00:00:00Z')).toBe(
      'createdAt is 0001-01-01 00:00:00.000000; allowed: the requested days 2026-03-10 to 2026-03-12',
    );
    for (const time of [
      '2026-03-09T23:59:59.999Z',
      '2026-03-13T00:00:00Z',
      '2026-03-10T01:00:00+02:00',
      '9999-12-31T23:59:59Z',
    ])
      expect(reasonOf(time), time).toContain('allowed: the requested days');
    expect(reasonOf(null)).toContain('createdAt is null');
  });
});

describe('an item of a full list', () => {
  test('is rejected if one of its times is before 2015 or after tomorrow', () => {
    expect(refused('alerts', { detectedAt: '2015-01-01T00:00:00Z' })).toBeNull();
    expect(refused('alerts', { detectedAt: '2026-03-16T23:59:59Z' })).toBeNull();
    expect(refused('alerts', { detectedAt: null })).toBeNull();
    expect(refused('alerts', { detectedAt: '2014-12-31T23:59:59Z' })).toBe(
      'detectedAt is 2014-12-31 23:59:59.000000; allowed: 2015-01-01 to 2026-03-16',
    );
    expect(refused('alerts', { detectedAt: '2026-03-17T00:00:00Z' })).toContain('detectedAt');
    expect(refused('prompts', { lastCheckedAt: '9999-12-31T00:00:00Z' })).toContain('lastCheckedAt');
  });

  test('may be older if its resource declares `earliest`', () => {
    expect(refused('forum_opportunities', { postedAt: '2006-06-01T00:00:00Z' })).toBeNull();
    expect(refused('forum_opportunities', { postedAt: '1989-12-31T00:00:00Z' })).toContain('postedAt');
  });

  test('is never rejected if it is a brand; only its implausible start is ignored', () => {
    expect(refused('brands', { createdAt: '0001-01-01T00:00:00Z' })).toBeNull();
    expect(plausibleSince('0001-01-01', TODAY)).toBeNull();
    expect(plausibleSince('2026-03-17', TODAY)).toBeNull();
    expect(plausibleSince('2024-05-06', TODAY)).toBe('2024-05-06');
  });
});

test('plans begin no earlier than 2015 and at most 20 ranges of 366 days ago', () => {
  expect(firstPlannedDay(TODAY)).toBe('2015-01-01');
  expect(firstPlannedDay('2040-01-01')).toBe('2019-12-17');
});
