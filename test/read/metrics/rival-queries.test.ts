import { expect, onTestFinished, test } from 'vitest';
import { addDays, daysInRange } from '../../../src/contract/time.ts';
import { defaultConventions } from '../../../src/metrics/calibration/conventions.ts';
import { runDeclaredQuery } from '../../../src/read/metrics/run-declared.ts';
import { runMetrics } from '../../../src/read/metrics/run-metrics.ts';
import type { MetricsSource } from '../../../src/read/metrics/table-result.ts';
import { differenceOf, type Estimate } from '../../../src/web/app/state/difference.ts';
import { type Answer, readHeld } from '../../support/oracle/rows.ts';
import { adjust, binomialMidP, wilson } from '../../support/oracle/statistics.ts';
import { type Mirror, type NamedRow, openMirror, recordsOf, sourceOf } from '../mirror.ts';

/** Days of the range and of the comparison. */
const RANGE = { from: '2026-03-01', to: '2026-03-14', beforeFrom: '2026-02-15', beforeTo: '2026-02-28' };
const OLD_TOPIC = '99999999-9999-4999-8999-999999999999';

interface World {
  readonly mirror: Mirror;
  readonly source: MetricsSource;
  readonly brand: string;
  readonly answers: readonly Answer[];
  ask(name: string, more?: Readonly<Record<string, string>>): Promise<readonly NamedRow[]>;
}

/** Opens a workspace with a removed competitor, and with a prompt that was moved from a deleted topic. */
async function openWorld(): Promise<World> {
  const mirror = await openMirror({ world: 'fractions', conventions: defaultConventions });
  const [{ id } = { id: null }] = await mirror.query('SELECT CAST(id AS VARCHAR) AS id FROM brands');
  const brand = String(id);
  for (const change of changesOf()) {
    await mirror.warehouse().database.exclusive((session) => session.run(change));
  }
  await mirror.publishOnly();
  const held = await readHeld(mirror.copy);
  onTestFinished(() => held.reader.close());
  const source = await sourceOf(mirror);
  const ask: World['ask'] = async (name, more = {}) =>
    recordsOf(
      await runDeclaredQuery(source, name, new URLSearchParams({ brand, from: RANGE.from, to: RANGE.to, ...more })),
    );
  return { mirror, source, brand, answers: held.answers, ask };
}

function changesOf(): readonly string[] {
  const rival = '(SELECT min(id) FROM competitors)';
  const prompt = '(SELECT min(id) FROM prompts WHERE topic_id IS NOT NULL AND _deleted_at IS NULL)';
  return [
    `INSERT INTO competitors_history BY NAME SELECT TIMESTAMPTZ '2026-03-10 00:00:00+00' AS valid_from,
      TIMESTAMPTZ '2026-03-10 00:00:00+00' AS valid_to, 'deleted' AS change, brand_id, id, name, record
      FROM competitors WHERE id = ${rival}`,
    `UPDATE competitors SET _deleted_at = TIMESTAMPTZ '2026-03-10 00:00:00+00' WHERE id = ${rival}`,
    `INSERT INTO prompts_history BY NAME SELECT * REPLACE (TIMESTAMPTZ '2026-01-01 00:00:00+00' AS valid_from,
      TIMESTAMPTZ '2026-03-08 00:00:00+00' AS valid_to, UUID '${OLD_TOPIC}' AS topic_id, 'Old topic' AS topic_name)
      FROM prompts_history WHERE id = ${prompt}`,
    `UPDATE prompts_history SET valid_from = TIMESTAMPTZ '2026-03-08 00:00:00+00', change = 'updated'
      WHERE id = ${prompt} AND topic_id <> UUID '${OLD_TOPIC}'`,
  ];
}

test('the queries of the pages equal a naive computation', { timeout: 120_000 }, async () => {
  const world = await openWorld();
  await expectCoMentions(world);
  await expectCompetitors(world);
  await expectPrompts(world);
  await expectSources(world);
  await expectGroups(world);
  await expectDifferences(world);
});

