import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { replayWorkspace } from '../../src/operations/replay.ts';
import type { SyncSummary } from '../../src/operations/sightline.ts';
import { openService } from '../../src/serve/open-service.ts';
import { layoutOf } from '../../src/snapshot/layout.ts';
import { openReader } from '../../src/warehouse/reader.ts';
import { NOW_MS } from '../support/clocks.ts';
import { canonical, type Json, type JsonObject } from './exact-json.ts';
import { type GenericMirror, openGenericMirror } from './generic-mirror.ts';
import { drawFrom } from './shape-random.ts';
import { shapes } from './shapes.ts';
import { startUpstream, type Upstream, type UpstreamRequest } from './upstream.ts';

/** What a declaration adds to the path of an endpoint of the test upstream. */
interface Declared {
  readonly path: string;
  readonly list?: string;
  readonly pages?: JsonObject;
  readonly parent?: JsonObject;
  readonly mayBeMissing?: true;
  readonly key?: readonly string[];
  readonly fields?: JsonObject;
}

const record = { id: 'uuid', title: 'text', state: 'label', score: 'number', createdAt: 'timestamp' } as const;
const twenty = (parameter: string): JsonObject => ({ size: { parameter, max: 20 } });

const declared: readonly Declared[] = [
  { path: '/brands/{brandId}/labels' },
  { path: '/brands/{brandId}/audits', list: 'data.items' },
  {
    path: '/brands/{brandId}/keywords',
    list: 'results',
    pages: { kind: 'cursor', parameter: 'after', next: 'next_cursor', ...twenty('limit') },
  },
  { path: '/feeds', pages: { kind: 'link', next: 'meta.next' } },
  { path: '/brands/{brandId}/backlinks', pages: { kind: 'link', next: 'links.next', ...twenty('limit') } },
  { path: '/brands/{brandId}/events', pages: { kind: 'link', next: 'header' } },
  { path: '/brands/{brandId}/invoices', pages: { kind: 'page', parameter: 'page', first: 1, more: 'has_more' } },
  {
    path: '/brands/{brandId}/highlights',
    pages: { kind: 'page', parameter: 'page', first: 1, ...twenty('pageSize') },
  },
  {
    path: '/brands/{brandId}/visitors',
    list: 'items',
    pages: { kind: 'offset', parameter: 'offset', total: 'total', ...twenty('limit') },
  },
  {
    path: '/brands/{brandId}/campaigns',
    list: 'campaigns',
    fields: { id: 'uuid', name: 'text', budget: 'number' },
  },
  {
    path: '/brands/{brandId}/campaigns/{campaignId}/ad-groups',
    list: 'adGroups',
    parent: { resource: 'campaigns', parameters: { campaignId: 'id' } },
    key: ['adGroupId'],
    fields: { adGroupId: 'text', name: 'text', bid: 'integer' },
  },
  {
    path: '/brands/{brandId}/campaigns/{campaignId}/ad-groups/{adGroupId}/ads',
    parent: { resource: 'ad_groups', parameters: { campaignId: 'campaign_id', adGroupId: 'ad_group_id' } },
    pages: { kind: 'cursor', parameter: 'cursor', next: 'next_cursor' },
    fields: { id: 'integer', headline: 'text', clicks: 'integer' },
  },
  { path: '/brands/{brandId}/stores', mayBeMissing: true, fields: { id: 'uuid', city: 'text' } },
  { path: '/brands/{brandId}/log-lines', key: [], fields: { level: 'text', message: 'text' } },
  {
    path: '/brands/{brandId}/shifts',
    key: [],
    pages: { kind: 'cursor', parameter: 'cursor', next: 'nextCursor' },
    fields: { id: 'integer', day: 'text', hours: 'integer' },
  },
];

const nameOf = (path: string): string => (path.split('/').at(-1) as string).replaceAll('-', '_');

function toDeclaration({ path, list = 'data', pages, parent, mayBeMissing, key = ['id'], fields = record }: Declared) {
  const name = nameOf(path);
  return {
    name,
    about: `Items of ${path}.`,
    scope: path.startsWith('/brands/') ? 'brand' : 'workspace',
    path,
    paging: 'single',
    ...(pages === undefined ? {} : { pages }),
    ...(parent === undefined ? {} : { parent }),
    ...(mayBeMissing === undefined ? {} : { mayBeMissing }),
    change: { kind: pages === undefined ? 'set' : 'walk' },
    tool: `list_${name}`,
    tables: [{ name, about: `Items of ${path}.`, at: { list }, key, fields }],
  };
}

