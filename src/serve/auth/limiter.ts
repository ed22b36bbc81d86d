/** Window of the documented rate limit. */
export const WINDOW_MS = 60_000;

/** The limiter's decision on one request. */
export interface Admission {
  readonly allowed: boolean;
  /** Number of further requests that would be admitted now. */
  readonly remaining: number;
  /** Whole seconds until the next request is admitted, if none comes before; 0 if this one is admitted. */
  readonly retryAfterSeconds: number;
  /** Whole seconds until the oldest counted request leaves the window, at least 1. */
  readonly resetSeconds: number;
}

/** Limits requests by key: never admits more than `limit` in any `windowMs`, and rejects none below it. */
export interface Limiter {
  readonly limit: number;
  /** Counts a request if it is admitted; rejected requests do not count. */
  admit(key: string): Admission;
}

/** Options of a limiter. */
export interface LimiterOptions {
  /** A whole number from 1. */
  readonly limit: number;
  /** Monotonic clock in milliseconds. */
  readonly monotonic: () => number;
  readonly windowMs?: number;
  /** Maximum number of tracked keys; the least recently used are dropped first. */
  readonly keysMax?: number;
}

/** Ring buffer with the times of a key's admitted requests; the oldest is overwritten first. */
interface Ring {
  readonly times: Float64Array;
  next: number;
  count: number;
}

/** Creates a sliding-window limiter. It stores the time of every counted request, so the count is exact. */
export function createLimiter({ limit, monotonic, windowMs = WINDOW_MS, keysMax = 64 }: LimiterOptions): Limiter {
  if (!Number.isSafeInteger(limit) || limit < 1)
    throw new RangeError(`limit is ${limit}; allowed: a whole number from 1`);
  const rings = new Map<string, Ring>();
  const ringOf = (key: string): Ring => {
    const known = rings.get(key);
    // Re-insert at the end, so that the map is ordered from least to most recently used.
    if (known !== undefined) rings.delete(key);
    else if (rings.size >= keysMax) rings.delete(rings.keys().next().value as string);
    const ring = known ?? { times: new Float64Array(limit), next: 0, count: 0 };
    rings.set(key, ring);
    return ring;
  };
  const admit = (key: string): Admission => {
    const now = monotonic();
    const ring = ringOf(key);
    while (ring.count > 0 && oldestOf(ring, limit) + windowMs <= now) ring.count -= 1;
    const secondsLeft = (): number => Math.max(1, Math.ceil((oldestOf(ring, limit) + windowMs - now) / 1000));
    if (ring.count === limit) {
      return { allowed: false, remaining: 0, retryAfterSeconds: secondsLeft(), resetSeconds: secondsLeft() };
    }
    ring.times[ring.next] = now;
    ring.next = (ring.next + 1) % limit;
    ring.count += 1;
    return { allowed: true, remaining: limit - ring.count, retryAfterSeconds: 0, resetSeconds: secondsLeft() };
  };
  return { limit, admit };
}

function oldestOf({ times, next, count }: Ring, limit: number): number {
  return times[(next - count + limit) % limit] as number;
}