const inRange = ({ day }: Answer): boolean => day >= RANGE.from && day <= RANGE.to;
const isBefore = ({ day }: Answer): boolean => day >= RANGE.beforeFrom && day <= RANGE.beforeTo;

async function expectCoMentions({ answers, ask }: World): Promise<void> {
  const rows = await ask('co_mentions');
  expect(rows.length).toBeGreaterThan(1);
  const selected = answers.filter(inRange);
  for (const row of rows) {
    const own = selected.filter(({ listed }) => listed.includes(String(row['competitor_id'])));
    const both = own.filter(({ mentioned }) => mentioned);
    const placed = both.flatMap(({ position, mentions }) => {
      const other = mentions.find(({ competitor_id }) => competitor_id === row['competitor_id'])?.['position'] ?? null;
      return position === null || other === null ? [] : [{ position, other }];
    });
    expect(row).toMatchObject({
      responses: selected.length,
      brand_mentions: selected.filter(({ mentioned }) => mentioned).length,
      mentions: own.length,
      together: both.length,
      placed: placed.length,
      ahead: placed.filter(({ position, other }) => position < other).length,
      share: own.length === 0 ? null : both.length / own.length,
    });
    const bounds = own.length === 0 ? null : wilson(both.length, own.length);
    expectClose(row['share_lower'], bounds?.lower ?? null);
    expectClose(row['share_upper'], bounds?.upper ?? null);
  }
}

async function expectCompetitors({ mirror, answers, ask }: World): Promise<void> {
  const rows = await ask('tracked_competitors');
  const removed = rows.filter((row) => row['is_tracked'] === false);
  expect(new Set(removed.map((row) => row['competitor_id'])).size).toBe(1);
  expect(removed.map((row) => row['change'])).toEqual(expect.arrayContaining(['deleted', 'inserted']));
  const listed = await mirror.query('SELECT CAST(id AS VARCHAR) AS id FROM competitors');
  expect(new Set(rows.map((row) => row['competitor_id']))).toEqual(new Set(listed.map(({ id }) => id)));
  for (const row of rows) {
    const own = answers.filter(({ listed }) => listed.includes(String(row['competitor_id'])));
    expect(row['mentions']).toBe(own.filter(inRange).length);
    const last = row['last_mentioned_at'];
    expect(last === null ? null : Date.parse(String(last))).toBe(
      own.length === 0 ? null : Math.max(...own.map(({ at }) => at)),
    );
  }
  // A removed competitor has no share of voice.
  const measured = await ask('co_mentions');
  expect(measured.map((row) => row['competitor_id'])).not.toContain(removed[0]?.['competitor_id']);
}

async function expectPrompts({ answers, ask, mirror, brand }: World): Promise<void> {
  const rival = String((await ask('co_mentions'))[0]?.['competitor_id']);
  const selected = answers.filter(inRange);
  const rows = await ask('competitor_prompts', { competitor_id: rival });
  expect(rows.map((row) => row['prompt_id']).sort()).toEqual([...new Set(selected.map(({ prompt }) => prompt))].sort());
  const expected = rows.map((row) => {
    const own = selected.filter(({ prompt }) => prompt === row['prompt_id']);
    const only = own.filter(({ mentioned, listed }) => listed.includes(rival) && !mentioned).length;
    const brandOnly = own.filter(({ mentioned, listed }) => !listed.includes(rival) && mentioned).length;
    expect(row).toMatchObject({ responses: own.length, competitor_only: only, brand_only: brandOnly });
    expectClose(row['lead'], (only - brandOnly) / own.length);
    return binomialMidP(only, brandOnly);
  });
  const adjusted = adjust(expected);
  for (const [index, row] of rows.entries()) {
    expectClose(row['p'], expected[index] ?? null);
    expectClose(row['p_adjusted'], adjusted[index] ?? null);
  }
  const domains = await ask('competitor_domains', { competitor_id: rival, limit: '1000' });
  const mentioning = selected.filter(({ listed }) => listed.includes(rival));
  for (const row of domains) {
    const citing = mentioning.filter(({ citations }) => citations.some(({ domain }) => domain === row['domain']));
    expect(row).toMatchObject({
      responses: citing.length,
      mentions: mentioning.length,
      with_brand: citing.filter(({ mentioned }) => mentioned).length,
    });
  }
  expect(new Set(domains.map((row) => row['domain']))).toEqual(
    new Set(
      mentioning.flatMap(({ citations }) => citations.flatMap(({ domain }) => (domain === null ? [] : [domain]))),
    ),
  );
  // Lost prompts are the rows of the mart.
  const lost = await mirror.query(
    `SELECT count(*) AS n FROM mart.lost_prompts WHERE brand_id = '${brand}' AND scope = 'all engines'`,
  );
  expect(await ask('prompts_lost')).toHaveLength(Number(lost[0]?.['n']));
}

