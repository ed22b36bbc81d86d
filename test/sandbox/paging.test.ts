import { expect, test } from 'vitest';
import { declarations } from '../../schemas/catalogue.ts';
import { type Body, NOW_MS, open } from './helpers.ts';

const paged = declarations.filter(({ paging }) => paging === 'cursor');
const list = paged[0]?.path.replace(/^\/[^/]+\/\{\w+\}/, '') as string;

test.each(paged.map((declaration) => [declaration.name, declaration] as const))(
  'pages of %s contain every item once, in order, for any page size',
  async (_, declaration) => {
    const { get, walk, brandIds } = await open();
    const path = declaration.path.replace('{brandId}', (await brandIds())[0] as string);
    const max = declaration.query['limit']?.max as number;
    const whole = await walk(path, { limit: max });
    expect(whole.length).toBeGreaterThan(10);
    expect(new Set(whole.map(({ id }) => id)).size).toBe(whole.length);
    expect(await walk(path, { limit: 7 })).toEqual(whole);
    expect(await walk(path)).toEqual(whole);
    const first = (await get(path)).body;
    expect(first.data).toHaveLength(Math.min(declaration.query['limit']?.default as number, whole.length));
    const exact = (await get(path, { limit: Math.min(max, whole.length) })).body;
    expect(exact.nextCursor === null).toBe(whole.length <= max);
  },
);

test('items with equal times are neither lost nor repeated between pages of one item', async () => {
  const { walk, brandIds } = await open({ days: 3, prompts: 30 });
  const path = `/brands/${(await brandIds())[0]}${list}`;
  const single = await walk(path, { limit: 1 });
  const times = single.map(({ createdAt }) => createdAt);
  expect(new Set(times).size).toBeLessThan(times.length);
  expect(single).toEqual(await walk(path, { limit: 100 }));
});

test('a paged scan stays complete while new responses are added at the head', async () => {
  const { get, walk, sandbox, brandIds } = await open();
  const path = `/brands/${(await brandIds())[0]}${list}`;
  const before = await walk(path, { from: '2026-03-01', limit: 100 });
  const first = (await get(path, { from: '2026-03-01', limit: 10 })).body;
  sandbox.advance({ days: 0.2 });
  const rest: Body[] = [];
  let cursor: string | null = first.nextCursor;
  while (cursor !== null) {
    const { body }: Body = await get(path, { from: '2026-03-01', limit: 10, cursor });
    rest.push(...body.data);
    cursor = body.nextCursor;
  }
  expect([...first.data, ...rest].map(({ id }) => id)).toEqual(before.map(({ id }) => id));
  expect((await get(path)).body.data[0].id).not.toBe(first.data[0].id);
});

test('a cursor is rejected if malformed, foreign or expired, or if a parameter has changed', async () => {
  let nowMs = NOW_MS;
  const { get, brandIds } = await open({ clock: () => nowMs, cursorLifetimeMs: 60_000 });
  const [own, other] = (await brandIds()).map((id) => `/brands/${id}${list}`) as [string, string];
  const { nextCursor } = (await get(own, { limit: 5 })).body;
  expect((await get(own, { limit: 5, cursor: nextCursor })).status).toBe(200);
  const middle = Math.floor(nextCursor.length / 2);
  const garbled = `${nextCursor.slice(0, middle)}${nextCursor[middle] === 'A' ? 'B' : 'A'}${nextCursor.slice(middle + 1)}`;
  const refused = [
    await get(own, { limit: 5, cursor: garbled }),
    await get(own, { limit: 5, cursor: `${nextCursor}!` }),
    await get(own, { limit: 5, cursor: 'nonsense' }),
    await get(own, { limit: 6, cursor: nextCursor }),
    await get(own, { limit: 5, cursor: nextCursor, from: '2026-03-01' }),
    await get(other, { limit: 5, cursor: nextCursor }),
  ];
  nowMs += 61_000;
  refused.push(await get(own, { limit: 5, cursor: nextCursor }));
  for (const { status, body } of refused) {
    expect(status).toBe(400);
    expect(body.error).toMatchObject({ code: 'invalid_parameter', message: expect.stringContaining('cursor') });
  }
});

test('the range of the first page applies to all pages, even across midnight', async () => {
  let nowMs = Date.parse('2026-03-15T23:59:59Z');
  const { get, walk, brandIds } = await open({ clock: () => nowMs, days: 40 });
  const path = `/brands/${(await brandIds())[0]}${list}`;
  const whole = await walk(path, { limit: 100 });
  let { data, nextCursor }: Body = (await get(path, { limit: 100 })).body;
  const ids = data.map(({ id }: Body) => id);
  nowMs += 5000;
  while (nextCursor !== null) {
    ({ data, nextCursor } = (await get(path, { limit: 100, cursor: nextCursor })).body);
    ids.push(...data.map(({ id }: Body) => id));
  }
  expect(ids).toEqual(whole.map(({ id }) => id));
});
