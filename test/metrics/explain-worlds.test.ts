import { expect, test } from 'vitest';
import type { ChangeUnits } from '../../src/metrics/explain/change-units.ts';
import { explainChange } from '../../src/metrics/explain/explain-change.ts';
import { findOpportunities } from '../../src/metrics/explain/opportunities.ts';
import { whatChanged } from '../../src/metrics/explain/what-changed.ts';
import { randomOf } from '../../src/sandbox/random.ts';
import type { Query } from '../../src/warehouse/database.ts';
import { drawn, exactly, openWorlds, single, worldId } from '../support/period-worlds.ts';

const PROMPTS = 24;
const ENGINES = ['one', 'two', 'three'];
const RIVAL = '22222222-2222-4222-8222-222222222222';
/** The periods of test/support/period-worlds.ts. */
const before = { from: '2026-01-05', to: '2026-02-01' };
const recent = { from: '2026-02-02', to: '2026-03-01' };

function unitsOf(world: number, metric: ChangeUnits['metric']): ChangeUnits {
  const brandId = worldId(world);
  const none = { engines: [], topics: [], tags: [], prompts: [], competitors: [], branded: null, gaps: [] };
  const labels = { positive: 100, neutral: 50, negative: 0 };
  return { metric, scope: { brandId, brands: [brandId], ...recent, before, ...none }, labels, mayRepeat: false };
}

async function openPlanted(): Promise<Query> {
  const worlds = ['nothing', 'engine', 'prompt', 'topic'].map((planted) => {
    const random = randomOf('explained', planted);
    return Array.from({ length: PROMPTS }, (_, prompt) => prompt).flatMap((prompt) => {
      const rate = 0.3 + 0.4 * random();
      return ENGINES.map((engine) => {
        const isPlanted = { nothing: false, engine: engine === 'two', prompt: prompt === 5, topic: prompt % 6 === 3 }[
          planted
        ];
        const count = planted === 'prompt' ? 60 : 20;
        const rates = isPlanted === true ? [0.8, 0.3] : [rate, rate];
        return {
          prompt,
          engine,
          before: drawn(random, count, rates[0] ?? 0),
          recent: drawn(random, count, rates[1] ?? 0),
        };
      });
    });
  });
  const { query } = await openWorlds(worlds);
  // Six topics; a rival in every third response without the brand.
  await query(
    `UPDATE prompts SET topic_name = 'Topic ' || CAST(split_part(text, ' ', 2) AS INTEGER) % 6,
       topic_id = CAST('33333333-3333-4333-8333-' || lpad(CAST(CAST(split_part(text, ' ', 2) AS INTEGER) % 6 AS VARCHAR), 12, '0') AS UUID)`,
  );
  await query(`INSERT INTO competitors (brand_id, id, name) SELECT id, '${RIVAL}', 'Rivalco' FROM brands`);
  await query(
    `INSERT INTO response_competitors (brand_id, response_id, prompt_id, engine, created_at, competitor_id, name, ordinal)
     SELECT brand_id, id, prompt_id, engine, created_at, '${RIVAL}', 'Rivalco', 0 FROM responses
     WHERE NOT brand_mentioned AND hash(id) % 3 = 0`,
  );
  return query;
}

test('planted causes in a warehouse are named, with true numbers and responses that show them', async () => {
  const query = await openPlanted();
  const found = [1, 2, 3].map((world) => explainChange(query, unitsOf(world, 'visibility')));
  const [engine, prompt, topic] = await Promise.all(found);
  expect(engine?.causes[0]).toMatchObject({ kind: 'behaviour', dimension: 'engine', id: 'two', name: 'Engine two' });
  expect(prompt?.causes[0]).toMatchObject({ kind: 'behaviour', dimension: 'prompt', name: 'Prompt "Prompt 5"' });
  expect(topic?.causes[0]).toMatchObject({ kind: 'behaviour', dimension: 'topic', name: 'Topic "Topic 3"' });
  const [counts] = await query(
    `SELECT count(*) FILTER (NOT later), count(*) FILTER (later), avg(m) FILTER (NOT later), avg(m) FILTER (later) FROM (
       SELECT created_at >= TIMESTAMP '2026-02-02' AS later, CAST(brand_mentioned AS INTEGER) AS m FROM responses
       WHERE brand_id = '${worldId(1)}' AND engine = 'two'
     )`,
  );
  const [n0, n1, was, is] = (counts ?? []).map(Number) as [number, number, number, number];
  const cause = engine?.causes[0];
  const effect = Math.abs(100 * (cause?.effect ?? 0)).toFixed(1);
  expect(cause?.sentence).toBe(
    `Engine two: visibility fell from ${(100 * was).toFixed(1)} % to ${(100 * is).toFixed(1)} % (${n0} and ${n1} responses), which lowered the total by ${effect} points.`,
  );
  expect(engine?.summary).toContain(cause?.sentence);
  for (const [explained, condition] of [
    [engine, "engine = 'two'"],
    [prompt, "prompt_id IN (SELECT id FROM prompts WHERE text = 'Prompt 5')"],
    [topic, "prompt_id IN (SELECT id FROM prompts WHERE topic_name = 'Topic 3')"],
  ] as const) {
    const ids = explained?.causes[0]?.evidence ?? [];
    expect(new Set(ids).size).toBe(5);
    const [showing] = await query(
      `SELECT count(*) FROM responses WHERE list_contains($1, CAST(id AS VARCHAR)) AND brand_id = $2 AND NOT brand_mentioned
         AND created_at >= TIMESTAMP '2026-02-02' AND created_at < TIMESTAMP '2026-03-02' AND ${condition}`,
      [ids, explained?.brandId ?? ''],
    );
    expect(showing).toEqual([5]);
  }
});