const chosen = declared.map(({ path }) => shapes.find((shape) => shape.path === path) as (typeof shapes)[number]);
const request = { only: declared.map(({ path }) => nameOf(path)) };
const rowsOf = new Map<string, unknown[]>();
let upstream: Upstream;
let mirror: GenericMirror;
let onRequest: (request: UpstreamRequest) => void = () => undefined;

beforeAll(async () => {
  upstream = await startUpstream({
    shapes,
    nowMs: NOW_MS,
    world: 'tiny',
    onRequest: (seen) => onRequest(seen),
  });
  mirror = await openGenericMirror(upstream, NOW_MS, { schemas: ['builtin', './lists.json'] });
  await writeFile(join(mirror.folder, 'lists.json'), JSON.stringify(declared.map(toDeclaration)));
});

afterAll(async () => {
  await mirror?.close();
  await upstream?.close();
});

async function sync(): Promise<SyncSummary> {
  upstream.requests.length = 0;
  const summary = await mirror.sync(request);
  const { status, failures, quarantined, error } = summary;
  expect({ status, failures, quarantined, error }).toEqual({
    status: 'complete',
    failures: [],
    quarantined: 0,
    error: null,
  });
  const statements = declared.map(({ path, fields = record }) => {
    const columns = Object.keys(fields).map((field) => {
      const column = field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
      const value =
        fields[field as keyof typeof fields] === 'timestamp' ? `strftime(${column}, '%Y-%m-%dT%H:%M:%S.%gZ')` : column;
      return `${value} AS "${field}"`;
    });
    return `SELECT ${columns.join(', ')} FROM ${nameOf(path)} WHERE _deleted_at IS NULL`;
  });
  const results = await mirror.results(...statements);
  for (const [index, { path }] of declared.entries()) rowsOf.set(path, results[index] ?? []);
  return summary;
}

function expectEqual(): void {
  for (const shape of chosen) {
    const expected = upstream.lists(shape).flatMap(({ items }) => items ?? []);
    expect(toText(rowsOf.get(shape.path) as Json[]), shape.path).toEqual(toText(expected));
  }
}

function toText(items: readonly Json[]): string[] {
  return items
    .map((item) =>
      canonical(JSON.parse(JSON.stringify(item, (_key, value) => (typeof value === 'bigint' ? Number(value) : value)))),
    )
    .sort();
}

function changesIn({ tables }: SyncSummary, path: string) {
  const { inserted, updated, deleted } = tables[nameOf(path)] ?? { inserted: 0, updated: 0, deleted: 0 };
  return [inserted, updated, deleted];
}

