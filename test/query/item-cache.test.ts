import { randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { defaultConventions } from '../../src/analytics/calibration/conventions.ts';
import { readConventions } from '../../src/analytics/calibration/findings.ts';
import { toExactJson } from '../../src/base/json.ts';
import { addDays, DAY_MAX } from '../../src/contract/time.ts';
import type { Place } from '../../src/query/cached-items.ts';
import { createService } from '../../src/query/create-service.ts';
import {
  BATCH_ITEMS,
  type CachedList,
  createItemCache,
  type ItemCache,
  MISSES_LEAST,
  type ReadBatch,
} from '../../src/query/item-cache.ts';
import { createItemSpill } from '../../src/query/item-spill.ts';
import type { Answer, Service } from '../../src/query/service.ts';
import { REPLICA_OPTIONS } from '../../src/warehouse/replica.ts';
import { countOf } from '../support/counts.ts';
import { temporaryFolder } from '../support/folders.ts';
import { askService, type Mirror, openMirror } from './mirror.ts';

/** Paged lists; only the first has a range. */
const LISTS = ['responses', 'alerts', 'forum/opportunities'];

interface World {
  readonly mirror: Mirror;
  readonly brandId: string;
  /** Answers from memory if it can, never, and from memory or disk. */
  readonly services: readonly [Service, Service, Service];
}

// Many responses have the same time; some have undeclared members or numbers that doubles cannot represent.
async function openWorld(world: 'small' | 'tiny'): Promise<World> {
  const mirror = await openMirror({ world, conventions: defaultConventions });
  await mirror.warehouse().database.transaction(async ({ run }) => {
    await run('INSERT INTO responses SELECT r.* REPLACE (uuid() AS id) FROM responses r, range(4)');
    for (const table of ['responses', 'response_citations', 'response_competitors'])
      await run(`UPDATE ${table} SET created_at = date_trunc('hour', created_at) WHERE created_at IS NOT NULL`);
    await run(
      `UPDATE responses SET _extra = '{"added":12345678901234567890,"é":"\\u0000items"}' WHERE hash(id) % 5 = 0`,
    );
    await run(`UPDATE responses SET _deleted_at = TIMESTAMP '2026-03-15' WHERE hash(id) % 7 = 0`);
  });
  await mirror.publishOnly();
  const secret = randomBytes(32);
  const open = (limits: { readonly itemBytesMax?: number }): Service => {
    const { catalogue, copy: path, clock } = mirror;
    const service = createService({
      ...{ catalogue, path, clock, readConventions, ...limits },
      cursorSecret: secret,
      replica: REPLICA_OPTIONS,
    });
    onTestFinished(() => service.close());
    return service;
  };
  const [brand] = await mirror.query('SELECT CAST(id AS VARCHAR) AS id FROM brands ORDER BY name');
  return {
    mirror,
    brandId: String(brand?.['id']),
    services: [open({}), open({ itemBytesMax: 0 }), open({ itemBytesMax: 100_000 })],
  };
}

async function answerOf(service: Service, path: string): Promise<Answer> {
  return (await askService(service, path)).answer();
}

function textOf({ pieces, body }: Answer): string {
  return pieces?.join('') ?? toExactJson(body);
}

test(
  'pages from memory and disk are those of SQL, byte for byte, for random ranges, limits and cursors',
  { timeout: 300_000 },
  async () => {
    const { mirror, brandId, services } = await openWorld('small');
    const [remembering, forgetful, spilling] = services;
    for (const list of LISTS) {
      for (let time = 0; time < 2; time++) {
        await answerOf(remembering, `/brands/${brandId}/${list}`);
        await answerOf(spilling, `/brands/${brandId}/${list}`);
      }
    }
    await (await remembering.newest()).items.settled();
    await (await spilling.newest()).items.settled();
    const oldest = `/brands/${brandId}/responses?to=2026-03-08&limit=3`;
    expect((await answerOf(spilling, oldest)).pieces).toBeUndefined();
    for (let time = 1; time < MISSES_LEAST; time++) await answerOf(spilling, oldest);
    await (await spilling.newest()).items.settled();
    expect((await answerOf(spilling, oldest)).pieces).toBeDefined();
    const day = (earliest: number) =>
      fc.option(fc.integer({ min: earliest, max: 8 }).map((days) => addDays('2026-03-07', days)));
    const [some] = await mirror.query(
      'SELECT min(engine) AS engine, CAST(min(prompt_id) AS VARCHAR) AS prompt FROM responses WHERE engine IS NOT NULL',
    );
    const filters: [string, string][] = [
      ['engine', String(some?.['engine'])],
      ['promptId', String(some?.['prompt'])],
      ['brandMentioned', 'true'],
      ['branded', 'non-branded'],
    ];
    const [count] = await mirror.query(
      `SELECT count(*) AS n FROM responses WHERE _deleted_at IS NULL AND brand_id = '${brandId}'`,
    );
    expect(Number(count?.['n'])).toBeGreaterThan(BATCH_ITEMS);
    const counts = new Map<Service, number>();
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          list: fc.constantFrom('responses', 'responses', ...LISTS),
          from: day(-3),
          to: day(0),
          limit: fc.constantFrom(1, 2, 7, 40, 100),
          pages: fc.integer({ min: 1, max: 4 }),
          filter: fc.option(fc.constantFrom(...filters)),
        }),
        async ({ list, from, to, limit, pages, filter }) => {
          const query = new URLSearchParams({ limit: String(limit) });
          if (list === 'responses' && filter !== null) query.set(...filter);
          if (list === 'responses' && from !== null) query.set('from', from);
          if (list === 'responses' && to !== null && (from === null || from <= to)) query.set('to', to);
          for (let page = 0; page < pages; page++) {
            const path = `/brands/${brandId}/${list}?${query}`;
            const computed = await answerOf(forgetful, path);
            expect(computed.pieces).toBeUndefined();
            for (const service of [remembering, spilling]) {
              const cached = await answerOf(service, path);
              expect(textOf(cached)).toBe(textOf(computed));
              expect(cached.nextCursor).toBe(computed.nextCursor);
              expect(cached.list?.rows.rows()).toEqual(computed.list?.rows.rows());
              if (cached.pieces !== undefined) counts.set(service, (counts.get(service) ?? 0) + 1);
            }
            if (computed.nextCursor === null) break;
            query.set('cursor', computed.nextCursor);
          }
        },
      ),
      { numRuns: countOf(120, 300) },
    );
    expect(counts.get(remembering)).toBeGreaterThan(100);
    // Filtered pages come from memory only.
    expect(counts.get(spilling)).toBeGreaterThan(30);
  },
);

