import type { DuckDBValue } from '@duckdb/node-api';
import { expect, onTestFinished, test } from 'vitest';
import { MART_SCHEMA, marts } from '../../src/metrics/marts/marts.ts';
import { openDatabase } from '../../src/warehouse/database.ts';
import { storeMarks } from '../../src/warehouse/ledger/marks.ts';
import { toPlain } from '../../src/warehouse/reader.ts';
import { publishAnalytics } from '../../src/warehouse/replica.ts';
import { ensureViews } from '../../src/warehouse/views.ts';
import { type Mirror, openMirror } from '../read/mirror.ts';
import { sampleOf } from '../support/counts.ts';
import { expectedAnswers, WORTHS } from '../support/oracle/mart-answers.ts';
import { expectedChanges } from '../support/oracle/mart-changes.ts';
import { expectedCitations, type Hosts } from '../support/oracle/mart-citations.ts';
import { expectedDimensions } from '../support/oracle/mart-dimensions.ts';
import { expectedLists } from '../support/oracle/mart-lists.ts';
import { type Held, type Row, readHeld } from '../support/oracle/rows.ts';
import { conventionsOf, storeConventions } from './workspace.ts';

/** The number the sandbox reports for a share of 100 %. */
const WHOLE = 1;

/** Three syncs with changes between them: deletions of every kind, changed groups and states, a deleted brand. */
async function openChanged(): Promise<Mirror> {
  const choices = { sentiment: WORTHS, scale: 'fraction', decimals: 3 } as const;
  const conventions = conventionsOf(choices);
  const mirror = await openMirror({ brands: 3, prompts: 4, days: 60, responsesPerDay: 5, choices, conventions });
  expect(await mirror.sync()).toMatchObject({ status: 'complete' });
  const many = { regroupedPrompts: 6, forumStatusChanges: 6, articleProgress: 4, actionsDone: 3, editedResponses: 6 };
  const gone = { deletedPrompts: 3, deletedCompetitors: 3, deletedResponses: 4, lateAnswers: 4 };
  mirror.sandbox.advance({ days: 1, ...many, ...gone });
  const only = ['prompts', 'competitors', 'responses', 'article', 'forum_opportunities', 'action_plans'];
  expect(await mirror.sync({ only })).toMatchObject({ status: 'complete' });
  mirror.sandbox.advance({ days: 1.25, ...many, deletedBrand: true });
  expect(await mirror.sync()).toMatchObject({ status: 'complete' });
  await storeConventions(mirror, conventions);
  await ensureViews(mirror.warehouse().database, MART_SCHEMA, marts());
  return mirror;
}

async function readPublished(mirror: Mirror): Promise<Held> {
  const held = await readHeld(mirror.copy);
  onTestFinished(() => held.reader.close());
  return held;
}

/** Returns sorted JSON rows, with times as numbers and numbers rounded to hide floating-point error. */
function comparable(rows: readonly Row[]): string[] {
  const plain = (value: unknown): unknown => {
    if (typeof value === 'number') return Number.isInteger(value) ? value : Number(value.toPrecision(11));
    return typeof value === 'string' && /^\d{4}-\d\d-\d\dT.*Z$/.test(value) ? Date.parse(value) : value;
  };
  return rows
    .map((row) => {
      const entries = Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1));
      return JSON.stringify(entries.map(([name, value]) => [name, plain(value)]));
    })
    .sort();
}

/** Returns the first rows that only one side has. */
function differences(found: readonly string[], expected: readonly string[]): string[] {
  const [there, here] = [new Set(found), new Set(expected)];
  const unpaired = expected.filter((row) => !there.has(row));
  const wrong = found
    .filter((row) => !here.has(row))
    .filter((row) => {
      // Equal numbers with different floating-point errors may round to different digits.
      const twin = unpaired.findIndex((other) => areClose(JSON.parse(row), JSON.parse(other)));
      if (twin >= 0) unpaired.splice(twin, 1);
      return twin < 0;
    })
    .map((row) => `found ${row}`);
  const missing = unpaired.map((row) => `missing ${row}`);
  const counts = found.length === expected.length ? [] : [`${found.length} rows, not ${expected.length}`];
  return [...counts, ...wrong.slice(0, 2), ...missing.slice(0, 2)];
}