describe.sequential('lists of other forms, declared in a file', () => {
  test('are stored exactly, and no page is requested twice', async () => {
    await sync();
    expectEqual();
    const sent = upstream.requests.map(({ path, query }) => path + query);
    expect(sent.filter((one, index) => sent.indexOf(one) !== index)).toEqual([]);
  });

  test('do not change in a second sync; then one item changes and another is deleted with the rows below it', async () => {
    const same = await sync();
    expectEqual();
    expect(declared.map(({ path }) => changesIn(same, path))).toEqual(declared.map(() => [0, 0, 0]));
    for (const shape of chosen) {
      const list = upstream.lists(shape).find(({ items }) => (items ?? []).length > 2);
      const [first, , ...others] = (list?.items ?? []) as JsonObject[];
      if (list !== undefined && first !== undefined) list.items = [shape.change(first), ...others];
    }
    const summary = await sync();
    expectEqual();
    // The rows below the deleted campaign and ad group are deleted too.
    const kept = declared.filter(({ path }) => !path.includes('/campaigns'));
    const expected = kept.map(({ path, key }) => [path, key?.length === 0 ? [1, 0, 2] : [0, 1, 1]]);
    expect(kept.map(({ path }) => [path, changesIn(summary, path)])).toEqual(expected);
    const [left] = await mirror.rows(`SELECT
      (SELECT count(*) FROM ad_groups g WHERE _deleted_at IS NULL AND NOT EXISTS (SELECT 1 FROM campaigns c WHERE c._deleted_at IS NULL AND CAST(c.id AS VARCHAR) = g.campaign_id)) AS groups,
      (SELECT count(*) FROM ads a WHERE _deleted_at IS NULL AND NOT EXISTS (SELECT 1 FROM ad_groups g WHERE g._deleted_at IS NULL AND g.ad_group_id = a.ad_group_id)) AS ads,
      (SELECT count(*) FROM ads WHERE _deleted_at IS NOT NULL) AS deleted`);
    expect(Number(left?.['groups']) + Number(left?.['ads'])).toBe(0);
    expect(Number(left?.['deleted'])).toBeGreaterThan(10);
  });

  test('continue at the next page after a failure, and count equal items on', async () => {
    const draw = drawFrom('more items');
    const paged = chosen
      .filter(({ paging }) => paging.parameters.length > 0)
      .flatMap((shape) =>
        upstream
          .lists(shape)
          .filter(({ items }) => (items ?? []).length > 0)
          .slice(0, 1),
      );
    for (const list of paged) {
      const { shape, items } = list;
      const added = Array.from({ length: 30 }, () => shape.create(items?.[0] as JsonObject, draw));
      list.items = [...added, ...(items ?? [])];
    }
    const seen = new Set<string>();
    onRequest = ({ path, query }) => {
      // Every page after the first fails.
      if (seen.has(path) && !seen.has(path + query)) throw new Error('no further pages');
      seen.add(path).add(path + query);
    };
    upstream.requests.length = 0;
    const failed = await mirror.sync(request);
    expect(failed.status).toBe('partial');
    onRequest = () => undefined;
    await sync();
    expectEqual();
    for (const { path } of paged) {
      const again = upstream.requests.filter((one) => one.path === path).map(({ path: at, query }) => at + query);
      expect(
        again.filter((one) => seen.has(one)),
        path,
      ).toEqual([]);
    }
  });

  test('are equal after a replay of the raw pages', async () => {
    const into = join(mirror.folder, 'replayed.duckdb');
    const chosen = { from: null, to: null, ...request, into, acceptMissing: false };
    const { status, damages } = await replayWorkspace(mirror.context, chosen, () => undefined);
    expect({ status, damages }).toEqual({ status: 'complete', damages: [] });
    const names = declared.map(({ path }) => nameOf(path));
    const digests = names.map(
      (name) =>
        `SELECT '${name}', count(*), CAST(bit_xor(hash(t)) AS VARCHAR) FROM (SELECT * EXCLUDE (_run_id) FROM ${name}) t`,
    );
    const [replayed, stored] = [
      await openReader(into),
      await openReader(layoutOf(join(mirror.folder, 'data', 'default')).warehouse),
    ];
    onTestFinished(() => [replayed, stored].forEach((reader) => void reader.close()));
    const sql = digests.join(' UNION ALL ');
    expect((await replayed.query(sql)).rows).toEqual((await stored.query(sql)).rows);
  });

  test('are served with the values of all path parameters', async () => {
    const service = openService(mirror.context.config, systemClock, new Uint8Array(32), 10_000);
    onTestFinished(() => service.close());
    const ask = async (name: string, given: Readonly<Record<string, string>>) => {
      const question = await service.ask(service.catalogue.get(name), given, new URLSearchParams());
      return { ...question, body: (await question.answer()).body as { data: Json[] } };
    };
    const lists = chosen.filter(({ path }) => path.endsWith('/ads')).flatMap((shape) => upstream.lists(shape));
    const isEmpty = ({ items }: (typeof lists)[number]): boolean => (items ?? []).length === 0;
    for (const list of [lists.find((one) => !isEmpty(one)), lists.find(isEmpty)]) {
      const [, brandId = '', , campaignId = '', , adGroupId = ''] = list?.path.slice(1).split('/') ?? [];
      const { body, partial } = await ask('ads', { brandId, campaignId, adGroupId });
      expect(toText(body.data)).toEqual(toText(list?.items ?? []));
      expect(partial).toBe(false);
      const unknown = ask('ads', { brandId, campaignId, adGroupId: 'unknown' });
      await expect(unknown).rejects.toThrow('the adGroup unknown does not exist');
    }
    const logs = chosen.find(({ path }) => path.endsWith('/log-lines')) as (typeof chosen)[number];
    for (const { brandId, items } of upstream.lists(logs)) {
      const { body } = await ask('log_lines', { brandId: brandId ?? '' });
      expect(toText(body.data)).toEqual(toText(items ?? []));
    }
  });
});
