import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { createBudget } from '../../src/upstream/budget/budget.ts';
import { leapingClock } from '../support/clocks.ts';
import { json, openClient } from './support.ts';

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
    const { client } = await openClient((_request, response) => {
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
    const { failure, requests } = await openClient((_request, response) => {
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
    const { get, attempts } = await openClient(
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

  test.for([['120', '120'], '120, 120', '120.0', ' 120 '])('a limit of %j is 120', async (value) => {
    const budget = createBudget({ clock: leapingClock(Date.parse('2026-03-15T12:00:00Z')) });
    const { get, attempts } = await openClient(
      (_request, response) => {
        response.setHeader('x-ratelimit-limit', value);
        response.end('{}');
      },
      { options: { budget } },
    );
    await get();
    expect(budget.state()).toMatchObject({ limit: 120 });
    expect(attempts[0]?.implausible).toBeUndefined();
  });

  test.for(['999999999999999999999', 'Fri, 31 Dec 9999 23:59:59 GMT', 'soon', 'NaN'])(
    'a Retry-After of %j is ignored and reported, and the request is sent again',
    async (value) => {
      const { get, attempts } = await openClient((_request, response, count) =>
        json(response, count === 1 ? 429 : 200, {}, count === 1 ? { 'retry-after': value } : {}),
      );
      await get();
      expect(attempts[0]?.implausible).toEqual([expect.objectContaining({ path: 'header retry-after', value })]);
      expect(attempts).toHaveLength(2);
    },
  );
});
