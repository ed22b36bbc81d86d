import type { Implausible } from '../implausible.ts';

/** Bounds of a plausible rate limit, in requests per minute. */
export const LIMIT_MIN = 1;
export const LIMIT_MAX = 10_000;
/** Maximum plausible Retry-After, in milliseconds: one day. */
export const BELIEVED_WAIT_MS_MAX = 24 * 60 * 60_000;

type Header = string | string[] | undefined;

/** Rate headers of a response; null if absent or implausible. */
export interface RateHeaders {
  /** Requests per minute. */
  readonly limit: number | null;
  /** Requests left in the current minute; between 0 and the limit. */
  readonly remaining: number | null;
  readonly implausible: readonly Implausible[];
}

/**
 * Reads `X-RateLimit-Limit` and `X-RateLimit-Remaining`. If the limit is implausible, `remaining` is ignored too. Proxies repeat
 * headers (`120, 120`) and some servers write `120.0`: both are 120. Repeated headers that differ are implausible.
 */
export function readRateHeaders(headers: Readonly<Record<string, Header>>): RateHeaders {
  const implausible: Implausible[] = [];
  const read = (name: string, min: number, max: number, used: string | null): number | null => {
    const value = headers[name];
    if (value === undefined) return null;
    const texts = [value].flat().flatMap((text) => text.split(','));
    const counts = new Set(texts.map((text) => (/^\s*\d{1,9}(\.0{1,9})?\s*$/.test(text) ? Number(text) : Number.NaN)));
    const [count = Number.NaN] = counts;
    if (counts.size === 1 && count >= min && count <= max) return count;
    implausible.push({
      path: `header ${name}`,
      allowed: `${min} to ${max}`,
      value,
      ...(used === null ? {} : { used }),
    });
    return null;
  };
  const limit = read('x-ratelimit-limit', LIMIT_MIN, LIMIT_MAX, 'the last plausible limit, at first 120');
  const isLimitImplausible = implausible.length > 0;
  const remaining = read('x-ratelimit-remaining', 0, limit ?? LIMIT_MAX, null);
  return { limit, remaining: isLimitImplausible ? null : remaining, implausible };
}

/** Returns the wait of a Retry-After header, or null if the header is absent, malformed or longer than a day. */
export function believeRetryAfter(
  header: Header,
  waitMs: number | null,
): { readonly waitMs: number | null; readonly implausible: readonly Implausible[] } {
  if (header === undefined || (waitMs !== null && waitMs <= BELIEVED_WAIT_MS_MAX)) return { waitMs, implausible: [] };
  const allowed = `0 to ${BELIEVED_WAIT_MS_MAX / 1000} seconds, or an HTTP date within a day`;
  return { waitMs: null, implausible: [{ path: 'header retry-after', allowed, value: header }] };
}
