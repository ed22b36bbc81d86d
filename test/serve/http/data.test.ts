import formats from 'ajv-formats';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { tableFromIPC } from 'apache-arrow';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { History } from '../../../src/metrics/explain/what-changed.ts';
import type { TableResult } from '../../../src/read/metrics/table-result.ts';
import { NOW_MS } from '../../support/clocks.ts';
import { type CloseLater, sharedBefore, stillClock, worldBefore } from '../served-world.ts';
import { PAGE_STATUS, startTestServer, type TestServer, type TestServerOptions } from './support.ts';

const world = worldBefore('small');

/** Serves the pages of the world. */
const real = sharedBefore((closeLater) => openData({}, closeLater));

async function openData(options: TestServerOptions = {}, closeLater: CloseLater = onTestFinished) {
  return withData(await startTestServer(world().copy, { pages: { status: PAGE_STATUS }, ...options }, closeLater));
}

/** Adds a function that requests a path below /data with the key. */
function withData(server: TestServer) {
  const ask = (path: string, headers: Record<string, string> = {}, init: RequestInit = {}): Promise<Response> =>
    fetch(`${server.origin}/data${path}`, { ...init, headers: { 'x-api-key': server.key, ...headers } });
  return { ...server, ask };
}

describe('the declared queries and the measures', () => {
  it('are available as JSON, Arrow and CSV', async () => {
    const { ask } = real();
    const brand = `brand=${world().brandId}`;
    for (const [path, name] of [
      [`/queries/series_events?${brand}`, 'series_events'],
      [`/metrics?metrics=visibility,position&group_by=prompt&grain=day&${brand}`, 'metrics'],
    ] as const) {
      const json = await ask(path);
      expect(Object.fromEntries(json.headers), path).toMatchObject({
        'content-type': 'application/json; charset=utf-8',
        'cache-control': 'private, no-cache',
        vary: 'Accept, Accept-Encoding',
      });
      const table = (await json.json()) as TableResult;
      expect(table.sql, path).toMatch(/select/i);
      const arrow = await ask(path, { accept: 'application/vnd.apache.arrow.stream' });
      expect(arrow.headers.get('content-disposition')).toBe(`attachment; filename="${name}.arrows"`);
      expect(tableFromIPC(new Uint8Array(await arrow.arrayBuffer())).numRows).toBe(table.rows.length);
      const csv = await (await ask(path, { accept: 'text/csv' })).text();
      expect(csv.split('\r\n')[0], path).toBe(table.columns.map((column) => column.name).join());
    }
  });

  it('are not sent again until the request, the data or the day changes', async () => {
    const now = { ms: NOW_MS };
    const { ask, log } = await openData({ clock: { ...stillClock, now: () => now.ms } });
    const path = '/metrics?metrics=visibility&group_by=engine';
    const first = await ask(path);
    const tag = first.headers.get('etag') ?? '';
    await first.arrayBuffer();
    const again = (path: string, headers: Record<string, string> = {}) =>
      ask(path, { 'if-none-match': tag, ...headers }).then(({ status }) => status);
    // The order of different parameters has no meaning.
    expect(await again('/metrics?group_by=engine&metrics=visibility')).toBe(304);
    expect(await again(path, { 'if-none-match': '*' })).toBe(304);
    // The result is cached for requests without a condition.
    await (await ask(path)).arrayBuffer();
    expect((await log()).map(({ cache }) => cache)).toEqual(['computed', 'unchanged', 'unchanged', 'kept']);
    expect(await again('/metrics?metrics=visibility&group_by=topic')).toBe(200);
    expect(await again(path, { accept: 'text/csv' })).toBe(200);
    now.ms += 24 * 3_600_000;
    expect(await again(path)).toBe(200);
    const [brands, events] = await Promise.all(['brands', 'filters'].map((name) => ask(`/queries/${name}`)));
    expect(brands?.headers.get('etag')).not.toBe(events?.headers.get('etag'));
    for (const each of addresses()) {
      const listed = await ask(each);
      expect(listed.status, each).toBe(200);
      const same = await ask(each, { 'if-none-match': listed.headers.get('etag') ?? '' });
      expect(same.status, each).toBe(304);
    }
  });

  it('match the served OpenAPI document', async () => {
    const { ask, baseUrl } = real();
    // oxlint-disable-next-line typescript/no-explicit-any -- the document is judged by its schemas, not by types
    const { paths, components }: any = await (await fetch(`${baseUrl}/openapi.json`)).json();
    const ajv = new Ajv2020({ strict: false });
    formats.default(ajv);
    for (const [path, address] of [
      ['/data/queries', '/queries'],
      ['/data/metrics/model', '/metrics/model'],
      ['/data/queries/{name}', '/queries/brands'],
      ['/data/metrics', '/metrics?metrics=visibility,position&group_by=engine&grain=week'],
      ['/data/metrics', '/metrics?metrics=nothing'],
      ['/data/metrics/values', '/metrics/values?dimension=prompt&limit=3'],
      ['/data/metrics/values', '/metrics/values?dimension=prompts'],
      ['/data/explain', `/explain?metric=visibility&brand=${world().brandId}`],
      ['/data/changes', '/changes?since=60d'],
      ['/data/opportunities', `/opportunities?brand=${world().brandId}&limit=2`],
      ['/data/opportunities', '/opportunities?limit=0'],
    ] as const) {
      const response = await ask(address);
      const described = paths[path].get.responses[response.status];
      const { content } = components.responses[described.$ref?.split('/').at(-1)] ?? described;
      const { schema } = content['application/json'];
      const check = ajv.compile({ ...schema, components });
      expect(check(await response.json()) ? null : check.errors, address).toBe(null);
    }
  });

  it('are JSON in every format if the result is not a table, with the names of the brands', async () => {
    const response = await real().ask('/changes?since=90d', { accept: 'text/csv' });
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
    const { changes } = (await response.json()) as History;
    expect(changes.length).toBeGreaterThan(0);
    const nameOf = new Map(world().brands.map(({ id, name }) => [id, name]));
    for (const { brandId, brand: name } of changes) expect(name).toBe(nameOf.get(brandId ?? '') ?? null);
  });

  it('reject unknown names and wrong parameters with the allowed ones', async () => {
    const { ask } = real();
    const errorOf = async (path: string) => {
      const response = await ask(path);
      return [response.status, ((await response.json()) as { error: { message: string } }).error.message];
    };
    expect(await errorOf('/queries/brand')).toEqual([404, expect.stringMatching(/allowed: .*\bbrands\b/)]);
    expect(await errorOf('/queries/..%2fbrands')).toEqual([404, expect.any(String)]);
    // Other errors are tests of test/read/metrics.
    expect(await errorOf('/queries/brands?nothing=1')).toEqual([400, expect.stringContaining('"nothing"')]);
    expect(await errorOf('/changes?kind=alerts')).toEqual([400, expect.stringContaining('did you mean "alert"?')]);
    const model = (await (await ask('/metrics/model')).json()) as { measures: { name: string }[] };
    expect(model.measures.map(({ name }) => name)).toContain('visibility');
  });
});

