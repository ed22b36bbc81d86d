import { rm, writeFile } from 'node:fs/promises';
import { expect, onTestFinished, test } from 'vitest';
import type { Brief } from '../../../src/metrics/explain/brief-result.ts';
import type { Opportunity } from '../../../src/metrics/explain/opportunity.ts';
import { layoutOf } from '../../../src/publish/snapshot/layout.ts';
import { createKey } from '../../../src/serve/auth/keys.ts';
import { openReplica } from '../../../src/warehouse/replica.ts';
import { type Row, type Table, toRecords } from '../../../src/web/app/state/table.ts';
import { type Mark, readMarks } from '../../../src/workspace/marks-file.ts';
import { renewReplica } from '../../../src/workspace/workspace.ts';
import { contextIn } from '../../operations/world-context.ts';
import { openCopy, serveWorld, sharedBefore } from '../served-world.ts';

const served = sharedBefore(async (closeLater) => {
  const world = await openCopy('small', closeLater);
  const { folder } = world.config;
  const keyOf = async (name: string, scopes: readonly ('metrics' | 'sql')[], brands?: readonly string[]) =>
    (await createKey(folder, name, null, Date.now(), { scopes, ...(brands === undefined ? {} : { brands }) })).text;
  const keys = {
    editor: await keyOf('Ann', ['metrics', 'sql']),
    reader: await keyOf('reader', ['metrics']),
    limited: await keyOf('limited', ['metrics', 'sql'], [world.brands[1]?.id ?? '']),
  };
  const config = { ...world.config, domains: { 'from-the-setting.example': 'press' } };
  const server = await serveWorld(config);
  closeLater(server.close);
  return { ...world, folder, config, keys, baseUrl: server.baseUrl };
});

async function ask(path: string, key: keyof ReturnType<typeof served>['keys'], json?: unknown): Promise<Response> {
  const init = json === undefined ? {} : { method: 'POST', body: JSON.stringify(json) };
  const headers = { 'x-api-key': served().keys[key], 'content-type': 'application/json' };
  return fetch(new URL(`/data${path}`, served().baseUrl), { ...init, headers });
}

async function rowsOf(path: string): Promise<Row[]> {
  return toRecords((await (await ask(path, 'editor')).json()) as Table).slice();
}

test('a mark changes the owner of a domain at once, stays in the history, and is published with the replica', async () => {
  const { brandId, folder, config, copy } = served();
  const owners = `/metrics?metrics=citations&group_by=domain,owner&brand=${brandId}&order=-citations`;
  const unknown = (await rowsOf(owners)).find(({ owner }) => owner === 'unknown');
  const id = String(unknown?.['domain']);
  const ownerNow = async () => (await rowsOf(owners)).find(({ domain }) => domain === id)?.['owner'];
  const mark = (value: string | null) => ask('/marks', 'editor', { brandId, kind: 'domain', id, value });
  const [rival] = await rowsOf(`/queries/filters?brand=${brandId}`).then((rows) =>
    rows.filter(({ filter }) => filter === 'competitor'),
  );
  for (const [value, owner] of [
    ['forum', 'forum'],
    [String(rival?.['id']), 'competitor'],
    ['other', 'third party'],
    [null, 'unknown'],
    ['ours', 'owned'],
  ] as const) {
    expect((await mark(value)).status, String(value)).toBe(200);
    expect(await ownerNow(), String(value)).toBe(owner);
  }
  // Own citations follow the owners: the site is ours.
  const shares = `/metrics?metrics=owned_citations,citations&brand=${brandId}&group_by=brand`;
  const ours = async () => Number((await rowsOf(shares))[0]?.['owned_citations']);
  const marked = await ours();
  expect((await ask('/marks', 'editor', { brandId, kind: 'domain', id: `WWW.${id} `, value: 'press' })).status).toBe(
    200,
  );
  expect(await ours()).toBeLessThan(marked);
  expect(await ownerNow()).toBe('press');
  expect((await mark('ours')).status).toBe(200);
  const { marks } = (await (await ask('/marks', 'reader')).json()) as { marks: readonly Mark[] };
  expect(marks.map(({ value }) => value)).toEqual(['forum', rival?.['id'], 'other', null, 'ours', 'press', 'ours']);
  expect(marks[0]).toMatchObject({ brandId, kind: 'domain', id, by: 'Ann', at: expect.stringMatching(/Z$/) });

  // Readers of the file have it when the file is published next.
  await renewReplica({ ...contextIn(folder), config });
  const replica = await openReplica(copy);
  onTestFinished(() => replica.close());
  const stored = await replica.work((query) =>
    query(
      'SELECT domain, owner FROM mart.dim_domain JOIN mart.marks m ON m.brand_id = dim_domain.brand_id AND m.id = domain',
    ),
  );
  expect(stored).toContainEqual([id, 'owned']);
  // A machine without the file, or with a damaged one, keeps what is stored.
  await writeFile(layoutOf(folder).marks, '{');
  await renewReplica({ ...contextIn(folder), config });
  expect(await ownerNow()).toBe('owned');
  const damaged = await mark('forum');
  expect([damaged.status, await damaged.text()]).toEqual([500, expect.stringContaining('internal')]);
  await rm(layoutOf(folder).marks);
  await renewReplica({ ...contextIn(folder), config });
  expect(await ownerNow()).toBe('owned');
  const settings = await replica.work((query) => query('SELECT DISTINCT id, value FROM mart.marks WHERE is_setting'));
  expect(settings).toEqual([['from-the-setting.example', 'press']]);
  // The first mark on such a machine does not hide the stored ones.
  const other = { brandId, kind: 'domain', id: 'other.example', value: 'press' };
  expect((await ask('/marks', 'editor', other)).status).toBe(200);
  expect(await ownerNow()).toBe('owned');
  const kept = (await (await ask('/marks', 'reader')).json()) as { marks: readonly Mark[] };
  expect(kept.marks).toMatchObject([
    { id, value: 'ours', by: null },
    { ...other, by: 'Ann' },
  ]);
});

