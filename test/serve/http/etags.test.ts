import { expect, it } from 'vitest';
import { type Conventions, defaultConventions } from '../../../src/metrics/calibration/conventions.ts';
import { publishAnalytics } from '../../../src/warehouse/replica.ts';
import { type Mirror, openMirror } from '../../read/mirror.ts';
import { readVocabulary } from '../../read/questions.ts';
import type { World } from '../../support/worlds.ts';
import { openServer, type TestServer } from './support.ts';

const TYPES = ['application/json', 'text/csv', 'application/x-ndjson'] as const;

async function bytesOf(server: TestServer, path: string, accept: string, tag: string | null) {
  const headers = { accept, 'accept-encoding': 'identity', ...(tag === null ? {} : { 'if-none-match': tag }) };
  const response = await server.get(path, { headers });
  return {
    status: response.status,
    tag: response.headers.get('etag'),
    bytes: Buffer.from(await response.arrayBuffer()).toString('latin1'),
  };
}

// The server of these tests has its own calibration.
async function publish({ warehouse, copy }: Mirror): Promise<void> {
  await publishAnalytics(warehouse().database, copy);
}

async function servedMirror(world: World): Promise<{
  mirror: Mirror;
  server: TestServer;
  use(changed: Partial<Conventions>): void;
}> {
  const mirror = await openMirror({ world });
  await publish(mirror);
  let conventions = defaultConventions;
  const { copy, clock } = mirror;
  const server = await openServer(copy, { clock, rateLimit: 'off', conventions: () => conventions });
  const use = (changed: Partial<Conventions>): void => {
    conventions = { ...defaultConventions, ...changed };
  };
  return { mirror, server, use };
}

it('an ETag changes with the tables and the brand of its response and the calibration, is 304 otherwise, and never has two bodies', async () => {
  const { mirror, server, use } = await servedMirror('small');
  const [first, second] = (await readVocabulary(mirror)).brands.map(({ id }) => id);
  const computed = ['traffic', 'metrics', 'sources/domains', 'metrics/groups'];
  const lists = ['responses', 'prompts', 'alerts', 'articles', ...computed];
  const paths = [
    '/brands',
    '/engines',
    '/credits',
    ...[first, second].flatMap((id) => [`/brands/${id}`, ...lists.map((name) => `/brands/${id}/${name}`)]),
  ];
  const readAll = () =>
    Promise.all(paths.map((path, index) => bytesOf(server, path, TYPES[index % TYPES.length] as string, null)));
  let before = await readAll();
  expect(new Set(before.map(({ tag }) => tag)).size).toBe(paths.length);
  const changedBy = async (sql: string | null): Promise<string[]> => {
    if (sql !== null) await mirror.query(sql);
    await publish(mirror);
    const known = before;
    before = await readAll();
    const changed: string[] = [];
    for (const [index, path] of paths.entries()) {
      const { tag, bytes } = known[index] as (typeof known)[number];
      const isChanged = tag !== before[index]?.tag;
      if (isChanged) changed.push(path);
      else expect(before[index]?.bytes, path).toBe(bytes);
      const again = await bytesOf(server, path, TYPES[index % TYPES.length] as string, tag);
      expect(again.status, path).toBe(isChanged ? 200 : 304);
    }
    return changed;
  };
  const of = (id: string | undefined, ...names: string[]) => names.map((name) => `/brands/${id}/${name}`);
  expect(await changedBy(null)).toEqual([]);
  const response = `(SELECT id FROM responses WHERE brand_id = '${second}' LIMIT 1)`;
  expect(
    await changedBy(`UPDATE alerts SET headline = 'edited' WHERE brand_id = '${first}';
      UPDATE responses SET brand_sentiment = 'odd', _run_id = uuid() WHERE id = ${response}`),
  ).toEqual([...of(first, 'alerts'), ...of(second, 'responses', 'metrics', 'sources/domains', 'metrics/groups')]);
  expect(
    await changedBy(`UPDATE prompts SET text = 'edited' WHERE brand_id = '${first}';
      UPDATE brands SET name = 'Renamed' WHERE id = '${second}'`),
  ).toEqual(['/brands', ...of(first, 'prompts', 'metrics/groups'), `/brands/${second}`, ...of(second, ...computed)]);
  use({ topCompetitors: 1 });
  expect(await changedBy(null)).toEqual([...of(first, ...computed), ...of(second, ...computed)]);
});
