import { expect, test } from 'vitest';
import { addDays, dayOf } from '../../../src/contract/time.ts';
import { defaultConventions } from '../../../src/metrics/calibration/conventions.ts';
import { runDeclaredQuery } from '../../../src/read/metrics/run-declared.ts';
import type { World } from '../../support/worlds.ts';
import { itemsOf, type Mirror, type NamedRow, openMirror, recordsOf, sourceOf } from '../mirror.ts';

interface Item {
  readonly id: string;
  readonly promptId: string;
  readonly prompt: string;
  readonly engine: string;
  readonly createdAt: string;
  readonly brandMentioned: boolean;
  readonly brandPosition: number | null;
  readonly brandSentiment: string | null;
  readonly competitors: readonly { readonly competitorId: string; readonly name: string; readonly position: number }[];
  readonly citations: readonly { readonly url: string; readonly domain: string; readonly title: string | null }[];
}

interface Reader {
  readonly mirror: Mirror;
  readonly brand: { readonly id: string; readonly name: string };
  /** Responses of the brand as /v1 serves them, newest first. */
  readonly items: readonly Item[];
  /** The same before the change. */
  readonly earlier: readonly Item[];
  run(name: string, parameters: Record<string, string>): Promise<NamedRow[]>;
}

/** Changes and deletes responses and prompts. */
async function change({ sandbox, sync, publishOnly }: Mirror): Promise<void> {
  sandbox.world.advance({
    deletedResponses: 6,
    editedResponses: 4,
    regroupedPrompts: 3,
    deletedPrompts: 2,
    pausedPrompts: 2,
  });
  await sync({ only: ['prompts', 'responses'] });
  await publishOnly();
}

/** Opens a world, changed between two syncs if `isChanged`. */
async function openReader(world: World, isChanged: boolean): Promise<Reader> {
  const mirror = await openMirror({ world, conventions: defaultConventions });
  const brand = mirror.sandbox.world.brands[0] ?? { id: '', name: '' };
  const list = `/brands/${brand.id}/responses?limit=100&from=2025-12-01`;
  const earlier = await itemsOf<Item>(mirror, list);
  if (isChanged) await change(mirror);
  const items = await itemsOf<Item>(mirror, list);
  const source = await sourceOf(mirror);
  const range = { from: addDays(dayOf(mirror.clock.now()), -29), to: dayOf(mirror.clock.now()) };
  const run: Reader['run'] = async (name, parameters) =>
    recordsOf(await runDeclaredQuery(source, name, new URLSearchParams({ ...range, brand: brand.id, ...parameters })));
  return { mirror, brand, items, earlier, run };
}

test('the queries of prompts and responses equal loops over the items of /v1', async () => {
  const reader = await openReader('small', true);
  await expectPages(reader);
  await expectSearch(reader);
  await expectDetails(reader);
  await expectDeleted(reader);
  await expectVersions(reader);
  await expectPrompts(reader);
  await expectNoOtherBrand(reader);
});

test('a response is the item of /v1 if upstream has whole seconds', async () => {
  await expectDetails(await openReader('fractions', false));
});

async function expectPages({ items, run }: Reader): Promise<void> {
  expect(items.length).toBeGreaterThan(100);
  const rows: NamedRow[] = [];
  for (;;) {
    const after = rows.at(-1)?.['cursor'];
    const page = await run('response_list', { limit: '50', ...(after === undefined ? {} : { after: String(after) }) });
    rows.push(...page);
    if (page.length < 50) break;
  }
  expect(rows.map(shownOf)).toEqual(
    items.map((item) => ({
      id: item.id,
      at: Date.parse(item.createdAt),
      prompt: item.prompt,
      engine: item.engine,
      mentioned: item.brandMentioned,
      position: item.brandPosition,
      competitors: item.competitors.map(({ competitorId }) => competitorId).sort(),
      citations: item.citations.length,
    })),
  );
  for (const index of [1, items.length - 1]) {
    const step = { after: String(rows[index]?.['cursor']), limit: '1' };
    const [newer] = await run('response_list', { ...step, direction: 'newer' });
    expect(newer?.['response_id']).toBe(items[index - 1]?.id);
    const [older] = await run('response_list', step);
    expect(older?.['response_id']).toBe(items[index + 1]?.id);
  }
  expect(await run('response_list', { after: String(rows[0]?.['cursor']), direction: 'newer' })).toEqual([]);
}

function shownOf(row: NamedRow): unknown {
  return {
    id: row['response_id'],
    at: Date.parse(String(row['created_at'])),
    prompt: row['prompt'],
    engine: row['engine'],
    mentioned: row['brand_mentioned'],
    position: row['brand_position'],
    competitors: (row['competitors'] as { id: string }[]).map(({ id }) => id).sort(),
    citations: row['citations'],
  };
}