test('a warehouse without a change has no causes, and the summary states it', async () => {
  const query = await openPlanted();
  const explained = await explainChange(query, unitsOf(0, 'visibility'));
  expect(explained.causes).toEqual([]);
  expect(explained.summary).toMatch(/^No significant change: visibility was [\d.]+ % and is [\d.]+ %/);
  expect(explained.dimensions.flatMap(({ members }) => members).every(({ verdict }) => verdict === 'noise')).toBe(true);
  const empty = unitsOf(0, 'visibility');
  const none = await explainChange(query, {
    ...empty,
    scope: { ...empty.scope, before: { from: '2025-01-01', to: '2025-01-28' } },
  });
  expect(none).toMatchObject({
    causes: [],
    dimensions: [],
    total: { before: null, change: null, verdict: 'not tested' },
  });
  expect(none.summary).toBe('No comparison: the earlier period had no responses with data on visibility.');
});

test('competitors are associations whose effects add up to the change of every metric', async () => {
  const query = await openPlanted();
  for (const metric of ['visibility', 'share_of_voice'] as const) {
    const { associations, total, dimensions } = await explainChange(query, unitsOf(1, metric));
    const [rival] = associations;
    expect(rival).toMatchObject({ kind: 'competitor', id: RIVAL, name: 'Rivalco', with: { before: 0, after: 0 } });
    expect(rival?.sentence).toMatch(
      /^Association, not a cause: Rivalco is mentioned in [\d.]+ % of responses instead of/,
    );
    const { occurrenceEffect = 0, withEffect = 0, withoutEffect = 0 } = rival ?? {};
    expect(occurrenceEffect + withEffect + withoutEffect).toBeCloseTo(total.change ?? 0, 10);
    for (const { members } of dimensions) {
      expect(members.reduce((sum, { effect }) => sum + effect, 0)).toBeCloseTo(total.change ?? 0, 10);
    }
  }
});

test('changes since a time are listed from the histories, and earlier ones are not', async () => {
  const { query } = await openWorlds([[single(exactly(20, 20), exactly(0, 20))]]);
  const brand = worldId(0);
  const [prompt] = await query('SELECT CAST(id AS VARCHAR) FROM prompts');
  const version = (change: string, from: string, active: boolean): string =>
    `('${brand}', '${prompt?.[0]}', 'Prompt 0', '${change}', TIMESTAMP '${from}', ${active})`;
  await query(
    `INSERT INTO prompts_history (brand_id, id, text, change, valid_from, active) VALUES
     ${version('inserted', '2026-01-01', true)}, ${version('updated', '2026-02-10', false)}, ${version('deleted', '2026-02-20', false)}`,
  );
  await query(
    `INSERT INTO competitors_history (brand_id, id, name, change, valid_from) VALUES
     ('${brand}', uuid(), 'First', 'inserted', TIMESTAMP '2026-02-05'), ('${brand}', '${RIVAL}', 'Rivalco', 'inserted', TIMESTAMP '2026-02-15')`,
  );
  await query(
    `INSERT INTO sync.drift (resource, path, kind, detail, count, first_seen_at, last_seen_at) VALUES
     ('alerts', 'severity', 'unknown_field', NULL, 3, TIMESTAMP '2026-02-12', TIMESTAMP '2026-02-12'),
     ('alerts', 'old', 'unknown_field', NULL, 3, TIMESTAMP '2026-01-12', TIMESTAMP '2026-02-12')`,
  );
  const { changes, counts } = await whatChanged(query, [brand], Date.parse('2026-02-01'));
  expect(changes.map(({ at, sentence }) => `${at.slice(0, 10)} ${sentence}`)).toEqual([
    '2026-03-01 Prompt "Prompt 0" fell: its visibility went from 100.0 % to 0.0 % in the last 28 complete days.',
    '2026-02-20 Prompt "Prompt 0" was deleted.',
    '2026-02-15 Competitor "Rivalco" was added.',
    '2026-02-12 Upstream changed: unknown field severity, in 3 items.',
    '2026-02-10 Prompt "Prompt 0" was paused.',
    '2026-02-01 Prompt "Prompt 0" lost the brand: it was mentioned in 100.0 % of responses, and in none of the 20 since then.',
  ]);
  expect(counts).toMatchObject({ prompt_paused: 1, competitor_added: 1, upstream_drift: 1 });
  expect((await whatChanged(query, [], Date.parse('2026-02-01'))).changes.map(({ kind }) => kind)).toEqual([
    'upstream_drift',
  ]);
  const limited = await whatChanged(query, [brand], Date.parse('2026-02-01'), { kinds: [], ofBrandsOnly: true });
  expect(limited.changes).toEqual(changes.filter(({ kind }) => kind !== 'upstream_drift'));
  const { upstream_drift: _, ...others } = counts;
  expect(limited.counts).toEqual(others);
});

