import { setTimeout as delay } from 'node:timers/promises';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { tableFromIPC } from 'apache-arrow';
import { parquetReadObjects } from 'hyparquet';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { SightlineError } from '../../../src/base/errors.ts';
import type { Question, Service } from '../../../src/query/service.ts';
import { openServer, publishBefore, readRaw, requestText, sendRaw, type TestServer } from './support.ts';

const published = publishBefore();

/** Counts computations and lets the test delay them; responses come from the real query layer. */
function watched() {
  const seen = { asked: 0, aborted: 0 };
  let gate: Promise<void> = Promise.resolve();
  let open = (): void => undefined;
  const hold = (): void => {
    gate = new Promise((resolve) => {
      open = resolve;
    });
  };
  const around = (service: Service): Service => ({
    ...service,
    ask: async (...given): Promise<Question> => {
      const question = await service.ask(...given);
      const answer: Question['answer'] = async (signal) => {
        seen.asked += 1;
        signal?.addEventListener('abort', () => {
          seen.aborted += 1;
        });
        await gate;
        return question.answer(signal);
      };
      return { ...question, answer };
    },
  });
  return { seen, around, hold, open: () => open() };
}

async function until(holds: () => boolean): Promise<void> {
  for (let polls = 0; polls < 1_000 && !holds(); polls++) await delay(5);
  expect(holds()).toBe(true);
}

function responses(server: TestServer, headers: Record<string, string> = {}): Promise<Response> {
  return server.get(`/brands/${published().brandId}/responses?limit=5&from=2026-01-01&to=2026-12-31`, { headers });
}

