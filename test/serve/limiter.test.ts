import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createLimiter, WINDOW_MS } from '../../src/serve/auth/limiter.ts';

/** A clock controlled by the test. */
function heldClock() {
  const held = { now: 0 };
  return { held, monotonic: () => held.now };
}

describe('the rate limiter', () => {
  it('matches a model that counts every request of the last minute', () => {
    const steps = fc.array(
      fc.record({
        waitMs: fc.oneof(
          ...[fc.nat(5), fc.nat(2_000), fc.nat(70_000), fc.double({ min: 0, max: 9_000, noNaN: true })],
          ...[fc.constant(WINDOW_MS), fc.constant(WINDOW_MS - 1)],
        ),
        key: fc.constantFrom('a', 'b', 'c'),
      }),
      { maxLength: 300 },
    );
    fc.assert(
      fc.property(steps, fc.integer({ min: 1, max: 12 }), (requests, limit) => {
        const { held, monotonic } = heldClock();
        const limiter = createLimiter({ limit, monotonic });
        const admitted: { key: string; at: number }[] = [];
        for (const { waitMs, key } of requests) {
          held.now += waitMs;
          const recent = admitted.filter((other) => other.key === key && other.at + WINDOW_MS > held.now);
          const { allowed, remaining, retryAfterSeconds, resetSeconds } = limiter.admit(key);
          const freesAt = (recent[0]?.at ?? held.now) + WINDOW_MS;
          expect(resetSeconds).toBe(Math.ceil((freesAt - held.now) / 1000));
          expect(allowed).toBe(recent.length < limit);
          if (allowed) {
            admitted.push({ key, at: held.now });
            expect({ remaining, retryAfterSeconds }).toEqual({
              remaining: limit - recent.length - 1,
              retryAfterSeconds: 0,
            });
          } else {
            const freeAt = (recent[0]?.at ?? 0) + WINDOW_MS;
            expect(remaining).toBe(0);
            expect(retryAfterSeconds).toBe(Math.ceil((freeAt - held.now) / 1000));
            expect(retryAfterSeconds).toBeGreaterThan(0);
          }
        }
      }),
      { numRuns: 500 },
    );
  });

  it('drops the least recently used key when there are too many, never a busy one', () => {
    const { held, monotonic } = heldClock();
    const limiter = createLimiter({ limit: 2, monotonic, keysMax: 10 });
    for (let index = 0; index < 1_000; index++) {
      held.now += 1;
      limiter.admit(`once ${index}`);
      expect(limiter.admit('busy').allowed).toBe(index < 2);
    }
  });

  it('rejects invalid limits', () => {
    for (const limit of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => createLimiter({ limit, monotonic: () => 0 })).toThrow(RangeError);
    }
  });
});
