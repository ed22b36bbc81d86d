import { expect, test } from 'vitest';
import { declarations } from '../../schemas/catalogue.ts';
import type { WorkspaceOptions } from '../../schemas/fixtures/start.ts';
import type { Advance } from '../../schemas/fixtures/world/model.ts';
import { type Body, NOW_MS, type Opened, open } from './helpers.ts';

const DAY_MS = 86_400_000;

/** All responses reachable from the lists, as one text. */
async function everything({ get, brandIds }: Opened): Promise<string> {
  const texts: string[] = [];
  for (const id of await brandIds()) {
    for (const { path } of declarations) {
      if (!path.includes('{articleId}')) texts.push((await get(path.replace('{brandId}', id))).text);
    }
  }
  return texts.join('\n');
}

async function brandPath({ brandIds }: Opened): Promise<string> {
  return `/brands/${(await brandIds())[0]}`;
}

async function idsIn({ get }: Opened, path: string, query: Record<string, boolean> = {}): Promise<string[]> {
  return (await get(path, query)).body.data.map(({ id }: Body) => id);
}

function idsOf(changes: readonly { readonly ids: readonly string[] }[]): string[] {
  return changes.flatMap(({ ids }) => ids);
}

test('the same seed and clock give the same bytes in any order of requests, another seed does not', async () => {
  const [first, second, other] = [await open(), await open(), await open({ seed: 2 })];
  for (const { get, brandIds } of [second]) {
    await get(`/brands/${(await brandIds())[1]}/responses`, { from: '2026-03-02', to: '2026-03-02' });
  }
  const text = await everything(first);
  expect(text.length).toBeGreaterThan(100_000);
  expect(await everything(second)).toBe(text);
  expect(await everything(other)).not.toBe(text);
});

test('changes are the same for the same seed, and a day does not depend on when it was first read', async () => {
  const change: Advance = { days: 2, lateAnswers: 3, editedResponses: 4, deletedResponses: 2, pausedPrompts: 2 };
  const [first, second] = [await open(), await open()];
  await everything(first);
  expect(first.sandbox.advance(change)).toEqual(second.sandbox.advance(change));
  first.sandbox.advance({ days: 3 });
  second.sandbox.advance({ days: 3 });
  expect(await everything(first)).toBe(await everything(second));
});

test('history begins with the brand and continues as time passes', async () => {
  let nowMs = NOW_MS;
  const opened = await open({ clock: () => nowMs, days: 12 });
  const { walk, get } = opened;
  const path = await brandPath(opened);
  const { createdAt } = (await get(path)).body;
  expect(createdAt).toBe('2026-03-04T00:00:00.000Z');
  const before = await walk(`${path}/responses`, { limit: 100 });
  expect(new Set(before.map((answer) => answer.createdAt.slice(0, 10))).size).toBe(12);
  nowMs += 5 * 3_600_000;
  const after = await walk(`${path}/responses`, { limit: 100 });
  expect(after.length).toBeGreaterThan(before.length);
  expect(after[0].createdAt > before[0].createdAt).toBe(true);
  const checked = (await get(`${path}/prompts`)).body.data.map(({ lastCheckedAt }: Body) => lastCheckedAt);
  expect(checked.toSorted().at(-1)).toBe(after[0].createdAt);
});

test('advancing days adds responses, alerts, visits and threads, and late responses to past days', async () => {
  const opened = await open({ prompts: 40 });
  const path = await brandPath(opened);
  const read = async (): Promise<Body[][]> => [
    await opened.walk(`${path}/responses`, { from: '2026-02-01', limit: 100 }),
    await opened.walk(`${path}/alerts`),
    await opened.walk(`${path}/forum/opportunities`),
    (await opened.get(`${path}/traffic`)).body.data,
  ];
  const before = await read();
  opened.sandbox.advance({ days: 5 });
  const after = await read();
  for (const [index, list] of before.entries()) expect(after[index]?.length).toBeGreaterThan(list.length);
  const known = new Set(before[0]?.map(({ id }) => id));
  const late = after[0]?.filter(({ id, createdAt }) => !known.has(id) && createdAt < '2026-03-15T00:00:00');
  expect(late?.length).toBeGreaterThan(0);
});

test('late, edited and deleted responses appear in the lists and the counts', async () => {
  const opened = await open({ brands: 1 });
  const path = await brandPath(opened);
  const read = async (): Promise<Map<string, Body>> => {
    const list = await opened.walk(`${path}/responses`, { from: '2026-02-20', limit: 100 });
    return new Map(list.map((answer) => [answer.id, answer]));
  };
  const before = await read();
  const late = idsOf(opened.sandbox.advance({ lateAnswers: 5 }));
  const edited = idsOf(opened.sandbox.advance({ editedResponses: 6 }));
  const deleted = idsOf(opened.sandbox.advance({ deletedResponses: 7 }));
  expect([late.length, edited.length, deleted.length]).toEqual([5, 6, 7]);
  const after = await read();
  for (const id of late) {
    expect(before.has(id)).toBe(false);
    if (!deleted.includes(id)) expect(Date.parse(after.get(id).createdAt)).toBeLessThanOrEqual(NOW_MS - DAY_MS);
  }
  for (const id of deleted) expect(after.has(id)).toBe(false);
  for (const id of edited) {
    if (!before.has(id) || deleted.includes(id)) continue;
    expect(after.get(id).brandMentioned).toBe(!before.get(id).brandMentioned);
    expect(after.get(id).createdAt).toBe(before.get(id).createdAt);
  }
  const touched = new Set([...late, ...edited, ...deleted]);
  for (const [id, answer] of before) if (!touched.has(id)) expect(after.get(id)).toEqual(answer);
  const { body } = await opened.get(`${path}/metrics`, { from: '2026-02-20' });
  expect(body.responses).toBe(after.size);
});