describe('a response', () => {
  it("equals upstream's byte for byte except for the cursor, and reports its freshness", async () => {
    const { copy, sandbox, brandId } = published();
    const server = await openServer(copy, { rateLimit: 120 });
    for (const path of ['/brands', `/brands/${brandId}`, `/brands/${brandId}/prompts`]) {
      const ours = await server.get(path);
      const theirs = await fetch(`${sandbox.baseUrl}${path}`, { headers: { 'x-api-key': sandbox.key } });
      expect(await ours.json()).toEqual(await theirs.json());
      expect(ours.headers.get('content-type')).toBe('application/json; charset=utf-8');
      expect(ours.headers.get('x-data-as-of')).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      expect(ours.headers.get('x-data-coverage')).toBe('complete');
      expect(ours.headers.get('cache-control')).toBe('private, no-cache');
      expect(ours.headers.get('vary')).toBe('Accept, Accept-Encoding');
      expect(ours.headers.get('x-ratelimit-limit')).toBe('120');
      expect(ours.headers.get('access-control-allow-origin')).toBeNull();
    }
  });

  it('is computed once for concurrent identical requests', async () => {
    const { seen, around, hold, open } = watched();
    const server = await openServer(published().copy, { around });
    hold();
    const all = Array.from({ length: 50 }, () => responses(server));
    await until(() => seen.asked === 1);
    open();
    const bodies = await Promise.all(all.map(async (one) => (await one).text()));
    expect(new Set(bodies).size).toBe(1);
    await responses(server);
    await responses(server, { 'accept-encoding': 'gzip' });
    await responses(server, { 'accept-encoding': 'identity' });
    expect(seen.asked).toBe(1);
  });

  it('is 304 without a query if the client is up to date', async () => {
    const { seen, around } = watched();
    const server = await openServer(published().copy, { around, rateLimit: 120 });
    const first = await responses(server, { 'accept-encoding': 'identity' });
    const tag = first.headers.get('etag') ?? '';
    expect(tag).toMatch(/^"[0-9a-f]+-json-identity"$/);
    const asked = seen.asked;
    for (const condition of [tag, `W/${tag}`, `"other", ${tag}`, `W/"a,b",${tag} , "c"`, '*']) {
      const answer = await responses(server, { 'accept-encoding': 'identity', 'if-none-match': condition });
      expect(answer.status, condition).toBe(304);
      expect(await answer.text()).toBe('');
      expect(answer.headers.get('etag')).toBe(tag);
      for (const name of ['x-data-as-of', 'x-data-coverage', 'x-ratelimit-remaining', 'cache-control', 'vary']) {
        expect(answer.headers.get(name), name).not.toBeNull();
      }
    }
    for (const condition of ['"other"', 'other', '', `"${tag}"`, tag.slice(1, -1)]) {
      const answer = await responses(server, { 'accept-encoding': 'identity', 'if-none-match': condition });
      expect(answer.status, condition).toBe(200);
    }
    expect((await responses(server, { 'accept-encoding': 'br', 'if-none-match': tag })).status).toBe(200);
    expect(seen.asked).toBe(asked);
    const missing = `/brands/${published().brandId}/articles/00000000-0000-4000-8000-000000000000`;
    expect((await server.get(missing, { headers: { 'if-none-match': '*' } })).status).toBe(404);
  });

  it('has a different ETag for each format and encoding', async () => {
    const server = await openServer(published().copy);
    const tags = new Map<string, Buffer>();
    for (const accept of ['application/json', 'text/csv', 'application/vnd.apache.arrow.stream']) {
      for (const encoding of ['identity', 'gzip', 'br']) {
        const headers = { Authorization: `Bearer ${server.key}`, Accept: accept, 'Accept-Encoding': encoding };
        const path = `/v1/brands/${published().brandId}/prompts`;
        const text = await sendRaw(server.port, requestText('HEAD', path, headers));
        tags.set(readRaw(text).headers['etag'] ?? '', Buffer.from(text));
      }
    }
    expect(tags.size).toBe(9);
  });

  it('is compressed with the encoding that the client prefers, if that saves space', async () => {
    const server = await openServer(published().copy);
    const fetchRaw = async (encoding: string | null, path = `/brands/${published().brandId}/prompts`) => {
      const headers = {
        Authorization: `Bearer ${server.key}`,
        ...(encoding === null ? {} : { 'Accept-Encoding': encoding }),
      };
      const { request } = await import('node:http');
      return new Promise<{ encoding: string | undefined; bytes: Buffer }>((resolve, reject) => {
        request(`${server.baseUrl}${path}`, { headers }, (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('end', () => {
            const bytes = Buffer.concat(chunks);
            expect(Number(response.headers['content-length'])).toBe(bytes.length);
            resolve({ encoding: response.headers['content-encoding'], bytes });
          });
        })
          .on('error', reject)
          .end();
      });
    };
    const plain = await fetchRaw(null);
    expect(plain.encoding).toBeUndefined();
    for (const [given, used] of [
      ['br', 'br'],
      ['gzip', 'gzip'],
      ['gzip, deflate, br', 'br'],
      ['gzip;q=1, br;q=0.5', 'gzip'],
      ['*', 'br'],
      ['identity', undefined],
      ['br;q=0, gzip;q=0', undefined],
      ['zstd', undefined],
      ['', undefined],
      [';;;,,=', undefined],
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
    const { copy, brandId } = published();
    const server = await openServer(copy);
    const path = `/brands/${brandId}/responses?limit=7&from=2026-01-01&to=2026-12-31`;
    const ask = (accept: string): Promise<Response> => server.get(path, { headers: { accept } });
    const json = (await (await ask('application/json')).json()) as { data: { id: string }[]; nextCursor: string };
    const ids = json.data.map(({ id }) => id);
    const csv = await ask('text/csv');
    expect(csv.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(csv.headers.get('x-next-cursor')).toBe(json.nextCursor);
    expect((await csv.text()).split('\r\n')).toHaveLength(ids.length + 2);
    const parquet = await (await ask('application/vnd.apache.parquet')).arrayBuffer();
    expect((await parquetReadObjects({ file: parquet })).map(({ id }) => id)).toEqual(ids);
    const arrow = tableFromIPC(new Uint8Array(await (await ask('application/vnd.apache.arrow.stream')).arrayBuffer()));
    expect(arrow.toArray().map((row: { id: string }) => row.id)).toEqual(ids);
    for (const [accept, type] of [
      ['*/*', 'application/json'],
      ['text/html, */*;q=0.8', 'application/json'],
      ['image/png', 'application/json'],
      ['text/*', 'text/csv'],
      ['text/csv;q=0.5, application/json', 'application/json'],
      ['TEXT/CSV', 'text/csv'],
      ['nonsense', 'application/json'],
    ] as const) {
      expect((await ask(accept)).headers.get('content-type'), accept).toContain(type);
    }
    const whole = await server.get(`/brands/${brandId}`, { headers: { accept: 'text/csv' } });
    expect(whole.headers.get('content-type')).toContain('application/json');
    expect(await whole.json()).toMatchObject({ id: brandId });
  });

  it('is computed as long as one client waits, and aborted when none is left', async () => {
    const { seen, around, hold, open } = watched();
    const server = await openServer(published().copy, { around });
    hold();
    const leaving = new AbortController();
    const left = server.get('/brands', { signal: leaving.signal }).catch(() => 'left');
    await until(() => seen.asked === 1);
    const stayed = server.get('/brands');
    await delay(30);
    leaving.abort();
    expect(await left).toBe('left');
    // The server has noticed when it logs the request.
    while ((await server.log()).length === 0) await delay(5);
    expect(seen.aborted).toBe(0);
    open();
    expect((await stayed).status).toBe(200);

    hold();
    const alone = new AbortController();
    const gone = server.get('/engines', { signal: alone.signal }).catch(() => 'left');
    await until(() => seen.asked === 2);
    alone.abort();
    expect(await gone).toBe('left');
    await until(() => seen.aborted === 1);
    // The next request does not wait for the aborted computation.
    const next = server.get('/engines');
    await until(() => seen.asked === 3);
    open();
    expect((await next).status).toBe(200);
    const statuses = (await server.log()).map(({ status }) => status);
    expect(statuses.filter((status) => status === 499)).toHaveLength(2);
  });

  it('is 503 when too many are computed at once, and identical requests count once', async () => {
    const { seen, around, hold, open } = watched();
    const server = await openServer(published().copy, { around, limits: { computationsMax: 2 } });
    hold();
    const paths = ['/brands', '/engines', '/brands', '/engines'];
    const waiting = paths.map((path) => server.get(path));
    await until(() => seen.asked === 2);
    const refused = await server.get('/credits');
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(await refused.json()).toMatchObject({ error: { code: 'overloaded' } });
    expect(refused.headers.get('etag')).toBeNull();
    open();
    for (const one of waiting) expect((await one).status).toBe(200);
    expect((await server.get('/credits')).status).toBe(200);
  });

  it.each([
    [new SightlineError('query_timeout', 'the query took longer than 30 s'), 503, 'query_timeout'],
    [new SightlineError('overloaded', 'too many queries'), 503, 'overloaded'],
    [new SightlineError('warehouse_invalid', 'the file /secret/path is broken'), 500, 'internal'],
    [new TypeError('cannot read gsk_secretsecretsecret of undefined'), 500, 'internal'],
  ])('that fails with %s hides internal details', async (thrown, status, code) => {
    const around = (service: Service): Service => ({ ...service, ask: () => Promise.reject(thrown) });
    const server = await openServer(published().copy, { around });
    const answer = await server.get('/brands');
    const text = await answer.text();
    expect(answer.status).toBe(status);
    expect(JSON.parse(text)).toMatchObject({ error: { code } });
    expect(text).not.toMatch(/secret|TypeError|\bat /);
    const log = await server.log();
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
    const { copy, brandId } = published();
    const answer = await (await openServer(copy)).get(path.replace('BRAND', brandId));
    const { error } = (await answer.json()) as { error: Record<string, unknown> };
    const { code, message, requestId, docUrl, ...others } = error;
    expect([message, requestId]).toEqual([expect.any(String), expect.any(String)]);
    expect(docUrl).toBe(`/v1/docs/errors#${code}`);
    expect(others).toEqual(facts);
  });

  it('to another method is an error with the allowed ones', async () => {
    const server = await openServer(published().copy);
    const answer = await server.get('/brands', { method: 'POST' });
    expect(await answer.json()).toMatchObject({ error: { code: 'method_not_allowed', allowed: 'GET, HEAD' } });
  });
});

describe('the rate limit', () => {
  it('admits exactly its number of 1,000 concurrent requests', async () => {
    // Time stands still, so that no request leaves the window while others are sent.
    const clock = { ...systemClock, monotonic: () => 0 };
    const server = await openServer(published().copy, { rateLimit: 120, clock });
    const answers = await Promise.all(
      Array.from({ length: 1_000 }, async (_none, index) => {
        const answer = await server.get(index % 3 === 0 ? '/brands' : index % 3 === 1 ? '/nothing' : '/engines?x=1');
        return { status: answer.status, headers: answer.headers, body: await answer.text() };
      }),
    );
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(880);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 400, 404, 429]));
    for (const { headers, body } of refused) {
      const wait = Number(headers.get('retry-after'));
      expect(wait).toBeGreaterThan(0);
      expect(wait).toBeLessThanOrEqual(60);
      expect(JSON.parse(body).error.message).toBe(`Too many requests. Try again in ${wait} seconds.`);
      expect(headers.get('x-ratelimit-remaining')).toBe('0');
    }
    const remaining = answers
      .filter(({ status }) => status !== 429)
      .map(({ headers }) => headers.get('x-ratelimit-remaining'));
    expect(remaining.map(Number).sort((a, b) => a - b)).toEqual(Array.from({ length: 120 }, (_none, index) => index));
  });

  it('counts REST and MCP together, and not requests without a key', async () => {
    const server = await openServer(published().copy, { rateLimit: 4 });
    const call = () =>
      fetch(server.mcpUrl, {
        method: 'POST',
        headers: {
          'x-api-key': server.key,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
        },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'initialize',
          params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
        }),
      });
    const open = `${new URL(server.baseUrl).origin}`;
    for (let times = 0; times < 9; times++) {
      expect((await fetch(`${server.baseUrl}/openapi.json`)).status).toBe(200);
      expect((await fetch(`${open}/livez`)).status).toBe(200);
      expect((await fetch(`${open}/readyz`)).status).toBe(200);
      expect((await fetch(`${server.baseUrl}/brands`)).status).toBe(401);
    }
    const first = await call();
    expect(first.status).toBe(200);
    expect(await first.text()).toContain('serverInfo');
    expect(first.headers.get('x-ratelimit-remaining')).toBe('3');
    expect((await server.get('/brands')).headers.get('x-ratelimit-remaining')).toBe('2');
    expect((await server.get('/brands', { method: 'POST' })).headers.get('x-ratelimit-remaining')).toBe('1');
    await call();
    expect((await call()).status).toBe(429);
    expect((await server.get('/brands')).status).toBe(429);
  });

  it('can be turned off', async () => {
    const server = await openServer(published().copy, { rateLimit: 'off' });
    const answers = await Promise.all(Array.from({ length: 300 }, () => server.get('/brands')));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(answers[0]?.headers.get('x-ratelimit-limit')).toBeNull();
  });
});
