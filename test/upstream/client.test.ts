import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Clock } from '../../src/base/clock.ts';
import { createBudget } from '../../src/budget/budget.ts';
import { BodyError } from '../../src/contract/body.ts';
import type { Attempt } from '../../src/contract/request.ts';
import { CLIENT_LIMITS, type ClientLimits, type ClientOptions, createClient } from '../../src/upstream/client.ts';
import { toWorkspaceError, UpstreamError } from '../../src/upstream/errors.ts';
import { PAGES_MAX, walkPages } from '../../src/upstream/page-chain.ts';
import { leapingClock, virtualClock } from '../support/clocks.ts';

const KEY = 'gsk_secret_0123456789abcdef';

/** Time that a request takes, by the clock of the client. */
const REQUEST_MS = 100;

type Handler = (request: IncomingMessage, response: ServerResponse, count: number) => void;

interface Setup {
  readonly limits?: Partial<ClientLimits>;
  readonly options?: Partial<ClientOptions>;
  readonly base?: string;
}

// Starts a server with the test's handler and a client, and records requests and attempts.
async function open(handler: Handler, { limits = {}, options = {}, base = '/v1' }: Setup = {}) {
  const requests: IncomingMessage[] = [];
  const leaping = leapingClock(Date.parse('2026-03-15T12:00:00Z'));
  const server = createServer((request, response) => {
    requests.push(request);
    leaping.advance(REQUEST_MS);
    handler(request, response, requests.length);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const slept: number[] = [];
  const clock: Clock = {
    ...leaping,
    random: () => 0.999,
    sleep: (ms, signal) => {
      slept.push(ms);
      return leaping.sleep(ms, signal);
    },
  };
  const client = createClient({
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}${base}`,
    key: KEY,
    keyHeader: 'authorization',
    budget: createBudget({ clock }),
    clock,
    connections: 4,
    limits: { ...CLIENT_LIMITS, ...limits },
    ...options,
  });
  onTestFinished(() => client.close());
  const attempts: Attempt[] = [];
  const { signal } = new AbortController();
  const get = (query: Record<string, string> = {}, read: (body: unknown) => unknown = (body) => body) =>
    client.get({ path: '/things', query }, read, { signal, onAttempt: (attempt) => attempts.push(attempt) });
  const failure = async (): Promise<UpstreamError> => {
    const thrown = await get().then(
      () => null,
      (reason: unknown) => reason,
    );
    expect(thrown).toBeInstanceOf(UpstreamError);
    return thrown as UpstreamError;
  };
  return { client, get, failure, requests, attempts, slept, server, clock };
}

function json(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

const refusal = (message: string) => ({ error: { code: 'x', message, requestId: '1' } });

describe('an error status', () => {
  test.for([
    { status: 400, code: 'refused', retried: false, about: 'rejected /things (400): told so' },
    { status: 401, code: 'unauthorized', retried: false, about: 'rejected the key (401): told so' },
    { status: 403, code: 'refused', retried: false, about: 'rejected /things (403): told so' },
    { status: 404, code: 'not_found', retried: false, about: 'no /things (404): told so' },
    { status: 405, code: 'refused', retried: false, about: '(405)' },
    { status: 410, code: 'refused', retried: false, about: '(410)' },
    { status: 204, code: 'refused', retried: false, about: '(204)' },
    { status: 408, code: 'upstream_failed', retried: true, about: '(408)' },
    { status: 425, code: 'upstream_failed', retried: true, about: '(425)' },
    { status: 500, code: 'upstream_failed', retried: true, about: 'failed on /things (500): told so' },
    { status: 503, code: 'upstream_failed', retried: true, about: '(503)' },
    { status: 599, code: 'upstream_failed', retried: true, about: '(599)' },
  ] as const)('$status gives $code, retried: $retried', async ({ status, code, retried, about }) => {
    const { failure, requests, attempts } = await open((_request, response) =>
      json(response, status, refusal('told so')),
    );
    const error = await failure();
    expect(error).toMatchObject({ code, status, retryable: retried });
    expect(error.message).toContain(about);
    expect(requests.length).toBe(retried ? 5 : 1);
    expect(attempts.map(({ attempt }) => attempt)).toEqual(requests.map((_request, index) => index + 1));
    for (const attempt of attempts) expect(attempt).toMatchObject({ status, error: error.message });
  });

  test('403 concerns the workspace only if its code is plan_required', async () => {
    const { failure } = await open((_request, response) =>
      json(response, 403, { error: { code: 'plan_required', message: 'no plan' } }),
    );
    expect(await failure()).toMatchObject({ code: 'plan_required', status: 403, retryable: false });
  });

  test('toWorkspaceError converts a 403 of the list of brands to plan_required', () => {
    const refused = new UpstreamError('refused', 'refused /brands (403)', { status: 403 });
    expect(toWorkspaceError(refused)).toMatchObject({ code: 'plan_required', message: 'refused /brands (403)' });
    const missing = new UpstreamError('not_found', 'no /brands', { status: 404 });
    expect(toWorkspaceError(missing)).toBe(missing);
  });

  test.for([301, 302, 303, 307, 308])('%i is a redirect and is not followed', async (status) => {
    const { failure, requests } = await open((_request, response) => {
      response.writeHead(status, { location: `/elsewhere?key=${KEY}` });
      response.end();
    });
    expect(await failure()).toMatchObject({ code: 'refused', status });
    expect(requests.length).toBe(1);
  });

  test('that is transient is hidden by a retry', async () => {
    const { get, requests } = await open((_request, response, count) =>
      json(response, count < 5 ? 502 : 200, { count }),
    );
    expect((await get()).value).toEqual({ count: 5 });
    expect(requests.length).toBe(5);
  });
});

describe('waiting between attempts', () => {
  test('is random below a bound that doubles up to a maximum', async () => {
    const { failure, slept } = await open((_request, response) => json(response, 500, {}));
    await failure();
    const waits = slept.filter((ms) => ms > 100);
    expect(waits.map(Math.round)).toEqual([500, 999, 1998, 3996]);
  });

  test('is at least Retry-After, in seconds or as a date', async () => {
    const { get, slept } = await open((_request, response, count) => {
      if (count === 1) json(response, 503, {}, { 'retry-after': '7' });
      else if (count === 2) {
        const headers = { date: 'Sun, 15 Mar 2026 12:00:00 GMT', 'retry-after': 'Sun, 15 Mar 2026 12:00:09 GMT' };
        json(response, 503, {}, headers);
      } else json(response, 200, {});
    });
    await get();
    expect(slept.filter((ms) => ms > 100)).toEqual([7_000, 9_000]);
  });

  test('after a 429 closes the gate for all requests, and 429s have their own attempt limit', async () => {
    const { get, slept, requests, attempts } = await open((_request, response, count) =>
      json(response, count <= 8 ? 429 : 200, refusal('wait'), count <= 8 ? { 'retry-after': '3' } : {}),
    );
    await get();
    expect(requests.length).toBe(9);
    expect(slept.filter((ms) => ms > 2_500).length).toBeGreaterThanOrEqual(8);
    expect(attempts.at(-1)).toMatchObject({ status: 200, error: null, attempt: 9 });
  });

  test('after repeated 429s with a short Retry-After grows to the length of a window that others filled', async () => {
    const setup = await open((_request, response) => {
      const isFull = setup.clock.monotonic() < 90_000;
      json(response, isFull ? 429 : 200, refusal('wait'), isFull ? { 'retry-after': '0' } : {});
    });
    await setup.get();
    expect(setup.requests.length).toBeGreaterThan(3);
  });

  test('ends after 12 responses of 429', async () => {
    const { failure, requests } = await open((_request, response) =>
      json(response, 429, refusal('wait'), { 'retry-after': '1' }),
    );
    expect(await failure()).toMatchObject({ code: 'upstream_failed', status: 429 });
    expect(requests.length).toBe(12);
  });

  test('of an hour fails at once instead of waiting', async () => {
    const { failure, requests } = await open((_request, response) =>
      json(response, 429, refusal('come back later'), { 'retry-after': '3600' }),
    );
    expect((await failure()).message).toContain('come back later');
    expect(requests.length).toBe(1);
  });

  test('ends at once when the signal is aborted', async () => {
    const stop = new AbortController();
    const still = virtualClock();
    const clock: Clock = {
      ...still,
      sleep: (ms, signal) => {
        queueMicrotask(() => stop.abort(new Error('stopped')));
        return still.sleep(ms, signal);
      },
    };
    const { client } = await open((_request, response) => json(response, 503, {}, { 'retry-after': '800' }), {
      options: { clock },
    });
    const asked = client.get({ path: '/', query: {} }, (body) => body, {
      signal: stop.signal,
      onAttempt: () => undefined,
    });
    await expect(asked).rejects.toThrow('stopped');
  });
});

describe('a failed exchange', () => {
  const limits = { headersMs: 40, bodyMs: 40, connectMs: 200 };

  test.for<[string, Handler, RegExp]>([
    ['a reset', (request) => request.socket.resetAndDestroy(), /connection (reset|closed)/],
    ['silence', () => undefined, /timeout while waiting for the response/],
    [
      'a body that stops',
      (_request, response) => {
        response.writeHead(200, { 'content-length': '100' });
        response.write('{"data"');
      },
      /stopped before its end/,
    ],
    [
      'a body that is cut off',
      (_request, response) => {
        response.writeHead(200, { 'content-length': '100' });
        response.write('{"data"', () => response.socket?.destroy());
      },
      /connection (reset|closed)/,
    ],
  ])('because of %s is retried', async ([, handler, about]) => {
    const once: Handler = (request, response, count) =>
      count === 1 ? handler(request, response, count) : json(response, 200, { count });
    const { get, attempts, server } = await open(once, { limits });
    expect((await get()).value).toEqual({ count: 2 });
    expect(attempts[0]).toMatchObject({ error: expect.stringMatching(about) });
    expect(attempts[0]?.error).toContain(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  });

  test('is not retried after five attempts', async () => {
    const { failure, requests } = await open((request) => request.socket.resetAndDestroy(), { limits });
    expect(await failure()).toMatchObject({ code: 'unreachable', status: null, retryable: true });
    expect(requests.length).toBe(5);
  });

  test('because of a body slower than the total time limit is aborted', async () => {
    const { failure } = await open(
      (_request, response) => {
        response.writeHead(200);
        const timer = setInterval(() => response.write(' '), 5);
        response.on('close', () => clearInterval(timer));
      },
      { limits: { ...limits, totalMs: 60 } },
    );
    expect((await failure()).message).toMatch(/timeout before the response was complete/);
  });

  test('because of a closed port is reported as connection refused', async () => {
    const { failure, server } = await open(() => undefined);
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    expect((await failure()).message).toMatch(/connection refused/);
  });

  test('because of a body beyond the size limit is aborted and not retried', async () => {
    const { failure, requests } = await open((_request, response) => json(response, 200, 'x'.repeat(50_000)), {
      limits: { bodyBytesMax: 10_000 },
    });
    const error = await failure();
    expect(error).toMatchObject({ code: 'bad_answer', retryable: false });
    expect(error.message).toContain('size limit');
    expect(requests.length).toBe(1);
  });
});

describe('a response', () => {
  test('that is not JSON is retried and then reported as bad_answer', async () => {
    const { failure, requests } = await open((_request, response) => response.end('<html>'));
    expect(await failure()).toMatchObject({ code: 'bad_answer', status: 200 });
    expect(requests.length).toBe(5);
  });

  test('that the reader rejects is retried', async () => {
    const { get, attempts } = await open((_request, response, count) => json(response, 200, { count }));
    const { value } = await get({}, (body) => {
      if ((body as { count: number }).count < 3) throw new BodyError('the body has no list data');
      return body;
    });
    expect(value).toEqual({ count: 3 });
    expect(attempts[0]?.error).toContain('the body has no list data');
  });

  test('has the date of a well-formed Date header, and a malformed one is reported', async () => {
    const { get, attempts } = await open((_request, response, count) => {
      if (count === 1) json(response, 200, {}, { date: 'Mon, 01 Jan 2024 00:00:00 GMT' });
      else {
        response.sendDate = false;
        json(response, 200, {}, count === 2 ? {} : { date: 'yesterday' });
      }
    });
    expect((await get()).date).toBe(Date.parse('2024-01-01T00:00:00Z'));
    expect((await get()).date).toBeNull();
    expect(attempts.at(-1)?.implausible).toBeUndefined();
    expect((await get()).date).toBeNull();
    expect(attempts.at(-1)?.implausible).toEqual([
      { path: 'header date', allowed: expect.any(String), value: 'yesterday' },
    ]);
  });

  test.for(['/v1', '/v1/', '', '/a/b/v1//'])(
    'is asked for below the base path %j, parameters encoded',
    async (base) => {
      const { get, requests } = await open((_request, response) => json(response, 200, {}), { base });
      await get({ cursor: 'a+b/c=&d é', limit: '1' });
      const url = new URL(requests[0]?.url ?? '', 'http://x');
      expect(url.pathname).toBe(`${base.replace(/\/+$/, '')}/things`);
      expect(Object.fromEntries(url.searchParams)).toEqual({ cursor: 'a+b/c=&d é', limit: '1' });
    },
  );
});

describe('the key', () => {
  test('is sent only in the configured header', async () => {
    const bearer = await open((_request, response) => json(response, 200, {}));
    await bearer.get();
    expect(bearer.requests[0]?.headers).toMatchObject({ authorization: `Bearer ${KEY}` });
    expect(bearer.requests[0]?.headers['x-api-key']).toBeUndefined();
    const alone = await open((_request, response) => json(response, 200, {}), { options: { keyHeader: 'x-api-key' } });
    await alone.get();
    expect(alone.requests[0]?.headers).toMatchObject({ 'x-api-key': KEY });
    expect(alone.requests[0]?.headers.authorization).toBeUndefined();
  });

  test.for<[string, string]>([
    ['in a message', `the key ${KEY} is not good`],
    ['at the start of a message', KEY],
    ['across the end of the quoted part of a message', `${'x'.repeat(190)}${KEY}`],
    ['twice, with control characters', `\u0007${KEY}\n\n${KEY}`],
  ])('is not shown if upstream repeats it %s', async ([, message]) => {
    for (const status of [401, 400, 500]) {
      const { failure, attempts } = await open((_request, response) => json(response, status, refusal(message)));
      const error = await failure();
      for (const text of [error.message, String(error), ...attempts.map((attempt) => String(attempt.error))]) {
        expect(text).not.toContain('gsk_s');
      }
    }
  });
});

describe('an encoded body', () => {
  const body = Buffer.from(JSON.stringify({ text: 'é'.repeat(500) }));

  test.for<[string, string, Buffer]>([
    ['gzip', 'gzip', gzipSync(body)],
    ['gzip under its old name', 'X-GZIP', gzipSync(body)],
    ['Brotli', 'br', brotliCompressSync(body)],
    ['deflate', 'deflate', deflateSync(body)],
    ['deflate without a header', 'deflate', deflateRawSync(body)],
    ['one coding after the other', 'br, gzip', gzipSync(brotliCompressSync(body))],
    ['nothing, and it says so', 'identity', body],
  ])('with %s is decoded before it is passed to the reader', async ([, coding, encoded]) => {
    const { client } = await open((_request, response) => {
      response.setHeader('content-encoding', coding);
      response.end(encoded);
    });
    const { signal } = new AbortController();
    const { value } = await client.get({ path: '/', query: {} }, (_value, { bytes }) => Buffer.from(bytes), { signal });
    expect(value.equals(body)).toBe(true);
  });

  test.for<[string, string, Buffer, RegExp, number]>([
    ['that does not match its header', 'gzip', body, /Content-Encoding is gzip, but the body cannot be decoded/, 5],
    ['that is truncated', 'gzip', gzipSync(body).subarray(0, 20), /Content-Encoding is gzip, but .*unexpected end/, 5],
    ['with an unknown coding', 'zstd', body, /Content-Encoding is "zstd"; allowed: gzip, x-gzip, br, deflate/, 5],
    ['that is encoded three times', 'gzip, gzip, gzip', body, /allowed: .*at most 2/, 5],
    [
      'that decodes to a far longer one',
      'gzip',
      gzipSync(Buffer.alloc(4_000_000, ' ')),
      /is too long when decoded; allowed: up to \d+ bytes/,
      1,
    ],
  ])('%s gives bad_answer', async ([, coding, encoded, about, attempts]) => {
    const { failure, requests } = await open((_request, response) => {
      response.setHeader('content-encoding', coding);
      response.end(encoded);
    });
    const error = await failure();
    expect(error.code).toBe('bad_answer');
    expect(error.message).toMatch(about);
    expect(requests).toHaveLength(attempts);
  });
});

describe('rate headers outside their bounds', () => {
  test.for<[string, Record<string, string | string[]>, number]>([
    ['a limit of 0', { 'x-ratelimit-limit': '0' }, 120],
    ['a negative limit', { 'x-ratelimit-limit': '-5' }, 120],
    ['a limit of 999999999', { 'x-ratelimit-limit': '999999999', 'x-ratelimit-remaining': '0' }, 120],
    ['a limit with 300 digits', { 'x-ratelimit-limit': '9'.repeat(300) }, 120],
    ['a limit with a fraction', { 'x-ratelimit-limit': '119.5' }, 120],
    ['a limit that is a word', { 'x-ratelimit-limit': 'unlimited' }, 120],
    ['an empty limit', { 'x-ratelimit-limit': '' }, 120],
    ['a limit that is sent twice', { 'x-ratelimit-limit': ['600', '5'] }, 120],
    ['more left than the limit', { 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '61' }, 60],
    ['less than nothing left', { 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '-1' }, 60],
  ])('%s is ignored and reported', async ([, headers, limit]) => {
    const clock = leapingClock(Date.parse('2026-03-15T12:00:00Z'));
    const budget = createBudget({ clock });
    const { get, attempts } = await open(
      (_request, response) => {
        for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
        response.end('{}');
      },
      { options: { budget, clock } },
    );
    await get();
    expect(budget.state()).toMatchObject({ limit });
    expect(budget.state().left).toBeGreaterThan(limit - 5);
    expect(attempts[0]?.implausible).toEqual([expect.objectContaining({ path: expect.stringMatching(/^header x-/) })]);
  });

  test.for(['999999999999999999999', 'Fri, 31 Dec 9999 23:59:59 GMT', 'soon', 'NaN'])(
    'a Retry-After of %j is ignored and reported, and the request is sent again',
    async (value) => {
      const { get, attempts } = await open((_request, response, count) =>
        json(response, count === 1 ? 429 : 200, {}, count === 1 ? { 'retry-after': value } : {}),
      );
      await get();
      expect(attempts[0]?.implausible).toEqual([expect.objectContaining({ path: 'header retry-after', value })]);
      expect(attempts).toHaveLength(2);
    },
  );
});

describe('walkPages', () => {
  const walk = async (
    next: (cursor: string | null, count: number) => string | null,
    options: { from?: string | null; pagesMax?: number } = {},
  ) => {
    const { client, requests } = await open((request, response, count) => {
      const cursor = new URL(request.url ?? '', 'http://x').searchParams.get('cursor');
      json(response, 200, { data: [cursor], nextCursor: next(cursor, count) }, { 'x-ratelimit-limit': '10000' });
    });
    const pages: { cursor: string | null; next: string | null }[] = [];
    const walking = walkPages(client, {
      request: { path: '/list', query: { from: '2026-01-01', limit: '100' } },
      read: (body) => body,
      nextOf: (body) => (body as { nextCursor: string | null }).nextCursor,
      from: options.from ?? null,
      signal: new AbortController().signal,
      onAttempt: () => undefined,
    });
    const error = await (async () => {
      for await (const page of walking) pages.push({ cursor: page.cursor, next: page.next });
      return null;
    })().catch((thrown: unknown) => thrown as UpstreamError);
    const queries = requests.map(({ url }) => Object.fromEntries(new URL(url ?? '', 'http://x').searchParams));
    return { pages, error, queries };
  };

  test('ends at the last page and repeats all other parameters unchanged', async () => {
    const { pages, error, queries } = await walk((cursor) => (cursor === null ? 'b&c' : cursor === 'b&c' ? 'd' : null));
    expect(error).toBeNull();
    expect(pages).toEqual([
      { cursor: null, next: 'b&c' },
      { cursor: 'b&c', next: 'd' },
      { cursor: 'd', next: null },
    ]);
    const same = { from: '2026-01-01', limit: '100' };
    expect(queries).toEqual([same, { ...same, cursor: 'b&c' }, { ...same, cursor: 'd' }]);
  });

  test('resumes from a saved cursor', async () => {
    const { pages } = await walk(() => null, { from: 'saved' });
    expect(pages).toEqual([{ cursor: 'saved', next: null }]);
  });

  test.for<[string, (cursor: string | null, count: number) => string, number]>([
    ['does not change', () => 'a', 1],
    ['repeats after three pages', (_cursor, count) => 'abc'[(count - 1) % 3] as string, 3],
  ])('fails at a cursor that %s, and yields no page twice', async ([, next, pagesRead]) => {
    const { pages, error } = await walk(next);
    expect(error).toMatchObject({ code: 'bad_answer' });
    expect(error?.message).toContain('does not advance');
    expect(pages.length).toBe(pagesRead);
  });

  test('fails after 10,000 pages', async () => {
    expect(PAGES_MAX).toBeLessThanOrEqual(10_000);
    const { error, pages } = await walk((_cursor, count) => String(count));
    expect(error?.message).toContain('does not end');
    expect(pages.length).toBe(PAGES_MAX);
  });
});
