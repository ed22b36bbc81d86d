/** The window of the specification's limit. */
export const WINDOW_MS = 60_000;

/** What the limiter says of one request. */
export interface Admission {
  readonly allowed: boolean;
  /** How many more would be admitted now. */
  readonly remaining: number;
  /** Whole seconds after which one is admitted again, if none comes before; 0 when admitted. */
  readonly retryAfterSeconds: number;
}

/** Counts requests by key: never more than `limit` in any `windowMs`, and none refused below it. */
export interface Limiter {
  readonly limit: number;
  /** Counts a request that is admitted; one that is refused does not count. */
  admit(key: string): Admission;
}

/** What a limiter is made with. */
export interface LimiterOptions {
  /** A whole number, 1 or more. */
  readonly limit: number;
  /** Milliseconds that are never set back. */
  readonly monotonic: () => number;
  readonly windowMs?: number;
  /** Keys remembered at once; beyond it, those that were quiet the longest are forgotten. */
  readonly keysMax?: number;
}

/** When the admitted requests of a key came, in a ring: as many places as the limit, the oldest overwritten first. */
interface Ring {
  readonly times: Float64Array;
  next: number;
  count: number;
}

/** Builds a limiter over a sliding window. It keeps the time of every request counted, so nothing is estimated. */
export function createLimiter({ limit, monotonic, windowMs = WINDOW_MS, keysMax = 64 }: LimiterOptions): Limiter {
  if (!Number.isSafeInteger(limit) || limit < 1) throw new RangeError(`a limit of ${limit} is none`);
  const rings = new Map<string, Ring>();
  const ringOf = (key: string): Ring => {
    const known = rings.get(key);
    // Put back at the end, so that the map runs from the quietest key to the latest.
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
    if (ring.count === limit) {
      const waitMs = oldestOf(ring, limit) + windowMs - now;
      return { allowed: false, remaining: 0, retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) };
    }
    ring.times[ring.next] = now;
    ring.next = (ring.next + 1) % limit;
    ring.count += 1;
    return { allowed: true, remaining: limit - ring.count, retryAfterSeconds: 0 };
  };
  return { limit, admit };
}

function oldestOf({ times, next, count }: Ring, limit: number): number {
  return times[(next - count + limit) % limit] as number;
}
