import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { readConventions } from '../../src/analytics/calibration/findings.ts';
import { toExactJson } from '../../src/base/json.ts';
import { addDays, DAY_MAX } from '../../src/contract/time.ts';
import { createService } from '../../src/query/create-service.ts';
import { BATCH_ITEMS, createKeptItems, type KeptItems, type Place } from '../../src/query/kept-items.ts';
import type { Answer, Service } from '../../src/query/service.ts';
import { REPLICA_OPTIONS } from '../../src/warehouse/replica.ts';
import { askService, type Mirror, openMirror } from './mirror.ts';

/** Paged lists; only the first has a range. */
const LISTS = ['responses', 'alerts', 'forum/opportunities'];

interface World {
  readonly mirror: Mirror;
  readonly brandId: string;
  /** Answers from memory if it can, and never. */
  readonly services: readonly [Service, Service];
}

// Many responses have the same time; some have undeclared members or numbers that doubles cannot represent.
async function openWorld(): Promise<World> {
  const mirror = await openMirror({ brands: 2, prompts: 6, days: 9 });
  await mirror.publish();
  await mirror.warehouse().database.transaction(async ({ run }) => {
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
  return { mirror, brandId: String(brand?.['id']), services: [open({}), open({ itemBytesMax: 0 })] };
}

async function answerOf(service: Service, path: string): Promise<Answer> {
  return (await askService(service, path)).answer();
}

test('pages from memory are those of SQL, byte for byte, for random ranges, limits and cursors', {
  timeout: 300_000,
}, async () => {
  const { brandId, services } = await openWorld();
  const [remembering, forgetful] = services;
  for (const list of LISTS) {
    for (let time = 0; time < 2; time++) await answerOf(remembering, `/brands/${brandId}/${list}`);
  }
  await (await remembering.newest()).items.settled();
  const day = (earliest: number) =>
    fc.option(fc.integer({ min: earliest, max: 8 }).map((days) => addDays('2026-03-07', days)));
  let fromMemory = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        list: fc.constantFrom('responses', 'responses', ...LISTS),
        from: day(-3),
        to: day(0),
        limit: fc.constantFrom(1, 2, 7, 40, 100),
        pages: fc.integer({ min: 1, max: 4 }),
      }),
      async ({ list, from, to, limit, pages }) => {
        const query = new URLSearchParams({ limit: String(limit) });
        if (list === 'responses' && from !== null) query.set('from', from);
        if (list === 'responses' && to !== null && (from === null || from <= to)) query.set('to', to);
        for (let page = 0; page < pages; page++) {
          const path = `/brands/${brandId}/${list}?${query}`;
          const [kept, computed] = [await answerOf(remembering, path), await answerOf(forgetful, path)];
          expect(computed.text).toBeUndefined();
          expect((kept.text ?? Buffer.from(toExactJson(kept.body))).toString()).toBe(toExactJson(computed.body));
          expect(kept.nextCursor).toBe(computed.nextCursor);
          expect(kept.list?.rows.rows()).toEqual(computed.list?.rows.rows());
          if (kept.text !== undefined) fromMemory += 1;
          if (computed.nextCursor === null) break;
          query.set('cursor', computed.nextCursor);
        }
      },
    ),
    { numRuns: 120 },
  );
  expect(fromMemory).toBeGreaterThan(100);
});

test('filtered pages, and pages for readers of some brands only, use SQL or their own brand', async () => {
  const { mirror, brandId, services } = await openWorld();
  const [service] = services;
  const path = `/brands/${brandId}/responses?limit=3`;
  for (let time = 0; time < 2; time++) await answerOf(service, path);
  await (await service.newest()).items.settled();
  expect((await answerOf(service, path)).text).toBeDefined();
  const [engine] = await mirror.query('SELECT engine FROM responses WHERE engine IS NOT NULL LIMIT 1');
  expect((await answerOf(service, `${path}&engine=${engine?.['engine']}`)).text).toBeUndefined();
  await expect(answerOf(service.limitedTo([]), path)).rejects.toMatchObject({ code: 'not_found' });
  expect((await answerOf(service.limitedTo([brandId]), path)).text).toBeDefined();
});