async function expectSources({ answers, ask, mirror, brand }: World): Promise<void> {
  const selected = answers.filter(inRange);
  const pages = await ask('cited_pages', { limit: '10000' });
  const owned = await mirror.query(`SELECT domain, owner FROM mart.dim_domain WHERE brand_id = '${brand}'`);
  const ownerOf = new Map(owned.map((row) => [row['domain'], row['owner']]));
  expect(new Set(pages.map((row) => row['url']))).toEqual(
    new Set(selected.flatMap(({ citations }) => citations.map(({ url }) => url))),
  );
  const citationsOf = (url: unknown, of: readonly Answer[]): number =>
    of.reduce((sum, { citations }) => sum + citations.filter((each) => each['url'] === url).length, 0);
  for (const row of pages) {
    expect(row).toMatchObject({
      owner: ownerOf.get(row['domain']) ?? null,
      citations: citationsOf(row['url'], selected),
      before_citations: citationsOf(row['url'], answers.filter(isBefore)),
      responses: selected.filter(({ citations }) => citations.some(({ url }) => url === row['url'])).length,
      selected: selected.length,
    });
  }
  const domain = String(pages[0]?.['domain']);
  const ofDomain = await ask('cited_pages', { domain, limit: '10000' });
  expect(ofDomain).toEqual(pages.filter((row) => row['domain'] === domain));
  const history = await ask('domain_history', { domain, grain: 'day' });
  for (const row of history) {
    const of = selected.filter(
      ({ day, engine }) => day === row['period'] && (row['engine'] === null || engine === row['engine']),
    );
    const citing = of.filter(({ citations }) => citations.some((each) => each['domain'] === domain));
    expect(row).toMatchObject({ responses: citing.length, responses_of_all: of.length });
    const { lower, upper } = wilson(citing.length, of.length);
    expectClose(row['share_lower'], lower);
    expectClose(row['share_upper'], upper);
  }
  const newest = await ask('domain_responses', { domain, limit: '5' });
  const citing = selected.filter(({ citations }) => citations.some((each) => each['domain'] === domain));
  expect(newest.map((row) => row['response_id'])).toEqual(
    citing
      .sort((a, b) => b.at - a.at)
      .slice(0, 5)
      .map(({ id }) => id),
  );
  // Own pages of the two periods equal the rows of the mart. The mention rates equal the rates of its month.
  const periods = await mirror.query(
    `SELECT CAST(recent_from AS VARCHAR) AS a, CAST(anchor_day AS VARCHAR) AS b FROM mart.periods`,
  );
  const own = await ask('own_cited_pages', { from: String(periods[0]?.['a']), to: String(periods[0]?.['b']) });
  const mart = await mirror.query(
    'SELECT url, state, recent_citations, before_citations FROM mart.own_pages ORDER BY url',
  );
  expect(
    own
      .map((row) => ({
        url: row['url'],
        state: row['state'],
        recent: row['citations'],
        before: row['before_citations'],
      }))
      .sort((a, b) => (String(a.url) < String(b.url) ? -1 : 1)),
  ).toEqual(
    mart
      .map((row) => ({
        url: row['url'],
        state: row['state'],
        recent: Number(row['recent_citations']),
        before: row['before_citations'] === null ? null : Number(row['before_citations']),
      }))
      .sort((a, b) => (String(a.url) < String(b.url) ? -1 : 1)),
  );
  const month = await ask('mentioned_and_cited', { from: '2026-03-01', to: '2026-03-31' });
  const crossed = await mirror.query(`SELECT responses, mentioned_and_cited, mentioned_only, cited_only, neither
    FROM mart.mentioned_x_cited WHERE scope = 'all engines' AND month = DATE '2026-03-01'`);
  expect(month).toHaveLength(crossed.length);
  for (const [name, value] of Object.entries(crossed[0] ?? {})) expect(month[0]?.[name]).toBe(Number(value));
}

