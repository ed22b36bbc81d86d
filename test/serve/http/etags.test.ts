import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Advance } from '../../../schemas/fixtures/world/model.ts';
import { type Conventions, defaultConventions } from '../../../src/analytics/calibration/conventions.ts';
import { publishAnalytics } from '../../../src/warehouse/replica.ts';
import { type Mirror, openMirror } from '../../query/mirror.ts';
import { questions, readVocabulary } from '../../query/questions.ts';
import { countOf } from '../../support/counts.ts';
import type { World } from '../../support/worlds.ts';
import { openServer, type TestServer } from './support.ts';

const TYPES = ['application/json', 'application/json', 'text/csv', 'application/x-ndjson'] as const;

/** A night: changes upstream, the synced resources (null for all), and a setting of the calibration. */
interface Night {
  readonly change: Advance;
  readonly only: readonly string[] | null;
  readonly topCompetitors: number;
}

const nights: fc.Arbitrary<Night> = fc.record({
  change: fc.record(
    {
      days: fc.constant(1),
      lateAnswers: fc.nat(2),
      editedResponses: fc.nat(2),
      deletedResponses: fc.nat(1),
      pausedPrompts: fc.nat(1),
      regroupedPrompts: fc.nat(2),
      deletedCompetitors: fc.nat(1),
      forumStatusChanges: fc.nat(1),
      articleProgress: fc.nat(1),
      actionsDone: fc.nat(1),
    },
    { requiredKeys: [] },
  ),
  only: fc.option(fc.subarray(['responses', 'alerts', 'prompts', 'traffic', 'articles'], { minLength: 1 })),
  topCompetitors: fc.constantFrom(3, 3, 3, 2),
});

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

describe('ETags over random syncs', () => {
  it('are equal only for equal bytes, and 304 only for current ones', async () => {
    const { mirror, server, use } = await servedMirror('tiny');
    const brands = (await readVocabulary(mirror)).brands.map(({ id }) => `/brands/${id}`);
    const sampled = fc.sample(questions(await readVocabulary(mirror)), { numRuns: countOf(20, 60), seed: 7 });
    const lists = ['prompts', 'responses', 'alerts', 'articles', 'traffic', 'metrics/groups', 'metrics/prompts'];
    const paths = [...sampled, '/brands', ...brands.flatMap((brand) => lists.map((name) => `${brand}/${name}`))];
    const known = new Map<string, string>();
    const last = new Map<string, string>();
    const seen = { same: 0, changed: 0 };
    // Before the first night, the tags are those of the world.
    for (const night of [null, ...fc.sample(nights, { numRuns: countOf(1, 5), seed: 11 })]) {
      if (night !== null) {
        mirror.sandbox.world.advance(night.change);
        await mirror.sync({ only: night.only });
        use({ topCompetitors: night.topCompetitors });
        await publish(mirror);
      }
      for (const [index, path] of paths.entries()) {
        const accept = TYPES[index % TYPES.length] as string;
        const { status, tag, bytes } = await bytesOf(server, path, accept, null);
        if (status !== 200) continue;
        const name = `${path} ${accept}`;
        expect(known.get(`${name} ${tag}`) ?? bytes, name).toBe(bytes);
        known.set(`${name} ${tag}`, bytes);
        const before = last.get(name) ?? null;
        last.set(name, String(tag));
        if (before === null) continue;
        seen[before === tag ? 'same' : 'changed'] += 1;
        expect((await bytesOf(server, path, accept, before)).status, name).toBe(before === tag ? 304 : 200);
      }
    }
    expect(seen.same).toBeGreaterThan(5);
    expect(seen.changed).toBeGreaterThan(5);
  });
});

describe('an ETag', () => {
  it('changes only with the tables and the brand of its response, and the calibration', async () => {
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
    const tagsNow = () =>
      Promise.all(paths.map(async (path) => (await bytesOf(server, path, 'application/json', null)).tag));
    let before = await tagsNow();
    expect(new Set(before).size).toBe(paths.length);
    const changedBy = async (sql: string | null): Promise<string[]> => {
      if (sql !== null) await mirror.query(sql);
      await publish(mirror);
      const after = await tagsNow();
      const changed = paths.filter((_path, index) => after[index] !== before[index]);
      before = after;
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
});