test('a new replica answers with its own items', async () => {
  const { mirror, brandId, services } = await openWorld();
  const [service] = services;
  const path = `/brands/${brandId}/responses?limit=5`;
  for (let time = 0; time < 2; time++) await answerOf(service, path);
  await (await service.newest()).items.settled();
  const before = await answerOf(service, path);
  await mirror.warehouse().database.exclusive(({ run }) => run("UPDATE responses SET prompt = 'changed'"));
  await mirror.publishOnly();
  for (let time = 0; time < 3; time++) {
    await (await service.newest()).items.settled();
    const { body } = await answerOf(service, path);
    expect(JSON.stringify(body)).toContain('"changed"');
  }
  expect(before.text?.toString()).not.toContain('"changed"');
});

const NEWEST = Date.parse('2026-03-15T12:00:00Z');

// A list of one item a minute, newest first.
function minutes(
  count: number,
): (after: Place | null) => Promise<{ texts: string[]; places: Place[]; hasMore: boolean }> {
  const placeAt = (index: number): Place => {
    const time = new Date(NEWEST - index * 60_000).toISOString();
    return { id: String(index), at: `${time.slice(0, 10)} ${time.slice(11, 19)}` };
  };
  return async (after) => {
    const start = after === null ? 0 : Number(after.id) + 1;
    const end = Math.min(count, start + BATCH_ITEMS);
    const places = Array.from({ length: end - start }, (_, index) => placeAt(start + index));
    return { places, texts: places.map(({ id }) => id), hasMore: end < count };
  };
}

async function filled(kept: KeptItems, read: Parameters<KeptItems['page']>[2]): Promise<void> {
  for (let time = 0; time < 2; time++)
    expect(kept.page('list', { range: null, after: null, limit: 1 }, read)).toBe(null);
  await kept.settled();
}

test('beyond the limit of memory, only the newest items are kept', async () => {
  const kept = createKeptItems(50_000);
  const read = minutes(5_000);
  await filled(kept, read);
  const page = (from: string, to: string, limit: number) =>
    kept.page('list', { range: { from, to }, after: null, limit }, read);
  expect(page('2026-03-15', DAY_MAX, 3)).toEqual({
    text: Buffer.from('0,1,2'),
    last: { id: '2', at: '2026-03-15 11:58:00' },
  });
  expect(page('2026-03-01', '2026-03-15', 200)?.text.toString().split(',')).toHaveLength(200);
  expect(page('2026-03-01', '2026-03-15', 300)).toBe(null);
  expect(page('2026-03-13', '2026-03-13', 10)).toBe(null);
  expect(page('2026-03-16', '2026-03-17', 10)).toEqual({ text: Buffer.alloc(0), last: null });
});

test('a list whose times do not sort as text is not kept', async () => {
  for (const at of ['2026-03-15', '10000-01-01 00:00:00', '0044-03-15 (BC) 00:00:00']) {
    const kept = createKeptItems();
    const read = async () => ({ texts: ['1'], places: [{ id: '1', at }], hasMore: false });
    await filled(kept, read);
    expect(kept.page('list', { range: null, after: null, limit: 1 }, read), at).toBe(null);
  }
});

test('after an error, the items read so far are kept', async () => {
  const kept = createKeptItems();
  const known = minutes(1_000);
  const read: typeof known = (after) => (after === null ? known(null) : Promise.reject(new Error('closed')));
  await filled(kept, read);
  expect(kept.page('list', { range: null, after: null, limit: 2 }, read)?.text.toString()).toBe('0,1');
  expect(kept.page('list', { range: null, after: null, limit: BATCH_ITEMS }, read)).toBe(null);
});

test('items without a time follow the others, and places that are gone are not found', async () => {
  const kept = createKeptItems();
  const places = [
    { id: 'a', at: '2026-03-15 10:00:00.5' },
    { id: 'b', at: '2026-03-15 10:00:00.45' },
    { id: 'c', at: '2026-03-15 10:00:00' },
    { id: 'd', at: '2026-03-15 10:00:00' },
    { id: 'e', at: null },
    { id: 'f', at: null },
  ];
  const read = async () => ({ texts: places.map(({ id }) => `"${id}"`), places, hasMore: false });
  await filled(kept, read);
  const page = (after: Place | null, limit: number) => kept.page('list', { range: null, after, limit }, read);
  for (const [index, place] of places.entries()) {
    const rest = places.slice(index + 1, index + 3);
    const last = index + 3 < places.length ? (rest.at(-1) ?? null) : null;
    expect(page(place, 2)).toEqual({ text: Buffer.from(rest.map(({ id }) => `"${id}"`).join(',')), last });
  }
  expect(page({ id: 'g', at: '2026-03-15 10:00:00' }, 2)).toBe(null);
  expect(page({ id: 'g', at: null }, 2)).toBe(null);
});
