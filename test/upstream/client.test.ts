import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import type { Clock } from '../../src/base/clock.ts';
import { BodyError } from '../../src/contract/body.ts';
import { toWorkspaceError, UpstreamError } from '../../src/upstream/errors.ts';
import { virtualClock } from '../support/clocks.ts';
import { type Handler, json, KEY, openClient } from './support.ts';

const refusal = (message: string) => ({ error: { code: 'x', message, requestId: '1' } });

describe('an error status', () => {
  test.for([
    { status: 400, code: 'refused', retried: false, about: 'rejected /things (400): told so' },
    { status: 401, code: 'unauthorized', retried: false, about: 'rejected the key (401): told so' },
    { status: 403, code: 'refused', retried: false, about: 'rejected /things (403): told so' },
    { status: 404, code: 'not_found', retried: false, about: 'no /things (404): told so' },
    { status: 405, code: 'refused', retried: false, about: '(405)' },
    { status: 410, code: 'refused', retried: false, about: '(410)' },
    { status: 408, code: 'upstream_failed', retried: true, about: '(408)' },
    { status: 425, code: 'upstream_failed', retried: true, about: '(425)' },
    { status: 500, code: 'upstream_failed', retried: true, about: 'failed on /things (500): told so' },
    { status: 503, code: 'upstream_failed', retried: true, about: '(503)' },
    { status: 599, code: 'upstream_failed', retried: true, about: '(599)' },
  ] as const)('$status gives $code, retried: $retried', async ({ status, code, retried, about }) => {
    const { failure, requests, attempts } = await openClient((_request, response) =>
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
    const { failure } = await openClient((_request, response) =>
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
    const { failure, requests } = await openClient((_request, response) => {
      response.writeHead(status, { location: `/elsewhere?key=${KEY}` });
      response.end();
    });
    expect(await failure()).toMatchObject({ code: 'refused', status });
    expect(requests.length).toBe(1);
  });

  test('that is transient is hidden by a retry', async () => {
    const { get, requests } = await openClient((_request, response, count) =>
      json(response, count < 5 ? 502 : 200, { count }),
    );
    expect((await get()).value).toEqual({ count: 5 });
    expect(requests.length).toBe(5);
  });
});

describe('waiting between attempts', () => {
  test('is random below a bound that doubles up to a maximum', async () => {
    const { failure, slept } = await openClient((_request, response) => json(response, 500, {}));
    await failure();
    const waits = slept.filter((ms) => ms > 100);
    expect(waits.map(Math.round)).toEqual([500, 999, 1998, 3996]);
  });

  test('is at least Retry-After, in seconds or as a date', async () => {
    const { get, slept } = await openClient((_request, response, count) => {
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
    const { get, slept, requests, attempts } = await openClient((_request, response, count) =>
      json(response, count <= 8 ? 429 : 200, refusal('wait'), count <= 8 ? { 'retry-after': '3' } : {}),
    );
    await get();
    expect(requests.length).toBe(9);
    expect(slept.filter((ms) => ms > 2_500).length).toBeGreaterThanOrEqual(8);
    expect(attempts.at(-1)).toMatchObject({ status: 200, error: null, attempt: 9 });
  });

  test('after repeated 429s with a short Retry-After grows to the length of a window that others filled', async () => {
    const setup = await openClient((_request, response) => {
      const isFull = setup.clock.monotonic() < 90_000;
      json(response, isFull ? 429 : 200, refusal('wait'), isFull ? { 'retry-after': '0' } : {});
    });
    await setup.get();
    expect(setup.requests.length).toBeGreaterThan(3);
  });

  test('ends after 12 responses of 429', async () => {
    const { failure, requests } = await openClient((_request, response) =>
      json(response, 429, refusal('wait'), { 'retry-after': '1' }),
    );
    expect(await failure()).toMatchObject({ code: 'upstream_failed', status: 429 });
    expect(requests.length).toBe(12);
  });

  test('of an hour fails at once instead of waiting', async () => {
    const { failure, requests } = await openClient((_request, response) =>
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
    const { client } = await openClient((_request, response) => json(response, 503, {}, { 'retry-after': '800' }), {
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
    const { get, attempts, server } = await openClient(once, { limits });
    expect((await get()).value).toEqual({ count: 2 });
    expect(attempts[0]).toMatchObject({ error: expect.stringMatching(about) });
    expect(attempts[0]?.error).toContain(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  });

  test('is not retried after five attempts', async () => {
    const { failure, requests } = await openClient((request) => request.socket.resetAndDestroy(), { limits });
    expect(await failure()).toMatchObject({ code: 'unreachable', status: null, retryable: true });
    expect(requests.length).toBe(5);
  });

  test('because of a body slower than the total time limit is aborted', async () => {
    const { failure } = await openClient(
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
    const { failure, server } = await openClient(() => undefined);
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    expect((await failure()).message).toMatch(/connection refused/);
  });

  test('because of a body beyond the size limit is aborted and not retried', async () => {
    const { failure, requests } = await openClient((_request, response) => json(response, 200, 'x'.repeat(50_000)), {
      limits: { bodyBytesMax: 10_000 },
    });
    const error = await failure();
    expect(error).toMatchObject({ code: 'bad_answer', retryable: false });
    expect(error.message).toContain('size limit');
    expect(requests.length).toBe(1);
  });
});

describe('a response', () => {
  test('204 is an empty list', async () => {
    const { get, attempts } = await openClient((_request, response) => void response.writeHead(204).end());
    expect(await get()).toMatchObject({ value: [] });
    expect(attempts).toMatchObject([{ status: 204, error: null }]);
  });

  test('that is not JSON is retried and then reported as bad_answer', async () => {
    const { failure, requests } = await openClient((_request, response) => response.end('<html>'));
    expect(await failure()).toMatchObject({ code: 'bad_answer', status: 200 });
    expect(requests.length).toBe(5);
  });

  test('that the reader rejects is retried', async () => {
    const { get, attempts } = await openClient((_request, response, count) => json(response, 200, { count }));
    const { value } = await get({}, (body) => {
      if ((body as { count: number }).count < 3) throw new BodyError('the body has no list data');
      return body;
    });
    expect(value).toEqual({ count: 3 });
    expect(attempts[0]?.error).toContain('the body has no list data');
  });

  test('has the date of a well-formed Date header, and a malformed one is reported', async () => {
    const { get, attempts } = await openClient((_request, response, count) => {
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
      const { get, requests } = await openClient((_request, response) => json(response, 200, {}), { base });
      await get({ cursor: 'a+b/c=&d é', limit: '1' });
      const url = new URL(requests[0]?.url ?? '', 'http://x');
      expect(url.pathname).toBe(`${base.replace(/\/+$/, '')}/things`);
      expect(Object.fromEntries(url.searchParams)).toEqual({ cursor: 'a+b/c=&d é', limit: '1' });
    },
  );
});

describe('the key', () => {
  test('is sent only in the configured header', async () => {
    const bearer = await openClient((_request, response) => json(response, 200, {}));
    await bearer.get();
    expect(bearer.requests[0]?.headers).toMatchObject({ authorization: `Bearer ${KEY}` });
    expect(bearer.requests[0]?.headers['x-api-key']).toBeUndefined();
    const alone = await openClient((_request, response) => json(response, 200, {}), {
      options: { keyHeader: 'x-api-key' },
    });
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
      const { failure, attempts } = await openClient((_request, response) => json(response, status, refusal(message)));
      const error = await failure();
      for (const text of [error.message, String(error), ...attempts.map((attempt) => String(attempt.error))]) {
        expect(text).not.toContain('gsk_s');
      }
    }
  });
});
