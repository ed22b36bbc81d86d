import formats from 'ajv-formats';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { tableFromIPC } from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import type { History } from '../../../src/analytics/explain/what-changed.ts';
import { dataOperations } from '../../../src/query/metrics/data-operations.ts';
import type { MetricsSource, TableResult } from '../../../src/query/metrics/table-result.ts';
import type { Tables } from '../../../src/serve/data/data-handlers.ts';
import { until } from '../../cli/helpers.ts';
import { sharedBefore, stillClock, worldBefore } from '../served-world.ts';
import { openServer, PAGE_STATUS, startTestServer, type TestServer, type TestServerOptions } from './support.ts';

const world = worldBefore('small');

const TABLE: TableResult = {
  name: 'samples',
  about: 'Samples.',
  sql: 'SELECT 1',
  asOf: '2026-11-22T02:15:00Z',
  completeTo: '2026-11-21',
  partial: false,
  from: null,
  to: null,
  truncated: false,
  columns: [
    ['id', 'UUID'],
    ['domain', 'VARCHAR'],
    ['citations', 'BIGINT'],
    ['share', 'DOUBLE'],
    ['score', 'DECIMAL(18,3)'],
    ['is_own', 'BOOLEAN'],
    ['day', 'DATE'],
    ['seen_at', 'TIMESTAMP WITH TIME ZONE'],
    ['engines', 'VARCHAR[]'],
    ['extra', 'JSON'],
  ].map(([name = '', type = '']) => ({ name, type, about: `The ${name}.` })),
  rows: [
    [
      '3f2b1c9e-0000-4000-8000-000000000001',
      'example.com',
      12,
      0.25,
      1.5,
      true,
      '2026-11-01',
      '2026-11-01T10:00:00.250Z',
      ['a', 'b'],
      { title: 'عربي', n: [1] },
    ],
    ['3f2b1c9e-0000-4000-8000-000000000002', 'a "b",\n<script>', 0, null, null, false, null, null, [], null],
  ],
};

/** A server that computes the tables of its pages with the metrics layer. */
const real = sharedBefore(async (closeLater) => {
  return withData(await startTestServer(world().copy, { pages: { status: PAGE_STATUS } }, closeLater));
});

/** Starts a server with `run` as its queries and metrics. */
async function openData(run: Tables['runQuery'], options: TestServerOptions = {}) {
  const operations = dataOperations.map((operation) => {
    const stub = (source: MetricsSource, given: URLSearchParams) => run(source, operation.name, given);
    return Object.assign(stub, { ...operation }) as typeof operation;
  });
  const tables: Tables = { runQuery: run, operations };
  return withData(await openServer(world().copy, { pages: { status: PAGE_STATUS, tables }, ...options }));
}

/** Adds a function that requests a path below /data with the key. */
function withData(server: TestServer) {
  const ask = (path: string, headers: Record<string, string> = {}, init: RequestInit = {}): Promise<Response> =>
    fetch(`${server.origin}/data${path}`, { ...init, headers: { 'x-api-key': server.key, ...headers } });
  return { ...server, ask };
}

/** A JSON value of a row, for a value of Arrow. Times are in milliseconds. */
function toJson(type: string, value: unknown): unknown {
  if (value === null) return null;
  if (type === 'DATE') return new Date(Number(value)).toISOString().slice(0, 10);
  if (type.startsWith('TIMESTAMP')) return Number(value);
  if (type === 'JSON' || type.endsWith('[]')) return JSON.parse(String(value));
  return typeof value === 'bigint' ? Number(value) : value;
}

/** Checks that the Arrow form of a table has the columns and rows of its JSON form. Returns the Arrow types. */
async function expectSameRows(arrow: Response, { columns, rows }: TableResult): Promise<string[]> {
  const table = tableFromIPC(new Uint8Array(await arrow.arrayBuffer()));
  const read = table.toArray().map((row) => columns.map(({ name, type }) => toJson(type, row[name])));
  const times = columns.map(({ type }) => type.startsWith('TIMESTAMP'));
  const expected = rows.map((row) =>
    row.map((value, at) => (times[at] && value !== null ? Date.parse(`${value}`) : value)),
  );
  expect(read).toEqual(expected);
  return table.schema.fields.map(({ name, type }) => `${name} ${type}`);
}

