import { expect, test } from 'vitest';
import { createKey } from '../../../src/serve/auth/keys.ts';
import { until } from '../../cli/helpers.ts';
import { openCopy, serveWorld, sharedBefore } from '../served-world.ts';

const served = sharedBefore(async (closeLater) => {
  const { config, copy } = await openCopy('small', closeLater);
  const { text: key } = await createKey(config.folder, 'test', null, Date.now(), { scopes: ['sql'] });
  const server = await serveWorld(config, { queryTimeoutMs: 60_000 });
  closeLater(server.close);
  return { ...server, key, copy, folder: config.folder };
});

function send(path: string, init: RequestInit & { readonly json?: unknown } = {}): Promise<Response> {
  const { json, headers, ...others } = init;
  const body = json === undefined ? {} : { body: JSON.stringify(json) };
  return fetch(new URL(`/data/sql${path}`, served().baseUrl), {
    ...others,
    ...body,
    headers: { 'x-api-key': served().key, 'content-type': 'application/json', ...headers },
  });
}

const post = (json: unknown, headers: Record<string, string> = {}, signal?: AbortSignal): Promise<Response> =>
  send('', { method: 'POST', json, headers, ...(signal === undefined ? {} : { signal }) });

/** Sends a request until its status is the given one. */
const statusIs = (status: number, ask: () => Promise<Response>): Promise<void> =>
  until(`the status is ${status}`, async () => (await ask()).status === status);

test('a query returns a table with the state of the data', async () => {
  const response = await post({
    sql: "SELECT 1 AS n, '{\"a\": [1]}'::JSON AS j, DATE '2026-11-01' AS d FROM range(5)",
    rowsMax: 2,
  });
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject({
    columns: [
      { name: 'n', type: 'INTEGER' },
      { name: 'j', type: 'JSON' },
      { name: 'd', type: 'DATE' },
    ],
    rows: [
      [1, { a: [1] }, '2026-11-01'],
      [1, { a: [1] }, '2026-11-01'],
    ],
    truncated: true,
    rowsTotal: 5,
    asOf: expect.stringMatching(/Z$/),
    elapsedMs: expect.any(Number),
  });
});

test.each([
  ['text/csv', 'query.csv', 'n,t'],
  ['text/csv; dialect=excel', 'query.csv', '\ufeffn;t'],
  ['application/vnd.apache.parquet', 'query.parquet', 'PAR1'],
  ['application/vnd.apache.arrow.stream', 'query.arrows', ''],
  ['application/x-ndjson', 'query.ndjson', '{"n":0'],
  ['application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', 'query.xlsx', 'PK'],
])('a result is downloaded as %s', async (accept, file, start) => {
  const sql =
    "SELECT range AS n, TIMESTAMPTZ '2026-11-01' AS t, 'NaN'::DOUBLE AS x, 2::HUGEINT ** 100 AS h FROM range(20)";
  const response = await post({ sql, rowsMax: 1 }, { accept });
  expect(response.status).toBe(200);
  expect(response.headers.get('content-disposition')).toBe(`attachment; filename="${file}"`);
  const bytes = Buffer.from(await response.arrayBuffer());
  expect(bytes.subarray(0, Buffer.byteLength(start)).toString()).toBe(start);
  expect(bytes.length).toBeGreaterThan(200);
});

test('a download ends when its client leaves while the file is made, or when it is canceled', async () => {
  const accept = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';
  const columns = Array.from({ length: 10 }, (_, index) => `range + ${index} AS c${index}`);
  const sql = `SELECT ${columns.join()} FROM range(300000)`;
  const running = post({ sql, id: 'made' }, { accept });
  await statusIs(400, () => post({ sql: 'SELECT 1', id: 'made', rowsMax: 0 }));
  await statusIs(204, () => send('/made', { method: 'DELETE' }));
  expect(await (await running).json()).toMatchObject({ error: { code: 'query_canceled' } });
  const leaving = new AbortController();
  const left = post({ sql, id: 'left-file' }, { accept }, leaving.signal).catch(() => null);
  leaving.abort();
  await left;
  expect(await (await post({ sql: 'SELECT 1 AS n' })).json()).toMatchObject({ rows: [[1]] });
});

test('JSON that is nested very deeply is returned as text', async () => {
  const response = await post({ sql: "SELECT (repeat('[', 9000) || repeat(']', 9000))::JSON AS j, '[1]'::JSON AS k" });
  expect(response.status).toBe(200);
  const { rows } = (await response.json()) as { rows: unknown[][] };
  expect(rows).toEqual([['['.repeat(9_000) + ']'.repeat(9_000), '[1]']]);
});

