import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { WorkspaceOptions } from '../../schemas/fixtures/start.ts';
import { createLimiter } from '../../src/sandbox/sandbox-limiter.ts';
import { type Answered, open } from './helpers.ts';

interface Limited {
  at(atMs: number): Promise<Answered>;
}

async function openLimited(options: WorkspaceOptions): Promise<Limited> {
  let clockMs = 0;
  const { get } = await open({ rateLimit: 5, limiterClock: () => clockMs, ...options });
  const at = (atMs: number): Promise<Answered> => {
    clockMs = atMs;
    return get('/brands');
  };
  return { at };
}

test('the sliding limit admits five requests in any 60,000 ms, counts down in headers and sends the exact Retry-After', async () => {
  const { at } = await openLimited({ window: 'sliding' });
  for (const [index, atMs] of [0, 1_000, 2_000, 30_000, 59_000].entries()) {
    const { status, headers } = await at(atMs);
    expect(status).toBe(200);
    expect(headers.get('x-ratelimit-limit')).toBe('5');
    expect(headers.get('x-ratelimit-remaining')).toBe(String(4 - index));
  }
  const refused = await at(59_500);
  expect(refused.status).toBe(429);
  expect(refused.headers.get('retry-after')).toBe('1');
  expect(refused.headers.get('x-ratelimit-remaining')).toBeNull();
  expect(refused.body).toEqual({
    error: {
      code: 'rate_limited',
      message: expect.stringContaining('1 second'),
      requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    },
  });
  expect((await at(59_999)).status).toBe(429);
  expect((await at(60_000)).status).toBe(200);
  expect((await at(60_001)).headers.get('retry-after')).toBe('1');
  expect((await at(61_000)).status).toBe(200);
  const later = await at(62_001);
  expect(later.headers.get('x-ratelimit-remaining')).toBe('0');
  expect((await at(62_002)).headers.get('retry-after')).toBe('28');
});

test('rejected requests do not count, unless configured to', async () => {
  const lenient = await openLimited({ rateLimit: 1 });
  await lenient.at(0);
  await lenient.at(30_000);
  expect((await lenient.at(60_000)).status).toBe(200);
  const strict = await openLimited({ rateLimit: 1, countRefused: true });
  await strict.at(0);
  await strict.at(30_000);
  const refused = await strict.at(60_000);
  expect(refused.status).toBe(429);
  expect(refused.headers.get('retry-after')).toBe('60');
});

test('requests rejected for other reasons count, requests without a key do not', async () => {
  const { get } = await open({ rateLimit: 2 });
  expect((await get('/brands', {}, { headers: {} })).status).toBe(401);
  expect((await get('/nowhere')).status).toBe(404);
  expect((await get('/brands', { surprise: 1 })).status).toBe(400);
  expect((await get('/brands')).status).toBe(429);
  expect((await get('/openapi.json', {}, { headers: {} })).status).toBe(200);
});

test('each key has its own limit, and without a limit there are no rate limit headers', async () => {
  const { get, sandbox } = await open({ rateLimit: 1 });
  sandbox.setKey('gsk_second', 'active');
  expect((await get('/brands')).status).toBe(200);
  expect((await get('/brands', {}, { headers: { 'x-api-key': 'gsk_second' } })).status).toBe(200);
  expect((await get('/brands')).status).toBe(429);
  const unlimited = await open();
  expect((await unlimited.get('/brands')).headers.get('x-ratelimit-limit')).toBeNull();
});

test('the limiter counts at arrival, not when a slow response ends', async () => {
  const { get } = await open({ rateLimit: 3, latencyMs: 100 });
  const statuses = await Promise.all(Array.from({ length: 5 }, async () => (await get('/brands')).status));
  expect(statuses.sort()).toEqual([200, 200, 200, 429, 429]);
});

test('for any arrivals, the limiter admits at most the limit in any sliding minute and rejects none below it', () => {
  const gaps = fc.array(fc.integer({ min: 0, max: 30_000 }), { maxLength: 60 });
  fc.assert(
    fc.property(gaps, fc.integer({ min: 1, max: 6 }), fc.boolean(), (steps, limit, fixed) => {
      const limiter = createLimiter(limit, fixed ? 'fixed' : 'sliding', false);
      const admitted: number[] = [];
      let atMs = 0;
      for (const step of steps) {
        atMs += step;
        const { allowed, remaining, retryAfterSeconds } = limiter('key', atMs);
        const startMs = fixed ? Math.floor(atMs / 60_000) * 60_000 : atMs - 59_999;
        const before = admitted.filter((time) => time >= startMs).length;
        expect(allowed).toBe(before < limit);
        expect(remaining).toBe(allowed ? limit - before - 1 : 0);
        if (allowed) admitted.push(atMs);
        else {
          const waited = atMs + retryAfterSeconds * 1000;
          const freeMs = fixed ? Math.floor(waited / 60_000) * 60_000 : waited - 59_999;
          expect(admitted.filter((time) => time >= freeMs).length).toBeLessThan(limit);
        }
      }
    }),
    { numRuns: 300, seed: 7 },
  );
});