test('opportunities are gaps among sources, prompts that a rival wins, cited threads and pages cited once', async () => {
  const { query } = await openWorlds([
    [single(exactly(20, 20), exactly(4, 20)), single(exactly(9, 20), exactly(20, 20), 1)],
  ]);
  const brand = worldId(0);
  await query("UPDATE brands SET website_url = 'https://own.example'");
  await query(
    `INSERT INTO competitors (brand_id, id, name, record) VALUES ('${brand}', '${RIVAL}', 'Rivalco', '{"url": "https://rival.example"}')`,
  );
  const inRecent = "created_at >= TIMESTAMP '2026-02-02' AND created_at < TIMESTAMP '2026-03-02'";
  await query(
    `INSERT INTO response_competitors (brand_id, response_id, prompt_id, engine, created_at, competitor_id, name, ordinal)
     SELECT brand_id, id, prompt_id, engine, created_at, '${RIVAL}', 'Rivalco', 0 FROM responses WHERE NOT brand_mentioned AND ${inRecent}`,
  );
  const cite = (url: string, domain: string, where: string): Promise<unknown> =>
    query(
      `INSERT INTO response_citations (brand_id, response_id, prompt_id, engine, created_at, url, domain, ordinal)
       SELECT brand_id, id, prompt_id, engine, created_at, '${url}', '${domain}', 0 FROM responses WHERE ${inRecent} AND ${where}`,
    );
  await cite('https://gap.example/a', 'gap.example', 'NOT brand_mentioned');
  // A competitor's own domain is not a gap.
  await cite('https://rival.example/a', 'rival.example', 'NOT brand_mentioned');
  await cite('https://both.example/a', 'both.example', 'true');
  await cite('https://www.forum.example/t/1/', 'forum.example', 'brand_mentioned');
  await cite(
    'https://own.example/page',
    'own.example',
    "id = (SELECT min(id) FROM responses WHERE brand_mentioned AND created_at >= DATE '2026-02-02')",
  );
  await query(
    `INSERT INTO forum_opportunities (brand_id, id, type, status, subforum, title, url, created_at)
     VALUES ('${brand}', uuid(), 'ai', 'new', 'tools', 'A thread', 'https://forum.example/t/1', TIMESTAMP '2026-02-03')`,
  );
  const found = await findOpportunities(query, brand, recent);
  expect(found.map(({ rank, kind, n, name }) => [rank, kind, n, name])).toEqual([
    [1, 'forum_thread', 24, 'A thread'],
    [2, 'source_gap', 16, 'gap.example'],
    [3, 'competitor_wins', 16, 'Prompt 0'],
    [4, 'page_cited_once', 1, 'https://own.example/page'],
  ]);
  expect(found[2]?.sentence).toBe(
    '16 of 20 responses mention Rivalco but not the brand, 4 mention the brand but not Rivalco: prompt "Prompt 0".',
  );
  for (const { evidence, n } of found) expect(new Set(evidence).size).toBe(Math.min(5, n));

  // Marked opportunities are listed last, besides at most 50 open ones of a kind.
  await query(
    `INSERT INTO response_citations (brand_id, response_id, prompt_id, engine, created_at, url, domain, ordinal)
     SELECT brand_id, id, prompt_id, engine, created_at, 'https://own.example/' || i, 'own.example', i
     FROM (SELECT * FROM responses WHERE ${inRecent} ORDER BY id LIMIT 1), range(60) t(i)`,
  );
  const open = (all: typeof found) => all.filter(({ mark }) => mark === null).map(({ id }) => id);
  const first = await findOpportunities(query, brand, recent);
  expect(first.filter(({ kind }) => kind === 'page_cited_once')).toHaveLength(50);
  await query(
    `INSERT INTO sync.marks BY NAME SELECT '${brand}'::UUID AS brand_id, 'page_cited_once' AS kind, unnest($1) AS id, 'done' AS value,
       false AS is_setting`,
    [['https://own.example/0', 'https://own.example/1']],
  );
  const rest = await findOpportunities(query, brand, recent);
  expect(rest.filter(({ kind, mark }) => kind === 'page_cited_once' && mark === null)).toHaveLength(50);
  expect(open(rest).filter((id) => !open(first).includes(id))).toHaveLength(2);
  expect(rest.slice(-2).map(({ id, mark }) => [id, mark])).toEqual([
    ['https://own.example/0', 'done'],
    ['https://own.example/1', 'done'],
  ]);
});
