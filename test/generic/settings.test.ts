import { expect, onTestFinished, test } from 'vitest';
import type { ResourceSelection } from '../../src/base/config/config.ts';
import { integer, text } from '../../src/contract/fields.ts';
import { defineResource } from '../../src/contract/resource.ts';
import { NOW_MS } from '../support/clocks.ts';
import type { JsonObject } from './exact-json.ts';
import { type BareMirror, OTHERS, openBareMirror, type Row } from './generic-mirror.ts';
import type { Shape } from './shape.ts';
import { shapes } from './shapes.ts';
import { startUpstream, type Upstream, type UpstreamOptions } from './upstream.ts';

function shapeAt(path: string): Shape {
  return shapes.find((shape) => shape.path === path) as Shape;
}

const tickets = shapeAt('/brands/{brandId}/tickets');
const industries = shapeAt('/industries');
const campaigns = shapeAt('/brands/{brandId}/campaigns');

async function open(
  used: readonly Shape[],
  selection: Partial<ResourceSelection> = {},
  options: Partial<UpstreamOptions> = {},
): Promise<{ upstream: Upstream; mirror: BareMirror }> {
  const upstream = await startUpstream({ shapes: used, nowMs: NOW_MS, ...options });
  const mirror = await openBareMirror(upstream, NOW_MS, selection);
  onTestFinished(async () => {
    await mirror.close();
    await upstream.close();
  });
  return { upstream, mirror };
}

/** Returns a path of a document whose response is JSON. */
function jsonOperation(body: JsonObject): { readonly get: JsonObject } {
  return { get: { responses: { 200: { content: { 'application/json': body } } } } };
}

/** Returns a change that adds paths to the document. */
function withPaths(more: JsonObject): (document: JsonObject) => string {
  return (document) => JSON.stringify({ ...document, paths: { ...(document['paths'] as JsonObject), ...more } });
}

async function endpointsOf({ rows }: BareMirror): Promise<Row[]> {
  return rows('SELECT path, resource, state FROM sync.endpoints ORDER BY path');
}

test('a declaration that is added later begins with its own table, and the rows of the time before are kept', async () => {
  const { mirror } = await open([tickets]);
  await mirror.sync();
  const rowsOf = (table: string) => mirror.rows(`SELECT * FROM ${table} ORDER BY ALL`);
  const [rows, versions] = [await rowsOf('tickets'), await rowsOf('tickets_history')];
  const declaration = defineResource({
    name: 'tickets',
    about: 'Tickets of a brand.',
    scope: 'brand',
    path: '/brands/{brandId}/tickets',
    paging: 'single',
    change: { kind: 'set' },
    query: {},
    tool: 'list_tickets',
    tables: [
      {
        name: 'tickets',
        about: 'Tickets of a brand.',
        at: { list: 'data' },
        key: ['id'],
        fields: { id: integer('Id.'), subject: text('Subject.') },
      },
    ],
  });
  await mirror.reopen([declaration]);
  expect([await rowsOf('tickets_generic'), await rowsOf('tickets_generic_history')]).toEqual([rows, versions]);
  const summary = await mirror.sync();
  expect([summary.status, summary.tables['tickets']]).toMatchObject(['complete', { inserted: 10, updated: 0 }]);
  expect(await endpointsOf(mirror)).toEqual([
    { path: '/brands/{brandId}/tickets', resource: 'tickets', state: 'declared' },
  ]);
});

test('excluded endpoints and endpoints that are not included are not requested', async () => {
  const excluding = await open([tickets, industries], { exclude: [...OTHERS, '/brands/{id}/tick*'] });
  await excluding.mirror.sync();
  expect(excluding.upstream.requests.map(({ path }) => path)).toEqual(['/industries']);
  const including = await open([tickets, industries], { include: ['*tickets'] });
  await including.mirror.sync();
  expect(including.upstream.requests.map(({ path }) => path.replace(/[0-9a-f-]{36}/, '{}'))).toEqual([
    '/brands/{}/tickets',
  ]);
});