async function expectGroups({ answers, ask, mirror }: World): Promise<void> {
  const rows = await ask('groups_then');
  const moves = await ask('group_moves');
  expect(moves).toHaveLength(1);
  const [move] = moves;
  expect(move).toMatchObject({ left_groups: ['Old topic'], moved_at: '2026-03-08T00:00:00Z' });
  const prompts = await mirror.query(
    'SELECT CAST(id AS VARCHAR) AS id, CAST(topic_id AS VARCHAR) AS topic FROM prompts WHERE _deleted_at IS NULL',
  );
  const nowOf = new Map(prompts.map(({ id, topic }) => [id, topic === null ? null : String(topic)]));
  const thenOf = ({ prompt, day }: Answer): string | null =>
    prompt === move?.['prompt_id'] && day < '2026-03-08' ? OLD_TOPIC : (nowOf.get(prompt) ?? null);
  const selected = answers.filter(inRange);
  expect(rows.map((row) => row['group_id'])).toContain(OLD_TOPIC);
  for (const row of rows) {
    const now = selected.filter(({ prompt }) => nowOf.get(prompt) === row['group_id']);
    const then = selected.filter((answer) => thenOf(answer) === row['group_id']);
    const shareOf = (of: readonly Answer[]): number | null =>
      of.length === 0 ? null : of.filter(({ mentioned }) => mentioned).length / of.length;
    expect(row).toMatchObject({
      is_current: row['group_id'] !== OLD_TOPIC,
      prompts: [...nowOf.values()].filter((topic) => topic === row['group_id']).length,
      responses: now.length,
      visibility: shareOf(now),
      prompts_then: new Set(then.map(({ prompt }) => prompt)).size,
      responses_then: then.length,
      visibility_then: shareOf(then),
    });
  }
}

// The difference of two periods that the page computes is the change that the metrics layer computes.
async function expectDifferences({ source, brand }: World): Promise<void> {
  const names = ['visibility', 'share_of_voice', 'position', 'sentiment', 'owned_citations'];
  for (const from of [RANGE.from, '2026-03-13']) {
    const given = { metrics: names.join(), brand, from, to: RANGE.to };
    const [now = {}] = recordsOf(await runMetrics(source, new URLSearchParams(given)));
    const days = daysInRange(from, RANGE.to);
    const range = { ...given, from: addDays(from, -days), to: addDays(RANGE.to, -days), compare_to: 'none' };
    const [before = {}] = recordsOf(await runMetrics(source, new URLSearchParams(range)));
    for (const name of names) {
      const found = differenceOf(
        name === 'visibility' ? 'share' : 'ratio',
        estimateOf(now, name),
        estimateOf(before, name),
      );
      expectClose(found.difference, numberOf(now[`${name}_change`]));
      expectClose(found.lower, numberOf(now[`${name}_change_lower`]));
      expectClose(found.upper, numberOf(now[`${name}_change_upper`]));
      expectClose(found.p, numberOf(now[`${name}_p`]));
    }
  }
}

function estimateOf(row: NamedRow, name: string): Estimate {
  return {
    value: numberOf(row[name]),
    n: numberOf(row[`${name}_n`]),
    numerator: numberOf(row[`${name}_numerator`]),
    lower: numberOf(row[`${name}_lower`]),
    upper: numberOf(row[`${name}_upper`]),
  };
}

function numberOf(value: unknown): number | null {
  return value === null || value === undefined ? null : Number(value);
}

function expectClose(found: unknown, expected: number | null): void {
  if (expected === null) expect(found).toBeNull();
  else expect(Number(found)).toBeCloseTo(expected, 9);
}
