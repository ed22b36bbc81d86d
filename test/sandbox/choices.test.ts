import { expect, test } from 'vitest';
import type { Choices } from '../../schemas/fixtures/choices.ts';
import { type Body, type Opened, open } from './helpers.ts';

async function openWith(choices: Partial<Choices>): Promise<Opened & { base: string }> {
  const opened = await open({ choices });
  return { ...opened, base: `/brands/${(await opened.brandIds())[0]}` };
}

test('lists can be bare or under data, with engines as objects or as strings', async () => {
  const { get, base } = await openWith({ listEnvelope: 'bare', engineItems: 'strings' });
  const standard = await openWith({});
  for (const path of ['/brands', `${base}/competitors`]) {
    expect((await get(path)).body).toEqual((await standard.get(path)).body.data);
  }
  const slugs = (await standard.get('/engines')).body.data.map(({ slug }: Body) => slug);
  expect((await get('/engines')).body).toEqual(slugs);
});

test('combined daily rows have no engine, null or "all", as chosen', async () => {
  for (const [combinedEngine, has] of [
    ['null', null],
    ['all', 'all'],
    ['absent', undefined],
  ] as const) {
    const { get, base } = await openWith({ combinedEngine });
    const { body } = await get(`${base}/metrics/daily`, { breakdown: 'none' });
    expect(body.data.every(({ engine }: Body) => engine === has)).toBe(true);
    expect('engine' in body.data[0]).toBe(combinedEngine !== 'absent');
  }
});

test('credits have each of their forms', async () => {
  const { credits } = (await (await openWith({})).get('/credits')).body;
  expect(credits).toBeGreaterThan(0);
  expect((await (await openWith({ credits: 'number' })).get('/credits')).body).toBe(credits);
  expect((await (await openWith({ credits: 'detailed' })).get('/credits')).body.balance).toBe(credits);
  expect((await (await openWith({ credits: 'nested' })).get('/credits')).body.data.remaining).toBe(credits);
});

test('items can have extra fields, timestamps without milliseconds, and single objects an envelope', async () => {
  const { get, base, sandbox } = await openWith({ extraFields: true, timestamps: 'seconds', wrapObjects: true });
  const { data } = (await get(base)).body;
  expect(base).toContain(data.id);
  expect(data.createdAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  const [answer] = (await get(`${base}/responses`)).body.data;
  expect(answer.createdAt).toMatch(/:\d\dZ$/);
  expect(answer).toHaveProperty('zz_flag', true);
  expect((await get(`${base}/metrics`)).body).toHaveProperty('responses');
  expect(sandbox.counts.byStatus[500]).toBeUndefined();
});

test('empty values can be zero, null or absent', async () => {
  const never = { from: '2025-01-01', to: '2025-01-03' };
  const nulls = await openWith({ emptyShare: null, emptyDays: 'zero', unknownEngine: 'empty', ungrouped: 'null' });
  const [brand] = (await nulls.get(`${nulls.base}/metrics`, never)).body.data;
  expect(brand).toMatchObject({ visibility: null, shareOfVoice: null });
  const standard = await openWith({});
  const daily = `${nulls.base}/metrics/daily`;
  const [more, less] = [(await nulls.get(daily)).body.data, (await standard.get(daily)).body.data];
  expect(more.length).toBeGreaterThan(less.length);
  expect(more.filter(({ responses }: Body) => responses > 0)).toEqual(less);
  expect((await nulls.get(`${nulls.base}/metrics`, { engine: 'copilot' })).body.responses).toBe(0);
  expect((await standard.get(`${nulls.base}/metrics`, { engine: 'copilot' })).status).toBe(400);
  const groups = (await nulls.get(`${nulls.base}/metrics/groups`)).body.data;
  expect(groups.at(-1).groupId).toBeNull();
  const all = await openWith({ groupPrompts: 'all' });
  const listed = (await all.get(`${all.base}/prompts`, { includePaused: true })).body.data;
  for (const row of (await all.get(`${all.base}/metrics/groups`, { groupBy: 'branded' })).body.data) {
    const branded = row.groupId === 'branded';
    expect(row.prompts).toBe(listed.filter((prompt: Body) => prompt.branded === branded).length);
  }
});