test('requests for undeclared endpoints are limited, and the next sync continues with the others', async () => {
  const { upstream, mirror } = await open([tickets, industries, campaigns], { requests: 2 });
  const first = await mirror.sync();
  expect(first.status).toBe('complete');
  expect(first.warnings.map(({ message }) => message)).toEqual([
    '1 list of undeclared endpoints was left for the next sync: resources.requests is 2',
  ]);
  expect(upstream.requests).toHaveLength(2);
  await mirror.sync();
  expect(new Set(upstream.requests.map(({ path }) => path)).size).toBe(3);
});

test('an endless list ends with the requests for undeclared endpoints, in every sync', async () => {
  const posts = shapeAt('/brands/{brandId}/posts');
  const cut: Shape['paging']['cut'] = (items, query) => {
    const page = Number(query.get('cursor') ?? 0);
    const item = { ...(items[0] as JsonObject), id: page + 1 };
    return { items: [item], beside: { nextCursor: String(page + 1) } };
  };
  const { upstream, mirror } = await open([{ ...posts, paging: { ...posts.paging, cut } }], { requests: 5 });
  const { status, warnings } = await mirror.sync();
  expect(status).toBe('complete');
  expect(upstream.requests).toHaveLength(5);
  expect(warnings.map(({ slice, message }) => `${slice}: ${message}`)).toEqual([
    expect.stringMatching(
      /^posts.*: the rest of the list was not read: resources.requests is 5; set it higher, or exclude/,
    ),
  ]);
  await mirror.sync();
  expect(upstream.requests).toHaveLength(10);
  expect(await mirror.rows('SELECT count(*) AS rows, max(id) AS last FROM posts')).toEqual([{ rows: 5, last: 5 }]);
});

test('a document with 60 endpoints adds as many as the settings allow, and says how many it does not', async () => {
  const schema = { type: 'object', properties: { data: { type: 'array', items: { type: 'object' } } } };
  const one = jsonOperation({ schema });
  const more = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`/extra-${index}`, one]));
  const alterDocument = withPaths(more);
  const others = (path: string) => (path.startsWith('/extra-') ? { status: 200, body: { data: [] } } : null);
  const { mirror } = await open([industries], { endpoints: 3 }, { alterDocument, others });
  const first = await mirror.sync();
  expect(first.status).toBe('complete');
  const beyond =
    /^58 undeclared endpoints of upstream's document are not mirrored: resources.endpoints is 3; choose with/;
  expect(first.warnings.map(({ message }) => message)).toEqual([expect.stringMatching(beyond)]);
  const mirrored = async () => (await endpointsOf(mirror)).filter(({ resource }) => resource !== null);
  const found = await mirrored();
  expect(found).toHaveLength(3);
  expect((await mirror.sync()).status).toBe('complete');
  expect(await mirrored()).toEqual(found);
});

test('a document beyond the limits of a body is not read, which is a warning', async () => {
  const alterDocument = (document: JsonObject): string =>
    JSON.stringify({ ...document, 'x-many': Array.from({ length: 500_001 }, () => []) });
  const { upstream, mirror } = await open([industries], {}, { alterDocument });
  const { status, warnings } = await mirror.sync();
  expect(status).toBe('complete');
  expect(warnings.map(({ message }) => message)).toEqual([
    expect.stringMatching(
      /^new undeclared endpoints are not mirrored, because .* the body has \d+ objects and arrays;/,
    ),
  ]);
  expect(upstream.requests).toEqual([]);
});

test('items with 1,000 fields have 250 columns, and the other fields in _item', async () => {
  const names = Array.from({ length: 1_000 }, (_, index) => `field_${index}`);
  const item = (id: number) => Object.fromEntries([['id', id], ...names.map((name) => [name, `${name} of ${id}`])]);
  const properties = Object.fromEntries(names.map((name) => [name, { type: 'string' }]));
  const items = { type: 'object', properties: { id: { type: 'integer' }, ...properties } };
  const schema = { type: 'object', properties: { data: { type: 'array', items } } };
  const wide = jsonOperation({ schema });
  const alterDocument = withPaths({ '/wide': wide });
  const body = { data: Array.from({ length: 8 }, (_, id) => item(id)) };
  const others = (path: string) => (path === '/wide' ? { status: 200, body } : null);
  const { mirror } = await open([industries], {}, { alterDocument, others });
  const first = await mirror.sync();
  expect(first).toMatchObject({ status: 'complete', quarantined: 0, tables: { wide: { inserted: 8 } } });
  const columns = await mirror.rows("SELECT column_name FROM duckdb_columns() WHERE table_name = 'wide'");
  expect(columns.length).toBeLessThan(260);
  const [row = {}] = await mirror.rows('SELECT field_7, _item FROM wide WHERE id = 7');
  expect(row['field_7']).toBe('field_7 of 7');
  const stored = JSON.parse(String(row['_item'])) as Record<string, unknown>;
  expect(stored['field_999']).toBe('field_999 of 7');
  const second = await mirror.sync();
  expect(second.tables['wide']).toMatchObject({ inserted: 0, updated: 0, deleted: 0 });
});