test('paused and deleted prompts get no more responses, and responses of deleted prompts still count', async () => {
  const opened = await open({ brands: 1 });
  const path = await brandPath(opened);
  const counted = async (query: Record<string, string> = {}): Promise<number> =>
    (await opened.get(`${path}/metrics`, query)).body.responses;
  const before = await idsIn(opened, `${path}/prompts`, { includePaused: true });
  const total = await counted();
  const [paused = ''] = idsOf(opened.sandbox.advance({ pausedPrompts: 1 }));
  const [deleted = ''] = idsOf(opened.sandbox.advance({ deletedPrompts: 1 }));
  expect(await idsIn(opened, `${path}/prompts`, { includePaused: true })).toEqual(
    before.filter((id) => id !== deleted),
  );
  expect(await idsIn(opened, `${path}/prompts`)).not.toContain(paused);
  expect(await counted()).toBe(total);
  const own = await counted({ promptId: deleted });
  expect(own).toBeGreaterThan(0);
  expect((await counted({ branded: 'branded' })) + (await counted({ branded: 'non-branded' }))).toBe(total - own);
  const rows = (await opened.get(`${path}/metrics/prompts`)).body.data;
  expect(rows.some(({ promptId }: Body) => promptId === deleted)).toBe(false);
  const grouped = (await opened.get(`${path}/metrics/groups`, { groupBy: 'branded' })).body.data;
  expect(grouped.reduce((sum: number, row: Body) => sum + row.responses, 0)).toBeLessThan(total);
  opened.sandbox.advance({ days: 4 });
  const later = await opened.walk(`${path}/responses`, { from: '2026-03-17', limit: 100 });
  expect(later.length).toBeGreaterThan(0);
  expect(later.some(({ promptId }) => promptId === paused || promptId === deleted)).toBe(false);
});

test('a deleted competitor disappears from the list, the numbers and the mentions', async () => {
  const opened = await open({ brands: 1 });
  const path = await brandPath(opened);
  const [id] = idsOf(opened.sandbox.advance({ deletedCompetitors: 1 }));
  expect(await idsIn(opened, `${path}/competitors`)).not.toContain(id);
  const rows = (await opened.get(`${path}/metrics`)).body.data;
  expect(rows.map(({ competitorId }: Body) => competitorId)).not.toContain(id);
  expect(rows.reduce((sum: number, row: Body) => sum + row.shareOfVoice, 0)).toBeCloseTo(100, 0);
  opened.sandbox.advance({ days: 3 });
  const named = (await opened.walk(`${path}/responses`, { from: '2026-03-16', limit: 100 })).flatMap((answer) =>
    answer.competitors.map(({ competitorId }: Body) => competitorId),
  );
  expect(named.length).toBeGreaterThan(0);
  expect(named).not.toContain(id);
});

test('articles are finished with their details, actions are done, and credits decrease', async () => {
  const opened = await open({ brands: 1 });
  const path = await brandPath(opened);
  const done = async (): Promise<string[]> =>
    (await opened.get(`${path}/action-plans`)).body.data
      .flatMap(({ actions }: Body) => actions)
      .filter((action: Body) => action.done)
      .map(({ id }: Body) => id);
  const credits = (await opened.get('/credits')).body.credits;
  const before = await done();
  const finished = idsOf(opened.sandbox.advance({ actionsDone: 3 }));
  expect((await done()).toSorted()).toEqual([...before, ...finished].toSorted());
  for (let turn = 0; turn < 4; turn++) opened.sandbox.advance({ articleProgress: 3 });
  const articles = (await opened.get(`${path}/articles`)).body.data;
  for (const item of articles) {
    const whole = (await opened.get(`${path}/articles/${item.id}`)).body;
    expect(whole).toMatchObject(item);
    expect([item.status, whole.markdown === null, item.completedAt === null]).toEqual(['completed', false, false]);
  }
  expect((await opened.get('/credits')).body.credits).toBeLessThan(credits);
});

test('a deleted brand disappears from the list and returns 404', async () => {
  const { sandbox, get, brandIds } = await open();
  const [, last] = await brandIds();
  expect(sandbox.advance({ deletedBrand: true })).toEqual([{ kind: 'deletedBrand', brandId: last, ids: [last] }]);
  expect(await brandIds()).toHaveLength(1);
  for (const path of ['', '/responses', '/metrics']) expect((await get(`/brands/${last}${path}`)).status).toBe(404);
});

test('a large workspace has the requested number of responses, and pages of each day list all of its responses', async () => {
  const options: WorkspaceOptions = { days: 8, prompts: 50, responsesPerDay: 1667, clock: () => NOW_MS };
  const opened = await open(options);
  const path = await brandPath(opened);
  const { body } = await opened.get(`${path}/metrics/daily`, { from: '2026-01-01', breakdown: 'none' });
  const own = body.data.filter(({ competitorId }: Body) => competitorId === null);
  const total = own.reduce((sum: number, row: Body) => sum + row.responses, 0);
  expect(total).toBeGreaterThan(7 * 1660);
  expect(total).toBeLessThan(8 * 1667);
  const day = await opened.walk(`${path}/responses`, { from: '2026-03-10', to: '2026-03-10', limit: 100 });
  expect(day.length).toBe(own.find(({ date }: Body) => date === '2026-03-10').responses);
});
