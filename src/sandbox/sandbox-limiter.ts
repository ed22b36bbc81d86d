import { Refusal } from './fixture.ts';

const WINDOW_MS = 60_000;

/** How requests are counted: over the last 60,000 ms (`sliding`), or per minute of the clock (`fixed`). */
export type Window = 'sliding' | 'fixed';

/** The limiter's decision on one request. */
interface Admission {
  readonly allowed: boolean;
  /** Requests left after this one. */
  readonly remaining: number;
  /** Wait in whole seconds until the next request is admitted, if none comes before; 0 if this one is admitted. */
  readonly retryAfterSeconds: number;
}

/** Counts requests per key. */
export type Limiter = (key: string, atMs: number) => Admission;

/** Creates an exact limiter: it never admits more than `limit` in a window, and rejects none below it. */
export function createLimiter(limit: number, window: Window, countRefused: boolean): Limiter {
  const arrivals = new Map<string, number[]>();
  return (key, atMs) => {
    const startMs = window === 'sliding' ? atMs - WINDOW_MS : Math.floor(atMs / WINDOW_MS) * WINDOW_MS - 1;
    const recent = (arrivals.get(key) ?? []).filter((time) => time > startMs);
    const allowed = recent.length < limit;
    if (allowed || countRefused) recent.push(atMs);
    arrivals.set(key, recent);
    if (allowed) return { allowed, remaining: limit - recent.length, retryAfterSeconds: 0 };
    const freeAtMs = window === 'sliding' ? freeAt(recent, limit) : startMs + 1 + WINDOW_MS;
    return { allowed, remaining: 0, retryAfterSeconds: Math.max(1, Math.ceil((freeAtMs - atMs) / 1000)) };
  };
}

// Time at which fewer than `limit` of the counted arrivals remain inside the window.
function freeAt(recent: readonly number[], limit: number): number {
  return (recent[recent.length - limit] as number) + WINDOW_MS;
}

/** Returns the documented 429 error for a request over the limit. */
export function rateLimited(waitSeconds: number): Refusal {
  const message = `Too many requests. Try again in ${waitSeconds} ${waitSeconds === 1 ? 'second' : 'seconds'}.`;
  return new Refusal(429, 'rate_limited', message, { 'Retry-After': String(waitSeconds) });
}
