/** A header that holds an HTTP date, as epoch milliseconds, or null. */
export function toDate(header: string | string[] | undefined): number | null {
  const date = typeof header === 'string' ? Date.parse(header) : Number.NaN;
  return Number.isNaN(date) ? null : date;
}

/** A Retry-After header in milliseconds, or null: seconds, or an HTTP date (RFC 9110, 10.2.3). */
export function toRetryAfterMs(header: string | string[] | undefined, now: number): number | null {
  if (typeof header !== 'string') return null;
  if (/^\d+(\.\d+)?$/.test(header.trim())) return Math.ceil(Number(header) * 1000);
  const date = toDate(header);
  return date === null ? null : Math.max(0, date - now);
}