function areClose(one: unknown, other: unknown): boolean {
  if (typeof one === 'number' && typeof other === 'number') {
    return Math.abs(one - other) <= 1e-10 * Math.max(Math.abs(one), Math.abs(other), 1e-2);
  }
  if (!Array.isArray(one) || !Array.isArray(other)) return one === other;
  return one.length === other.length && one.every((part, index) => areClose(part, other[index]));
}

async function expectMarts(
  held: Held,
  expected: Readonly<Record<string, readonly Row[]>>,
  all: (mart: string) => Promise<Row[]> = (name) => held.all(`${MART_SCHEMA}.${name}`),
): Promise<void> {
  const addNames = await readNames(held);
  for (const [name, rows] of Object.entries(expected)) {
    const found = await all(name);
    const named = rows.map((row) => addNames(name, row));
    expect(differences(comparable(found), comparable(named)), name).toEqual([]);
    expect(found.length, name).toBeGreaterThan(0);
  }
}

/** Time zones of sessions. */
const ZONES = sampleOf(['UTC', 'America/New_York', 'Pacific/Kiritimati'], 1, 2);

/** Returns a function that reads a mart, with the replica attached under another name in a session of a time zone. */
async function openElsewhere(path: string, zone: string): Promise<(mart: string) => Promise<Row[]>> {
  const other = await openDatabase(':memory:');
  onTestFinished(() => other.close());
  await other.exclusive((session) => session.run(`ATTACH '${path}' AS renamed (READ_ONLY)`));
  await other.exclusive((session) => session.run(`SET TimeZone = '${zone}'`));
  return async (name) => {
    const found = await other.exclusive((session) => session.all(`FROM renamed.${MART_SCHEMA}.${name}`));
    return found.map((row) =>
      Object.fromEntries(Object.entries(row).map(([column, value]) => [column, toPlain(value as DuckDBValue)])),
    );
  };
}

/** Returns a function that adds the names to a row of a mart, as upstream last listed them. */
async function readNames(held: Held): Promise<(mart: string, row: Row) => Row> {
  const columns = [
    { id: 'brand_id', table: 'brands', column: 'name', added: 'brand_name', unless: [] },
    { id: 'competitor_id', table: 'competitors', column: 'name', added: 'competitor_name', unless: ['name'] },
    { id: 'prompt_id', table: 'prompts', column: 'text', added: 'prompt_text', unless: ['text', 'prompt'] },
  ];
  const named = await Promise.all(
    columns.map(async (each) => {
      const rows = await held.all(each.table);
      return { ...each, names: new Map(rows.map((row) => [row['id'], row[each.column]])) };
    }),
  );
  return (mart, row) => {
    if (mart.startsWith('fct_')) return row;
    const added = named
      .filter(({ id, unless }) => id in row && mart !== `dim_${id.slice(0, -3)}` && !unless.some((name) => name in row))
      .map(({ id, added, names }) => [added, names.get(row[id]) ?? null]);
    return { ...row, ...Object.fromEntries(added) };
  };
}

const BRANDS = 'SELECT CAST(id AS VARCHAR) AS id FROM brands WHERE _deleted_at IS NULL ORDER BY 1';