async function expectSearch({ items, run, brand }: Reader): Promise<void> {
  const cited = items.find(({ citations }) => citations.some(({ title }) => title !== null && title.length > 4));
  const page = cited?.citations.find(({ title }) => title !== null && title.length > 4);
  const named = items.find(({ competitors }) => competitors.length > 0);
  const texts = [
    items[0]?.prompt.slice(3, 12),
    named?.competitors[0]?.name.toUpperCase(),
    page?.url,
    page?.domain,
    page?.title?.slice(1),
    brand.name,
    "100 % of nobody's text",
  ];
  let found = 0;
  for (const text of texts) {
    if (text === undefined) throw new Error(`a text is missing: ${texts}`);
    for (const mentioned of text === texts[0] ? [null, true, false] : [null]) {
      const expected = items.filter(
        (item) => isFound(item, brand.name, text) && (mentioned === null || item.brandMentioned === mentioned),
      );
      found += expected.length;
      const rows = await run('response_list', {
        search: text,
        limit: '200',
        ...(mentioned === null ? {} : { mentioned: String(mentioned) }),
      });
      expect(
        rows.map((row) => row['response_id']),
        text,
      ).toEqual(expected.slice(0, 200).map(({ id }) => id));
    }
  }
  expect(found).toBeGreaterThan(20);
}

function isFound(item: Item, brand: string, text: string): boolean {
  const texts = [
    item.prompt,
    ...(item.brandMentioned ? [brand] : []),
    ...item.competitors.map(({ name }) => name),
    ...item.citations.flatMap(({ url, domain, title }) => [url, domain, title ?? '']),
  ];
  return texts.some((each) => each.toLowerCase().includes(text.toLowerCase()));
}

// Also how often other responses cite its pages.
async function expectDetails({ items, run }: Reader): Promise<void> {
  const [mentioned, other] = [true, false].map((is) => items.filter(({ brandMentioned }) => brandMentioned === is));
  for (const item of [...(mentioned ?? []).slice(0, 2), ...(other ?? []).slice(0, 2)]) {
    const [row] = await run('response_detail', { id: item.id });
    expect(row?.['item']).toEqual(item);
    const mentions = await run('response_entities', { id: item.id });
    expect(mentions.filter((mention) => mention['entity_type'] === 'brand')).toHaveLength(item.brandMentioned ? 1 : 0);
    const rivals = mentions.filter((mention) => mention['entity_type'] === 'competitor');
    expect(rivals.map((mention) => mention['competitor_id']).sort()).toEqual(
      item.competitors.map(({ competitorId }) => competitorId).sort(),
    );
    const sources = await run('response_sources', { id: item.id });
    expect(sources.map((source) => [source['url'], source['other_responses']]).sort()).toEqual(
      item.citations
        .map(({ url }) => [
          url,
          items.filter(({ id, citations }) => id !== item.id && citations.some((other) => other.url === url)).length,
        ])
        .sort(),
    );
  }
}

async function expectDeleted({ mirror, brand, run, items }: Reader): Promise<void> {
  const deleted = await mirror.query(
    `SELECT CAST(r.id AS VARCHAR), count(c.url) FROM main.responses r
     LEFT JOIN main.response_citations c ON c.response_id = r.id
     WHERE r._deleted_at IS NOT NULL AND r.brand_id = '${brand.id}' GROUP BY r.id ORDER BY 2 DESC`,
  );
  const [id, pages] = Object.values(deleted[0] ?? {});
  expect(items.map((item) => item.id)).not.toContain(id);
  const [row] = await run('response_detail', { id: String(id) });
  expect(row?.['deleted_at']).toMatch(/^\d{4}-.*Z$/);
  expect(row?.['item']).toMatchObject({ id, citations: { length: Number(pages) } });
  expect(await run('response_sources', { id: String(id) })).toHaveLength(Number(pages));
  const listed = await run('response_list', { limit: '200' });
  expect(listed.map((other) => other['response_id'])).not.toContain(id);
}

async function expectVersions({ earlier, items, run }: Reader): Promise<void> {
  const current = new Map(items.map((item) => [item.id, item]));
  const isEdited = (item: Item): boolean =>
    current.has(item.id) && JSON.stringify(item) !== JSON.stringify(current.get(item.id));
  const edited = earlier.filter(isEdited);
  const deleted = earlier.filter(({ id }) => !current.has(id));
  const others = earlier.filter((item) => current.has(item.id) && !isEdited(item));
  expect(edited.length).toBeGreaterThan(0);
  expect(deleted.length).toBeGreaterThan(0);
  for (const item of [...edited, ...deleted, ...others.slice(0, 3)]) {
    const versions = await run('response_versions', { id: item.id });
    const next = isEdited(item)
      ? ['updated', 'inserted']
      : current.has(item.id)
        ? ['inserted']
        : ['deleted', 'inserted'];
    expect(versions.map(({ change }) => change)).toEqual(next);
    const ends = next.map((change, place) =>
      place === 0 && change !== 'deleted' ? null : versions[0]?.['valid_from'],
    );
    expect(versions.map(({ valid_to }) => valid_to)).toEqual(ends);
    expect(contentOf(versions.at(-1))).toEqual(itemContent(item));
    if (!isEdited(item)) continue;
    expect(contentOf(versions[0])).toEqual(itemContent(current.get(item.id) as Item));
    const changed = versions[0]?.['changed'] as string[];
    expect(changed.length).toBeGreaterThan(0);
    const differing = Object.keys(itemContent(item)).filter(
      (name) => JSON.stringify(contentOf(versions[0])[name]) !== JSON.stringify(contentOf(versions[1])[name]),
    );
    expect([...changed].sort()).toEqual(differing.sort());
    expect(versions[1]?.['changed']).toEqual([]);
  }
}