test('a list with more items than its only page is unsupported, and its rows stay', async () => {
  const body = { data: [{ id: 1 }, { id: 2 }], has_more: false };
  const things = jsonOperation({});
  const numbered = { get: { ...things.get, parameters: [{ name: 'page', in: 'query', schema: { type: 'integer' } }] } };
  const alterDocument = withPaths({ '/things': things, '/numbered': numbered });
  const others = (path: string) => (path === '/things' ? { status: 200, body } : null);
  const { upstream, mirror } = await open([], {}, { alterDocument, others });
  const endpoints = () => mirror.rows('SELECT path, resource, state, reason FROM sync.endpoints ORDER BY path');
  const rows = 'SELECT id FROM things WHERE _deleted_at IS NULL ORDER BY id';
  expect(await mirror.sync()).toMatchObject({ status: 'complete', warnings: [] });
  const unsupported = {
    path: '/numbered',
    resource: null,
    state: 'unsupported',
    reason: 'page selects its pages; allowed: a cursor',
  };
  expect(await endpoints()).toEqual([
    unsupported,
    { path: '/things', resource: 'things', state: 'available', reason: null },
  ]);

  Object.assign(body, { data: [{ id: 3 }], has_more: true });
  const reason = 'the list has more items than its only page: has_more is true; allowed: a cursor for the next page';
  for (const _ of ['once', 'twice']) {
    const { status, warnings } = await mirror.sync();
    expect([status, warnings.map(({ message }) => message)]).toEqual(['complete', [reason]]);
    expect(await mirror.rows(rows)).toEqual([{ id: 1 }, { id: 2 }]);
    expect(await endpoints()).toEqual([
      unsupported,
      { path: '/things', resource: 'things', state: 'unsupported', reason },
    ]);
  }

  Object.assign(body, { has_more: false });
  expect(await mirror.sync()).toMatchObject({ status: 'complete', warnings: [] });
  expect(await mirror.rows(rows)).toEqual([{ id: 3 }]);
  expect(await endpoints()).toMatchObject([unsupported, { state: 'available', reason: null }]);
  expect(new Set(upstream.requests.map(({ path }) => path))).toEqual(new Set(['/things']));
});

test('an undeclared endpoint that refuses the key is a warning', async () => {
  const refusal = { status: 403, body: { error: { code: 'forbidden', message: 'Not in your plan.' } } } as const;
  const alterDocument = withPaths({ '/secrets': jsonOperation({}) });
  const others = (path: string) => (path === '/secrets' ? refusal : null);
  const { mirror } = await open([industries], {}, { alterDocument, others });
  const { status, warnings, tables } = await mirror.sync();
  expect(status).toBe('complete');
  expect(warnings.map(({ slice }) => slice)).toEqual(['secrets']);
  expect(tables['industries']?.inserted).toBe(5);
});

test('an endpoint that upstream removes keeps its rows', async () => {
  let isListed = true;
  const alterDocument = (document: JsonObject): string => {
    const { '/industries': removed, ...paths } = document['paths'] as JsonObject;
    return JSON.stringify({ ...document, paths: isListed ? { ...paths, '/industries': removed ?? null } : paths });
  };
  const { upstream, mirror } = await open([industries], {}, { alterDocument });
  await mirror.sync();
  isListed = false;
  const before = upstream.requests.length;
  expect((await mirror.sync()).status).toBe('complete');
  expect(upstream.requests).toHaveLength(before);
  expect(await mirror.rows('SELECT slug FROM industries WHERE _deleted_at IS NULL')).toHaveLength(5);
  expect(await endpointsOf(mirror)).toMatchObject([{ path: '/industries', state: 'vanished' }]);
});