describe('tables', () => {
  it('have the same values as JSON, Arrow and CSV', async () => {
    const { ask } = await openData(async () => TABLE);
    const json = await ask('/queries/samples');
    expect(Object.fromEntries(json.headers)).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'private, no-cache',
      vary: 'Accept, Accept-Encoding',
    });
    expect(await json.json()).toEqual(TABLE);

    const arrow = await ask('/queries/samples', { accept: 'application/vnd.apache.arrow.stream' });
    expect(arrow.headers.get('content-disposition')).toBe('attachment; filename="samples.arrows"');
    expect(await expectSameRows(arrow, TABLE)).toEqual([
      'id Utf8',
      'domain Utf8',
      'citations Int64',
      'share Float64',
      'score Float64',
      'is_own Bool',
      'day Date32<DAY>',
      'seen_at Timestamp<MICROSECOND, UTC>',
      'engines Utf8',
      'extra Utf8',
    ]);

    const csv = await (await ask('/queries/samples', { accept: 'text/csv' })).text();
    expect(csv.split('\r\n')[0]).toBe(TABLE.columns.map(({ name }) => name).join());
    expect(csv).toContain('"a ""b"",\n<script>"');
    expect(csv).toContain('"[""a"",""b""]"');
  });

  it('are not sent again until the request, the data or the day changes', async () => {
    const now = { ms: Date.UTC(2026, 10, 22, 12) };
    const clock = { ...stillClock, now: () => now.ms };
    const asked: string[] = [];
    const { ask } = await openData(
      async (_source, name, given) => {
        asked.push(`${name}?${given}`);
        return TABLE;
      },
      { clock },
    );
    const first = await ask('/queries/samples?engine=a&brand=x');
    const tag = first.headers.get('etag') ?? '';
    await first.arrayBuffer();
    const again = (path: string, headers: Record<string, string> = {}) =>
      ask(path, { 'if-none-match': tag, ...headers }).then(({ status }) => status);
    // The order of different parameters has no meaning.
    expect(await again('/queries/samples?brand=x&engine=a')).toBe(304);
    expect(await again('/queries/samples?engine=a&brand=x', { 'if-none-match': '*' })).toBe(304);
    // The result is cached for requests without a condition.
    await (await ask('/queries/samples?engine=a&brand=x')).arrayBuffer();
    expect(asked).toEqual(['samples?engine=a&brand=x']);
    expect(await again('/queries/samples?engine=b&brand=x')).toBe(200);
    expect(await again('/queries/others?engine=a&brand=x')).toBe(200);
    expect(await again('/metrics?engine=a&brand=x')).toBe(200);
    expect(await again('/queries/samples?engine=a&brand=x', { accept: 'text/csv' })).toBe(200);
    now.ms += 24 * 3_600_000;
    expect(await again('/queries/samples?engine=a&brand=x')).toBe(200);
    for (const path of ['/queries', '/metrics/model', '/explain', '/changes', '/opportunities', '/reports']) {
      const listed = await ask(path);
      expect(listed.status, path).toBe(200);
      const same = await ask(path, { 'if-none-match': listed.headers.get('etag') ?? '' });
      expect(same.status, path).toBe(304);
    }
  });

  it('are cancelled when the client leaves', async () => {
    const signals: AbortSignal[] = [];
    const { ask } = await openData(
      ({ signal }) =>
        new Promise((_, reject) => {
          if (signal !== undefined) signals.push(signal);
          signal?.addEventListener('abort', () => reject(signal.reason));
        }),
    );
    const leaving = new AbortController();
    const asked = ask('/queries/samples', {}, { signal: leaving.signal }).catch(() => null);
    await until('the computation runs', async () => signals.length === 1);
    leaving.abort();
    await asked;
    await until('the computation is aborted', async () => signals[0]?.aborted === true);
  });
});

describe('the declared queries and the measures', () => {
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
    for (const [path, message] of [
      ['/queries/brands?nothing=1', '"nothing"'],
      ['/changes?kind=alerts', 'did you mean "alert"?'],
      ['/explain', 'visibility, share_of_voice'],
      ['/metrics', 'visibility'],
      ["/metrics?metrics=visibility&engine='%3B--", 'unknown engine'],
    ] as const)
      expect(await errorOf(path), path).toEqual([400, expect.stringContaining(message)]);
    const model = (await (await ask('/metrics/model')).json()) as { measures: { name: string }[] };
    expect(model.measures.map(({ name }) => name)).toContain('visibility');
  });
});

describe('the data of the pages', () => {
  const PATHS = [
    '/queries',
    '/queries/samples',
    '/metrics',
    '/metrics/model',
    '/metrics/values',
    '/explain',
    '/changes',
    '/opportunities',
    '/reports',
  ];

  it('need a key, and are not available to pages of other sites', async () => {
    const { ask, origin } = await openData(async () => TABLE, {
      rateLimit: 1,
      corsOrigins: ['https://app.example.com'],
    });
    for (const path of PATHS) {
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
});