test('an opportunity that is done is not counted in the brief, until the mark is taken back', async () => {
  const { brandId } = served();
  const read = async () => {
    const { opportunities } = (await (await ask(`/opportunities?brand=${brandId}&limit=200`, 'editor')).json()) as {
      opportunities: readonly Opportunity[];
    };
    const { findings } = (await (await ask(`/brief?brand=${brandId}`, 'editor')).json()) as Brief;
    const told = findings.find(({ kind }) => opportunities.some((one) => one.kind === kind));
    const ofKind = opportunities.filter(({ kind }) => kind === told?.kind);
    return { size: told?.size, ofKind, open: ofKind.filter(({ mark }) => mark === null).length };
  };
  const before = await read();
  const [first] = before.ofKind;
  const set = (value: string | null) => ask('/marks', 'editor', { brandId, kind: first?.kind, id: first?.id, value });
  expect(before).toMatchObject({ size: String(before.open) });
  expect((await set('done')).status).toBe(200);
  const after = await read();
  expect(after).toMatchObject({ size: String(before.open - 1), open: before.open - 1 });
  expect(after.ofKind.at(-1)).toEqual({ ...first, mark: 'done', rank: expect.any(Number) });
  expect((await set(null)).status).toBe(200);
  expect(await read()).toEqual(before);
});

test('marks are written like saved queries: by keys for all brands with the scope of SQL', async () => {
  const { brandId, folder } = served();
  const count = readMarks(folder).length;
  const mark = { brandId, kind: 'action', id: brandId, value: 'hidden' };
  for (const key of ['reader', 'limited'] as const) expect((await ask('/marks', key, mark)).status, key).toBe(403);
  for (const wrong of [
    { ...mark, value: 'later' },
    { ...mark, kind: 'brand' },
    { ...mark, id: '' },
    { ...mark, brandId: 'x' },
    { ...mark, brandId: '00000000-0000-4000-8000-000000000000' },
    { ...mark, kind: 'domain', id: 'a.example', value: 'presss' },
    { ...mark, more: 1 },
    [],
  ])
    expect((await ask('/marks', 'editor', wrong)).status, JSON.stringify(wrong)).toBe(400);
  expect(readMarks(folder)).toHaveLength(count);
  // A key of another brand does not see the marks of this one.
  expect(await (await ask('/marks', 'limited')).json()).toEqual({ marks: [] });
  // So are reports.
  for (const key of ['reader', 'limited'] as const)
    expect((await ask('/reports', key, { brandId })).status, key).toBe(403);
  const unknown = await ask('/reports', 'editor', { brandId: 'nope' });
  expect([unknown.status, await unknown.text()]).toEqual([
    400,
    expect.stringContaining('brandId is \\"nope\\"; allowed: the id'),
  ]);
});