test.each([
  [{}, 'sql'],
  [{ sql: 'SELECT 1', rowsMax: 0 }, 'rowsMax'],
  [{ sql: 'SELECT 1', rowsMax: 100_001 }, 'rowsMax'],
  [{ sql: 'SELECT 1', id: 'a b' }, 'id'],
  [{ sql: 'SELECT 1', brands: null }, 'brands'],
  [[], 'body'],
])('the body %j is rejected', async (json, name) => {
  const response = await post(json);
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({
    error: { code: 'invalid_parameter', message: expect.stringContaining(name) },
  });
});

test('a running query is canceled by DELETE, and by a client that leaves', async () => {
  const sql = 'SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b';
  const running = post({ sql, id: 'slow' });
  await statusIs(204, () => send('/slow', { method: 'DELETE' }));
  expect(await (await running).json()).toMatchObject({ error: { code: 'query_canceled' } });
  expect((await send('/slow', { method: 'DELETE' })).status).toBe(404);
  const leaving = new AbortController();
  const left = post({ sql, id: 'left' }, {}, leaving.signal).catch(() => null);
  // The id is taken as long as the query runs.
  await statusIs(400, () => post({ sql: 'SELECT 1', id: 'left', rowsMax: 0 }));
  leaving.abort();
  await left;
  await statusIs(200, () => post({ sql: 'SELECT 1', id: 'left' }));
});

test('the schema has comments and an ETag, and the gallery has 25 questions', async () => {
  const schema = await send('/schema');
  const { tables } = (await schema.json()) as {
    tables: { name: string; about: string; columns: { about: string }[] }[];
  };
  const mart = tables.find(({ name }) => name === 'fct_response');
  expect(mart).toMatchObject({ schema: 'mart', kind: 'view', about: expect.stringContaining('Responses') });
  expect(mart?.columns[0]).toEqual({ name: 'response_id', type: 'UUID', about: 'The response.' });
  const again = await send('/schema', { headers: { 'if-none-match': schema.headers.get('etag') ?? '' } });
  expect(again.status).toBe(304);
  expect(((await (await send('/gallery')).json()) as { queries: unknown[] }).queries).toHaveLength(25);
});

test('a saved query is created, changed with its ETag, renamed and deleted', async () => {
  const created = await send('/saved/weekly', {
    method: 'PUT',
    json: { sql: '-- Weekly\nSELECT 1' },
    headers: { 'if-none-match': '*' },
  });
  expect(created.status).toBe(200);
  const etag = created.headers.get('etag') ?? '';
  const change = (headers: Record<string, string>): Promise<Response> =>
    send('/saved/weekly', { method: 'PUT', json: { sql: 'SELECT 2' }, headers });
  expect((await change({})).status).toBe(400);
  expect((await change({ 'if-none-match': '*' })).status).toBe(412);
  expect((await change({ 'if-match': '"other"' })).status).toBe(412);
  const changed = await change({ 'if-match': etag });
  expect(await changed.json()).toMatchObject({ name: 'weekly', title: null });
  const current = { 'if-match': changed.headers.get('etag') ?? '' };
  expect((await send('/saved/weekly', { method: 'PATCH', json: { name: 'daily' }, headers: current })).status).toBe(
    200,
  );
  expect(await (await send('/saved')).json()).toMatchObject({ queries: [{ name: 'daily' }] });
  expect(await (await send('/saved/daily')).json()).toMatchObject({ sql: 'SELECT 2' });
  expect((await send('/saved/daily', { method: 'DELETE', headers: current })).status).toBe(204);
  expect((await send('/saved/daily')).status).toBe(404);
});

test('a key for one brand sees no other in SQL and no saved queries, and a key without the scope sql is rejected', async () => {
  const count = 'SELECT count(*), any_value(CAST(id AS VARCHAR)) FROM brands';
  const all = (await (await post({ sql: count })).json()) as { rows: [number, string][] };
  const [total, id] = all.rows[0] ?? [0, ''];
  expect(total).toBe(2);
  const { folder } = served();
  const limited = await createKey(folder, 'one brand', null, Date.now(), { scopes: ['sql'], brands: [id] });
  const one = { 'x-api-key': limited.text };
  expect(await (await post({ sql: count }, one)).json()).toMatchObject({ rows: [[1, id]] });
  expect((await send('/saved', { headers: one })).status).toBe(403);
  const reader = await createKey(folder, 'reader', null, Date.now(), { scopes: ['read', 'metrics'] });
  expect((await post({ sql: count }, { 'x-api-key': reader.text })).status).toBe(403);
});

test('a request without a key is rejected', async () => {
  expect((await post({ sql: 'SELECT 1' }, { 'x-api-key': '' })).status).toBe(401);
});