/** Writes websites for the first brand and all its competitors, and removes those of the second brand. */
async function giveWebsites({ warehouse, query }: Mirror): Promise<Map<string, Hosts>> {
  const [first, second] = (await query(BRANDS)) as [Row, Row];
  const competitors: Row[] = await query(
    'SELECT CAST(brand_id AS VARCHAR) AS brand_id, CAST(id AS VARCHAR) AS id FROM competitors WHERE _deleted_at IS NULL',
  );
  const run = (sql: string) => warehouse().database.exclusive((session) => session.run(sql));
  await run(`UPDATE brands SET website_url = 'HTTPS://www.Coffee.example:443/home?x=1' WHERE id = '${first['id']}'`);
  await run(`UPDATE brands SET website_url = NULL WHERE id = '${second['id']}'`);
  const forms: readonly (readonly [record: unknown, hosts: readonly string[]])[] = [
    [{ websiteUrl: 'https://shop.example/a', name: 'novinky.example' }, ['shop.example']],
    [{ Domains: ['reviews.example', 'www.VIDEO.example', 7, null] }, ['reviews.example', 'video.example']],
    [{ url: 'none-of-these.example', 'odd " key': { domain: 'forum.example' } }, ['none-of-these.example']],
  ];
  const hosts = new Map<string, Hosts>();
  for (const brand of [first, second]) {
    const rivals = new Map<string, readonly string[]>();
    const own = competitors.filter(({ brand_id }) => brand_id === brand['id']);
    for (const [index, { id }] of own.entries()) {
      const [record, known] = forms[Math.min(index, 2)] as (typeof forms)[number];
      rivals.set(id, brand === first ? known : []);
      const json = brand === first ? JSON.stringify(record) : '["no record"]';
      await run(`UPDATE competitors SET record = '${json}' WHERE id = '${id}'`);
    }
    hosts.set(brand['id'], { own: brand === first ? 'coffee.example' : null, rivals, said: new Map() });
  }
  return hosts;
}

/** Stores marks of both brands and of a setting, and adds what they say to the hosts. Returns the rows of mart.marks. */
async function plantMarks({ warehouse, query }: Mirror, hosts: Map<string, Hosts>): Promise<Row[]> {
  const [first, second] = [...hosts.keys()] as [string, string];
  const [rival] = (await query(`SELECT CAST(id AS VARCHAR) AS id, name FROM competitors
    WHERE _deleted_at IS NULL AND brand_id = '${second}' ORDER BY id`)) as [Row];
  const marks = [
    { brand: null, kind: 'domain', id: 'reviews.example', value: 'press' },
    { brand: null, kind: 'domain', id: 'video.example', value: rival['name'] },
    { brand: first, kind: 'domain', id: 'www.Reviews.example', value: 'other' },
    { brand: second, kind: 'domain', id: 'forum.example', value: 'forum' },
    { brand: first, kind: 'domain', id: 'coffee.example', value: 'ours' },
    { brand: second, kind: 'domain', id: 'shop.example', value: rival['id'] },
    { brand: first, kind: 'source_gap', id: 'forum.example', value: 'done' },
  ];
  const of = (owner: string, competitor: string | null = null) => ({ owner, competitor_id: competitor });
  hosts.get(first)?.said.set('reviews.example', of('third party'));
  hosts.get(first)?.said.set('coffee.example', of('owned'));
  for (const [host, said] of Object.entries({
    'reviews.example': of('press'),
    'video.example': of('competitor', rival['id']),
    'forum.example': of('forum'),
    'shop.example': of('competitor', rival['id']),
  }))
    hosts.get(second)?.said.set(host, said);
  expect(await storeMarks(warehouse().database, JSON.stringify(marks), false)).toBe(true);
  expect(await storeMarks(warehouse().database, JSON.stringify(marks), false)).toBe(false);
  return marks.flatMap(({ brand, ...mark }) =>
    (brand === null ? [first, second] : [brand]).map((id) => ({ brand_id: id, ...mark, is_setting: brand === null })),
  );
}

/** Lets the newest responses to the first prompt lack the brand, and those to the second mention it. */
async function plantChanges({ query }: Mirror): Promise<void> {
  const prompts = await query(`SELECT CAST(id AS VARCHAR) AS id FROM prompts
    WHERE _deleted_at IS NULL AND CAST(brand_id AS VARCHAR) = (SELECT id FROM (${BRANDS}) LIMIT 1) ORDER BY 1`);
  const [lost, risen] = prompts.map(({ id }) => id);
  const since = '(SELECT max(CAST(created_at AS DATE)) - 25 FROM responses WHERE _deleted_at IS NULL)';
  await query(`UPDATE responses SET brand_mentioned = created_at < ${since} WHERE prompt_id = '${lost}'`);
  await query(`UPDATE responses SET brand_mentioned = created_at >= ${since} WHERE prompt_id = '${risen}'`);
}