/** Addresses of all data of pages. */
function addresses(): string[] {
  const brand = `brand=${world().brandId}`;
  return [
    '/queries',
    '/queries/brands',
    '/metrics?metrics=visibility',
    '/metrics/model',
    '/metrics/values?dimension=brand',
    `/explain?metric=visibility&${brand}`,
    '/changes?since=30d',
    `/opportunities?${brand}`,
    '/reports',
  ];
}

it('the data of the pages needs a key, and is not available to pages of other sites', async () => {
  const { ask, origin } = await openData({ rateLimit: 1, corsOrigins: ['https://app.example.com'] });
  for (const path of addresses()) {
    const refused = await fetch(`${origin}/data${path}`);
    expect(refused.status, path).toBe(401);
    expect(await refused.json()).toMatchObject({ error: { code: 'unauthorized' } });
    expect((await ask(path, { 'x-api-key': 'gsk_wrong' })).status, path).toBe(401);
    for (const foreign of [
      { origin: 'https://app.example.com' },
      { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors' },
      { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' },
    ]) {
      const response = await ask(path, foreign);
      expect(response.status, `${path} ${JSON.stringify(foreign)}`).toBe(403);
      expect(response.headers.get('access-control-allow-origin')).toBeNull();
    }
    const response = await ask(path);
    expect(response.status, path).toBe(200);
    expect(response.headers.get('cross-origin-resource-policy')).toBe('same-origin');
    const head = await ask(path, {}, { method: 'HEAD' });
    expect([head.status, await head.text()], path).toEqual([200, '']);
    expect((await ask(path, {}, { method: 'POST' })).status, path).toBe(405);
  }
  expect((await fetch(`${origin}/data/none`)).status).toBe(401);
});