test('a new replica answers with its own items, and readers get those of their brands only', async () => {
  const { mirror, brandId, services } = await openWorld('tiny');
  const [service] = services;
  const path = `/brands/${brandId}/responses?limit=5`;
  for (let time = 0; time < 2; time++) await answerOf(service, path);
  await (await service.newest()).items.settled();
  const before = await answerOf(service, path);
  await expect(answerOf(service.limitedTo([]), path)).rejects.toMatchObject({ code: 'not_found' });
  expect((await answerOf(service.limitedTo([brandId]), path)).pieces).toEqual(before.pieces);
  await mirror.warehouse().database.exclusive(({ run }) => run("UPDATE responses SET prompt = 'changed'"));
  await mirror.publishOnly();
  for (let time = 0; time < 3; time++) {
    await (await service.newest()).items.settled();
    const { body } = await answerOf(service, path);
    expect(JSON.stringify(body)).toContain('"changed"');
  }
  expect(before.pieces).toBeDefined();
  expect(textOf(before)).toMatch(/^\{"data":\[\{(?!.*"changed")/);
});

const NEWEST = Date.parse('2026-03-15T12:00:00Z');

function placeAt(index: number): Place {
  const time = new Date(NEWEST - index * 60_000).toISOString();
  return { id: String(index), at: `${time.slice(0, 10)} ${time.slice(11, 19)}` };
}

// A list of one item a minute, newest first.
function minutes(count: number): ReadBatch {
  return async (after) => {
    const start = after === null ? 0 : Number(after.id) + 1;
    const end = Math.min(count, start + BATCH_ITEMS);
    const places = Array.from({ length: end - start }, (_, index) => placeAt(start + index));
    return { places, texts: places.map(({ id }) => id), hasMore: end < count };
  };
}

async function filled(cache: ItemCache, read: ReadBatch): Promise<CachedList> {
  expect(cache.list('list', read)).toBe(null);
  expect(cache.known('list')).toBe(null);
  expect(cache.list('list', read)).not.toBe(null);
  await cache.settled();
  return cache.known('list') as CachedList;
}

test('beyond the limit of memory, only the newest items are cached', async () => {
  const list = await filled(createItemCache(50_000), minutes(5_000));
  expect(list.isInMemory()).toBe(false);
  const page = (from: string, to: string, limit: number) => list.page({ range: { from, to }, after: null, limit });
  const last = { id: '2', at: '2026-03-15 11:58:00' };
  expect(await page('2026-03-15', DAY_MAX, 3)).toEqual({ pieces: [Buffer.from('0,1,2')], last });
  expect((await page('2026-03-01', '2026-03-15', 200))?.pieces.join('').split(',')).toHaveLength(200);
  expect(await page('2026-03-01', '2026-03-15', BATCH_ITEMS)).toBe(null);
  expect(await page('2026-03-13', '2026-03-13', 10)).toBe(null);
  expect(await page('2026-03-16', '2026-03-17', 10)).toEqual({ pieces: [], last: null });
  expect(list.pick([last, { id: '0', at: '2026-03-15 12:00:00' }])?.toString()).toBe('2,0');
  expect(list.pick([last, { id: '4999', at: '2026-03-12 00:41:00' }])).toBe(null);
});

// Creates a cache for 300 items in memory and `bytesMax` bytes on disk, and requests the oldest page until the list is spilled.
async function spilled(bytesMax: number, path: string, read = minutes(5_000)) {
  const cache = createItemCache(50_000, createItemSpill(path, bytesMax));
  onTestFinished(() => cache.close());
  const list = await filled(cache, read);
  const oldest = { range: { from: '2026-03-12', to: '2026-03-12' }, after: null, limit: 10 };
  for (let time = 1; time < MISSES_LEAST; time++) expect(await list.page(oldest)).toBe(null);
  await cache.settled();
  expect(await list.page(oldest)).toBe(null);
  await cache.settled();
  return { cache, list, page: () => list.page(oldest) };
}

test('after enough pages that are not in memory, further items are cached in a file without a name', async () => {
  const folder = await temporaryFolder();
  const { cache, list, page } = await spilled(1_000_000, join(folder, 'spill'));
  expect(await readdir(folder)).toEqual([]);
  const idsFrom = (from: number, to: number): string =>
    Array.from({ length: to - from }, (_, index) => from + index).join(',');
  // The last minute of the day is 3,601 minutes before the newest item.
  expect((await page())?.pieces.join('')).toBe(idsFrom(3_601, 3_611));
  const range = { from: '2026-03-01', to: DAY_MAX };
  for (const start of [1, 250, 298, 299, 300, 399, 4_899, 4_985, 4_999]) {
    const found = await list.page({ range, after: placeAt(start - 1), limit: 150 });
    const end = Math.min(5_000, start + 150);
    expect(found?.pieces.join('')).toBe(idsFrom(start, end));
    expect(found?.last).toEqual(end === 5_000 ? null : placeAt(end - 1));
  }
  // The page ends exactly where the range does.
  expect(
    (await list.page({ range: { from: '2026-03-14', to: DAY_MAX }, after: placeAt(2_099), limit: 61 }))?.last,
  ).toBe(null);
  expect(list.isInMemory()).toBe(false);
  expect(list.pick([{ id: '4999', at: '2026-03-12 00:41:00' }])).toBe(null);
  await cache.close();
  expect(await page()).toBe(null);
});

test('without room on disk, or without a folder, only the items in memory are cached', async () => {
  const folder = await temporaryFolder();
  for (const [bytesMax, path] of [
    [0, join(folder, 'spill')],
    [1_000_000, join(folder, 'none', 'spill')],
  ] as const) {
    const { list, page } = await spilled(bytesMax, path);
    expect(await page()).toBe(null);
    expect((await list.page({ range: null, after: null, limit: 2 }))?.pieces.join('')).toBe('0,1');
  }
});

test('times beyond year 9999 and before year 1 exclude a list from the cache', async () => {
  for (const at of ['2026-03-15', '10000-01-01 00:00:00', '0044-03-15 (BC) 00:00:00']) {
    const read = async () => ({ texts: ['1'], places: [{ id: '1', at }], hasMore: false });
    const list = await filled(createItemCache(), read);
    expect(await list.page({ range: null, after: null, limit: 1 }), at).toBe(null);
  }
});

test('after an error, the items read so far stay cached', async () => {
  const known = minutes(1_000);
  const read: ReadBatch = (after) => (after === null ? known(null) : Promise.reject(new Error('closed')));
  const list = await filled(createItemCache(), read);
  expect((await list.page({ range: null, after: null, limit: 2 }))?.pieces.join('')).toBe('0,1');
  expect(await list.page({ range: null, after: null, limit: BATCH_ITEMS })).toBe(null);
});

test('items without a time follow the others, and places that are gone are not found', async () => {
  const places = [
    { id: 'a', at: '2026-03-15 10:00:00.5' },
    { id: 'b', at: '2026-03-15 10:00:00.45' },
    { id: 'c', at: '2026-03-15 10:00:00' },
    { id: 'd', at: '2026-03-15 10:00:00' },
    { id: 'e', at: null },
    { id: 'f', at: null },
  ];
  const itemsOf = (some: readonly Place[]): Buffer => Buffer.from(some.map(({ id }) => `"${id}"`).join(','));
  const read = async () => ({ texts: places.map((place) => String(itemsOf([place]))), places, hasMore: false });
  const list = await filled(createItemCache(), read);
  const page = (after: Place | null, limit: number) => list.page({ range: null, after, limit });
  for (const [index, place] of places.entries()) {
    const rest = places.slice(index + 1, index + 3);
    const last = index + 3 < places.length ? (rest.at(-1) ?? null) : null;
    expect(await page(place, 2)).toEqual({ pieces: rest.length === 0 ? [] : [itemsOf(rest)], last });
  }
  expect(list.pick(places.toReversed())).toEqual(itemsOf(places.toReversed()));
  for (const at of ['2026-03-15 10:00:00', null]) {
    expect(await page({ id: 'g', at }, 2)).toBe(null);
    expect(list.pick([{ id: 'g', at }])).toBe(null);
  }
});