test('every mart holds what counting the rows of the warehouse gives, attached under any name and in any time zone', async () => {
  const mirror = await openChanged();
  const today = new Date(mirror.sandbox.world.now()).toISOString().slice(0, 10);
  const hosts = await giveWebsites(mirror);
  await plantChanges(mirror);
  const marks = await plantMarks(mirror, hosts);
  await mirror.publishOnly();
  const held = await readPublished(mirror);
  expect(held.brands.length).toBe(2);
  const answers = expectedAnswers(held, today);
  const citations = expectedCitations(held, hosts, answers['periods'] as Row[]);
  const dimensions = await expectedDimensions(held, hosts, WHOLE);
  const lists = await expectedLists(held, today);
  const changes = await expectedChanges(held, answers['periods'] as Row[]);
  const expected: Record<string, Row[]> = { ...answers, ...citations, ...dimensions, ...lists, ...changes, marks };
  expect(Object.keys(expected).sort()).toEqual(
    marts()
      .map(({ name }) => name)
      .sort(),
  );
  for (const zone of ZONES) await expectMarts(held, expected, await openElsewhere(mirror.copy, zone));
  const owners = new Set(citations['dim_domain']?.map(({ owner }) => owner));
  expect([...owners].sort()).toEqual(['competitor', 'forum', 'owned', 'press', 'third party', 'unknown']);
  expect(new Set(citations['own_pages']?.map(({ state }) => state)).size).toBeGreaterThan(1);
  expect(dimensions['dim_prompt_history']?.some(({ applies_from }) => applies_from !== null)).toBe(true);
  expect(expected['dim_prompt']?.some(({ is_listed }) => !is_listed)).toBe(true);
  for (const name of ['forum_states', 'article_states'] as const)
    expect(expected[name]?.some(({ ended_by }) => ended_by === 'change')).toBe(true);

  // From when upstream was seen to list a competitor twice, such mentions count once.
  const run = (sql: string) => mirror.warehouse().database.exclusive((session) => session.run(sql));
  await run(`INSERT INTO response_competitors SELECT * REPLACE (ordinal + 100 AS ordinal, position + 5 AS position)
    FROM response_competitors WHERE _deleted_at IS NULL AND ordinal = 0`);
  await run(`INSERT INTO sync.shapes VALUES ('responses', 'repeats in competitors', 'true')`);
  // A mark makes the site of the second brand known.
  const [, second] = [...hosts.keys()];
  expect(held.brands.find(({ id }) => id === second)?.['website_url']).toBeNull();
  const ours = [{ brand: second, kind: 'domain', id: 'coffee.example', value: 'ours' }];
  await storeMarks(mirror.warehouse().database, JSON.stringify(ours), false);
  await publishAnalytics(mirror.warehouse().database, mirror.copy);
  const repeated = await readPublished(mirror);
  for (const name of ['mentioned_x_cited', 'brand_changes']) {
    const rows = (await repeated.all(`${MART_SCHEMA}.${name}`)).filter(
      ({ brand_id, measure = 'owned_citations' }) => brand_id === second && measure === 'owned_citations',
    );
    expect(rows.length, name).toBeGreaterThan(0);
  }
  const { fct_entity_mention, mentions_daily, share_of_voice } = answers as Record<string, Row[]>;
  const same = { fct_entity_mention, mentions_daily, share_of_voice } as Record<string, Row[]>;
  expect((await repeated.rows('response_competitors')).length).toBeGreaterThan(
    (await held.rows('response_competitors')).length,
  );
  await expectMarts(repeated, same);
});
