import { copyFile, rename } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { SightlineError } from '../../../src/base/errors.ts';
import type { Service } from '../../../src/read/service.ts';
import { until } from '../../cli/helpers.ts';
import { temporaryFolder } from '../../support/folders.ts';
import { post } from '../mcp/support.ts';
import { stillClock } from '../served-world.ts';
import { createGate, openServer, serverBefore, type TestServer } from './support.ts';

const server = serverBefore();
const [CSV, PARQUET, ARROW] = ['text/csv', 'application/vnd.apache.parquet', 'application/vnd.apache.arrow.stream'];

const ofBrand = (path: string): string => `/brands/${server().brandId}${path}`;

function responses({ get }: TestServer, headers: Record<string, string> = {}): Promise<Response> {
  return get(ofBrand('/responses?limit=5&from=2026-01-01&to=2026-12-31'), { headers });
}

describe('a response', () => {
  it('is computed once for concurrent identical requests, and 304 without a query if the client is up to date', async () => {
    const { seen, around, shut, open, asked } = createGate();
    const own = await openServer(server().copy, { around, rateLimit: 120 });
    shut();
    const all = Array.from({ length: 50 }, () => responses(own));
    await asked(1);
    open();
    const bodies = await Promise.all(all.map(async (one) => (await one).text()));
    expect(new Set(bodies).size).toBe(1);
    await responses(own, { 'accept-encoding': 'gzip' });
    const identity = { 'accept-encoding': 'identity' };
    const tag = (await responses(own, identity)).headers.get('etag') ?? '';
    expect(tag).toMatch(/^"[0-9a-f]+-json-identity"$/);
    for (const condition of [tag, `W/${tag}`, `"other", ${tag}`, `W/"a,b",${tag} , "c"`, '*']) {
      const answer = await responses(own, { ...identity, 'if-none-match': condition });
      expect(answer.status, condition).toBe(304);
      expect(await answer.text()).toBe('');
      expect(answer.headers.get('etag')).toBe(tag);
      for (const name of ['x-data-as-of', 'x-data-coverage', 'x-ratelimit-remaining', 'cache-control', 'vary'])
        expect(answer.headers.get(name), name).not.toBeNull();
    }
    for (const condition of ['"other"', 'other', '', `"${tag}"`, tag.slice(1, -1)])
      expect((await responses(own, { ...identity, 'if-none-match': condition })).status, condition).toBe(200);
    expect((await responses(own, { 'accept-encoding': 'br', 'if-none-match': tag })).status).toBe(200);
    expect(seen.asked).toBe(1);
    const missing = ofBrand('/articles/00000000-0000-4000-8000-000000000000');
    expect((await own.get(missing, { headers: { 'if-none-match': '*' } })).status).toBe(404);
  });

  it('has a different ETag for each format and encoding, which survives a new replica with the same data', async () => {
    const copy = join(await temporaryFolder(), 'analytics.duckdb');
    await copyFile(server().copy, copy);
    const own = await openServer(copy);
    const tags = new Set<string | undefined>();
    for (const Accept of ['application/json', CSV, ARROW])
      for (const encoding of ['identity', 'gzip', 'br']) {
        const headers = { Accept, 'Accept-Encoding': encoding };
        tags.add((await own.raw(`/v1${ofBrand('/prompts')}`, headers, 'HEAD')).headers['etag']);
      }
    expect(tags.size).toBe(9);
    const before = (await own.get(ofBrand('/metrics'))).headers.get('etag') ?? '';
    const replica = await own.service.newest();
    await copyFile(copy, `${copy}.new`);
    await rename(`${copy}.new`, copy);
    expect((await own.get(ofBrand('/metrics'), { headers: { 'if-none-match': before } })).status).toBe(304);
    expect(await own.service.newest()).not.toBe(replica);
  });

  it('is compressed with the encoding that the client prefers, if that saves space', async () => {
    const fetchRaw = async (encoding: string | null, path = ofBrand('/prompts')) => {
      const accepted = encoding === null ? {} : { 'Accept-Encoding': encoding };
      const headers = { Authorization: `Bearer ${server().key}`, ...accepted };
      return new Promise<{ encoding: string | undefined; bytes: Buffer }>((resolve, reject) => {
        const sent = request(`${server().baseUrl}${path}`, { headers }, async (response) => {
          const chunks: Buffer[] = [];
          for await (const chunk of response) chunks.push(chunk as Buffer);
          const bytes = Buffer.concat(chunks);
          expect(Number(response.headers['content-length'])).toBe(bytes.length);
          resolve({ encoding: response.headers['content-encoding'], bytes });
        });
        sent.on('error', reject).end();
      });
    };
    const plain = await fetchRaw(null);
    expect(plain.encoding).toBeUndefined();
    for (const [given, used] of [
      ['br', 'br'],
      ['gzip', 'gzip'],
      ['gzip;q=1, br;q=0.5', 'gzip'],
      ['br;q=0, gzip;q=0', undefined],
      ['zstd', undefined],
      ['', undefined],
    ] as const) {
      const { encoding, bytes } = await fetchRaw(given);
      expect(encoding, given).toBe(used);
      const unpacked = used === 'br' ? brotliDecompressSync(bytes) : used === 'gzip' ? gunzipSync(bytes) : bytes;
      expect(unpacked.equals(plain.bytes), given).toBe(true);
      if (used !== undefined) expect(bytes.length).toBeLessThan(plain.bytes.length);
    }
    expect((await fetchRaw('br', '/engines')).encoding).toBeUndefined();
  });

  it('is a table in the requested format', async () => {
    const path = ofBrand('/responses?limit=7&from=2026-01-01&to=2026-12-31');
    const ask = (accept: string): Promise<Response> => server().get(path, { headers: { accept } });
    const json = (await (await ask('application/json')).json()) as { data: unknown[]; nextCursor: string };
    const csv = await ask(CSV);
    expect(csv.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(csv.headers.get('x-next-cursor')).toBe(json.nextCursor);
    expect((await csv.text()).split('\r\n')).toHaveLength(json.data.length + 2);
    for (const [accept, type] of [
      ['*/*', 'application/json'],
      ['image/png', 'application/json'],
      ['text/*', 'text/csv'],
      ['text/csv;q=0.5, application/json', 'application/json'],
      ['nonsense', 'application/json'],
    ] as const) {
      expect((await ask(accept)).headers.get('content-type'), accept).toContain(type);
    }
    const whole = await server().get(ofBrand(''), { headers: { accept: CSV } });
    expect(whole.headers.get('content-type')).toContain('application/json');
    expect(await whole.json()).toMatchObject({ id: server().brandId });
  });

  it('is computed as long as one client waits, and aborted when none is left', async () => {
    const { seen, around, shut, open, asked } = createGate();
    const own = await openServer(server().copy, { around, metricsPort: 0 });
    const waiting = async (): Promise<number> => {
      const text = await (await fetch(own.metricsUrl ?? '')).text();
      return Number(/^sightline_answers_waiting (\d+)$/m.exec(text)?.[1]);
    };
    shut();
    const leaving = new AbortController();
    // Those that wait for a compressed response are counted twice.
    const headers = { 'accept-encoding': 'identity' };
    const left = own.get('/brands', { headers, signal: leaving.signal }).catch(() => 'left');
    const stayed = own.get('/brands', { headers });
    await until('both clients wait', async () => (await waiting()) === 2);
    leaving.abort();
    expect(await left).toBe('left');
    await until('the server has noticed', async () => (await waiting()) < 2);
    expect(await waiting()).toBe(1);
    expect(seen).toEqual({ asked: 1, aborted: 0 });
    open();
    expect((await stayed).status).toBe(200);

    shut();
    const alone = new AbortController();
    const gone = own.get('/engines', { headers, signal: alone.signal }).catch(() => 'left');
    await until('the client waits', async () => (await waiting()) === 1);
    alone.abort();
    expect(await gone).toBe('left');
    await until('the computation is aborted', () => seen.aborted === 1);
    // The next request does not wait for the aborted computation.
    const next = own.get('/engines');
    await asked(3);
    open();
    expect((await next).status).toBe(200);
    expect((await own.log()).filter(({ status }) => status === 499)).toHaveLength(2);
  });

  it('is 503 when too many are computed at once, and identical requests count once', async () => {
    const { around, shut, open, asked } = createGate();
    const own = await openServer(server().copy, { around, limits: { computationsMax: 2 } });
    shut();
    const waiting = ['/brands', '/engines', '/brands', '/engines'].map((path) => own.get(path));
    await asked(2);
    const refused = await own.get('/credits');
    expect([refused.status, refused.headers.get('retry-after'), refused.headers.get('etag')]).toEqual([503, '1', null]);
    expect(await refused.json()).toMatchObject({ error: { code: 'overloaded' } });
    open();
    for (const one of waiting) expect((await one).status).toBe(200);
    expect((await own.get('/credits')).status).toBe(200);
  });

  it.each([
    [new SightlineError('query_timeout', 'the query took longer than 30 s'), 503, 'query_timeout'],
    [new SightlineError('overloaded', 'too many queries'), 503, 'overloaded'],
    [new SightlineError('warehouse_invalid', 'the file /secret/path is broken'), 500, 'internal'],
    [new TypeError('cannot read gsk_secretsecretsecret of undefined'), 500, 'internal'],
  ])('that fails with %s hides internal details', async (thrown, status, code) => {
    const around = (service: Service): Service => ({ ...service, ask: () => Promise.reject(thrown) });
    const own = await openServer(server().copy, { around });
    const answer = await own.get('/brands');
    const text = await answer.text();
    expect(answer.status).toBe(status);
    expect(JSON.parse(text)).toMatchObject({ error: { code } });
    expect(text).not.toMatch(/secret|TypeError|\bat /);
    const log = await own.log();
    const { requestId } = (JSON.parse(text) as { error: { requestId: string } }).error;
    expect(log.filter(({ id }) => id === requestId).length).toBe(code === 'internal' ? 2 : 1);
    expect(JSON.stringify(log)).not.toContain('secretsecretsecret');
  });

  it.each([
    ['/brands?colour=red', { parameter: 'colour', allowed: 'omitted, because this endpoint has no parameters' }],
    ['/brands/BRAND/alerts?limit=0', { parameter: 'limit', allowed: 'a whole number from 1 to 100' }],
    ['/brands/BRAND/alerts?gsk_abcdefgh=1', { parameter: 'gsk_…', allowed: 'one of type, limit, cursor' }],
    ['/brands/BRAND/metrics?from=2026-02-30', { parameter: 'from', allowed: 'a calendar day, YYYY-MM-DD' }],
    ['/brands/BRAND/articles/1', { parameter: 'articleId' }],
    ['/brands/1', { parameter: 'brandId' }],
    ['/brands/1/prompts', { parameter: 'brandId' }],
    ['/nothing', {}],
  ])('to %s is an error with its facts', async (path, facts) => {
    const answer = await server().get(path.replace('BRAND', server().brandId));
    const { error } = (await answer.json()) as { error: Record<string, unknown> };
    const { code, message, requestId, docUrl, ...others } = error;
    expect([message, requestId]).toEqual([expect.any(String), expect.any(String)]);
    expect(docUrl).toBe(`/v1/docs/errors#${code}`);
    expect(others).toEqual(facts);
  });
});

describe('response headers', () => {
  it('forbid guessing the media type, everywhere', async () => {
    const { copy, key } = server();
    const { origin, baseUrl, mcpUrl, metricsUrl } = await openServer(copy, { metricsPort: 0 });
    const tag = (await server().get('/brands')).headers.get('etag') ?? '';
    const read = (path: string, headers: Record<string, string> = {}) => server().get(path, { headers });
    const answers = [
      await read(ofBrand('/responses')),
      await read(ofBrand('/responses'), { accept: CSV }),
      await read(ofBrand('/responses?limit=0')),
      await read('/brands', { 'if-none-match': tag }),
      await read('/brands', { 'x-api-key': '' }),
      await read('/nothing'),
      await fetch(`${server().origin}/snapshots`, { headers: { 'x-api-key': key } }),
      await post(mcpUrl, '{'),
      await post(server().mcpUrl, '{}', { 'x-api-key': key }),
      await fetch(metricsUrl ?? ''),
    ];
    for (const path of ['/openapi.json', '/nothing']) answers.push(await fetch(`${baseUrl}${path}`));
    for (const path of ['/livez', '/readyz', '/nothing']) answers.push(await fetch(`${origin}${path}`));
    const options = answers.map(({ url, headers }) => [url, headers.get('x-content-type-options')]);
    expect(options).toEqual(answers.map(({ url }) => [url, 'nosniff']));
  });

  it.each([
    ['/prompts', CSV, 'attachment; filename="prompts.csv"'],
    ['/prompts', 'application/x-ndjson', 'attachment; filename="prompts.ndjson"'],
    ['/responses', PARQUET, 'attachment; filename="responses.parquet"'],
    ['/responses?limit=3', ARROW, 'attachment; filename="responses.arrows"'],
    ['/responses', 'application/json', null],
    ['', CSV, null],
  ])('of %j as %s have the Content-Disposition %s', async (path, accept, disposition) => {
    const { headers } = await server().get(ofBrand(path), { headers: { accept } });
    expect(headers.get('content-disposition')).toBe(disposition);
  });

  it('link to the next page of a list, with all other parameters', async () => {
    const ids: string[] = [];
    let url: string | null = `${server().baseUrl}${ofBrand('/responses?limit=7&from=2026-01-01&to=2026-12-31')}`;
    while (url !== null) {
      const response: Response = await fetch(url, { headers: { 'x-api-key': server().key } });
      const { data, nextCursor } = (await response.json()) as { data: { id: string }[]; nextCursor: string | null };
      ids.push(...data.map(({ id }) => id));
      const link = response.headers.get('link');
      expect(link === null).toBe(nextCursor === null);
      const target = /^<([^>]+)>; rel="next"$/.exec(link ?? '')?.[1];
      url = target === undefined ? null : new URL(target, url).href;
      if (url !== null) expect(new URL(url).searchParams.get('limit')).toBe('7');
    }
    expect(ids.length).toBeGreaterThan(14);
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe('the rate limit', () => {
  it('admits exactly its number of concurrent requests, and reports itself in both forms', async () => {
    // Time stands still, so that no request leaves the window while others are sent.
    const clock = { ...stillClock, monotonic: () => 0 };
    const own = await openServer(server().copy, { rateLimit: 30, clock });
    const paths = ['/brands', '/nothing', '/engines?x=1'];
    const answers = await Promise.all(
      Array.from({ length: 75 }, async (_none, index) => {
        const { status, headers, ...answer } = await own.raw(`/v1${paths[index % 3]}`);
        return { status, headers, body: answer.body };
      }),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 400, 404, 429]));
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(45);
    for (const { headers } of answers) {
      expect(headers['ratelimit-policy']).toBe('"key";q=30;w=60');
      expect(headers['ratelimit']).toBe(`"key";r=${headers['x-ratelimit-remaining']};t=60`);
    }
    for (const { headers, body } of refused) {
      expect([headers['retry-after'], headers['x-ratelimit-remaining']]).toEqual(['60', '0']);
      expect(JSON.parse(body).error.message).toBe('Too many requests. Try again in 60 seconds.');
    }
    const admitted = answers.filter(({ status }) => status !== 429);
    const remaining = admitted.map(({ headers }) => Number(headers['x-ratelimit-remaining']));
    expect(remaining.sort((a, b) => a - b)).toEqual(Array.from({ length: 30 }, (_none, index) => index));
  });

  it('counts REST and MCP together, and not requests without a key', async () => {
    const own = await openServer(server().copy, { rateLimit: 4 });
    const call = () => post(own.mcpUrl, { jsonrpc: '2.0', id: 1, method: 'tools/list' }, { 'x-api-key': own.key });
    const remainingAfter = async (path: string, method: string) =>
      (await own.get(path, { method })).headers.get('x-ratelimit-remaining');
    for (let times = 0; times < 3; times++) {
      expect((await fetch(`${own.baseUrl}/openapi.json`)).status).toBe(200);
      expect((await fetch(`${own.origin}/livez`)).status).toBe(200);
      expect((await fetch(`${own.origin}/readyz`)).status).toBe(200);
      expect((await fetch(`${own.baseUrl}/brands`)).status).toBe(401);
    }
    const first = await call();
    expect(first.status).toBe(200);
    expect(await first.text()).toContain('list_brands');
    expect(first.headers.get('x-ratelimit-remaining')).toBe('3');
    expect(await remainingAfter('/brands', 'GET')).toBe('2');
    expect(await remainingAfter('/brands', 'POST')).toBe('1');
    await call();
    expect((await call()).status).toBe(429);
    expect((await own.get('/brands')).status).toBe(429);
  });

  it('can be turned off', async () => {
    const own = await openServer(server().copy, { rateLimit: 'off' });
    const answers = await Promise.all(Array.from({ length: 150 }, () => own.get('/brands')));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    for (const name of ['x-ratelimit-limit', 'ratelimit']) expect(answers[0]?.headers.get(name)).toBeNull();
  });
});