function itemContent({
  prompt,
  engine,
  brandMentioned,
  brandPosition,
  brandSentiment,
  ...item
}: Item): Record<string, unknown> {
  return {
    prompt,
    engine,
    brand_mentioned: brandMentioned,
    brand_position: brandPosition,
    brand_sentiment: brandSentiment,
    competitors: item.competitors,
    citations: item.citations,
  };
}

// The content of a version with the names of /v1 in its nested rows.
function contentOf(version: Record<string, unknown> | undefined): Record<string, unknown> {
  const { competitors, citations, ...row } = version ?? {};
  const named = (competitors as NamedRow[]).map(({ competitor_id, name, position, sentiment }) => ({
    competitorId: competitor_id,
    name,
    position,
    sentiment,
  }));
  const cited = (citations as NamedRow[]).map(({ url, domain, title, position }) => ({ url, domain, title, position }));
  const { prompt, engine, brand_mentioned, brand_position, brand_sentiment } = row;
  return { prompt, engine, brand_mentioned, brand_position, brand_sentiment, competitors: named, citations: cited };
}

async function expectPrompts({ mirror, brand, run, items }: Reader): Promise<void> {
  const world = mirror.sandbox.world.brands.find(({ id }) => id === brand.id);
  const rows = await run('prompt_list', {});
  const changes: string[] = [];
  const tracked = new Set(
    world?.competitors.filter(({ deletedAtMs }) => deletedAtMs === undefined).map(({ id }) => id),
  );
  for (const row of rows) {
    const own = items.filter(({ promptId }) => promptId === row['prompt_id']);
    expect(row['responses']).toBe(own.length);
    expect(row['responses_per_day']).toBeCloseTo(own.length / 30, 9);
    const counts = [...tracked]
      .map((id) => own.filter(({ competitors }) => competitors.some(({ competitorId }) => competitorId === id)).length)
      .filter((count) => count > 0)
      .sort((a, b) => b - a);
    const leaders = row['competitors'] as { id: string; responses: number }[];
    expect(leaders.map(({ responses }) => responses)).toEqual(counts.slice(0, 3));
    for (const { id, responses } of leaders) {
      expect(own.filter(({ competitors }) => competitors.some(({ competitorId }) => competitorId === id))).toHaveLength(
        responses,
      );
    }
    const prompt = world?.prompts.find(({ id }) => id === row['prompt_id']);
    const isPaused = prompt?.pausedAtMs !== undefined || prompt?.pausedFromStartMs !== undefined;
    expect(row['state']).toBe(prompt?.deletedAtMs !== undefined ? 'deleted' : isPaused ? 'paused' : 'active');
    expect((row['tags'] as { id: string }[]).map(({ id }) => id).sort()).toEqual(
      prompt?.deletedAtMs !== undefined ? [] : prompt?.tags.map(({ id }) => id).sort(),
    );
    const versions = await run('prompt_versions', { id: String(row['prompt_id']) });
    changes.push(...versions.flatMap((version) => version['changed'] as string[]));
    expect(versions.at(-1)).toMatchObject({ change: 'inserted', changed: [] });
    if (prompt?.deletedAtMs !== undefined) expect(versions[0]).toMatchObject({ change: 'deleted' });
    const [detail] = await run('prompt_detail', { id: String(row['prompt_id']) });
    expect(detail).toMatchObject({ text: prompt?.text, state: row['state'], responses: own.length });
  }
  expect(new Set(rows.map((row) => row['state'])).size).toBeGreaterThan(1);
  expect(changes.some((name) => name === 'topic' || name === 'tags')).toBe(true);
  expect(changes).toContain('active');
}

async function expectNoOtherBrand({ mirror, items, run }: Reader): Promise<void> {
  const item = items.find(({ brandMentioned, citations }) => brandMentioned && citations.length > 0);
  const other = mirror.sandbox.world.brands[1]?.id ?? '';
  for (const [name, id] of [
    ['response_detail', item?.id],
    ['response_entities', item?.id],
    ['response_sources', item?.id],
    ['response_versions', item?.id],
    ['prompt_detail', item?.promptId],
    ['prompt_versions', item?.promptId],
  ] as const) {
    expect((await run(name, { id: id ?? '' })).length, name).toBeGreaterThan(0);
    expect(await run(name, { id: id ?? '', brand: other }), name).toEqual([]);
  }
}
