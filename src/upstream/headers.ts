const IMF_FIXDATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/**
 * A header that holds an HTTP date as every server must send it (IMF-fixdate, RFC 9110, 5.6.7), as epoch milliseconds, or
 * null: `Sun, 22 Nov 2026 07:00:00 GMT`. The obsolete forms, a wrong weekday and a day that does not exist are rejected.
 */
export function toDate(header: string | string[] | undefined): number | null {
  if (typeof header !== 'string' || !IMF_FIXDATE.test(header)) return null;
  const date = Date.parse(header);
  // Date.parse() accepts 31 February and any weekday; the text that a date is written as shows both.
  return !Number.isNaN(date) && new Date(date).toUTCString() === header ? date : null;
}

/** A Retry-After header in milliseconds, or null: seconds, or an HTTP date (RFC 9110, 10.2.3). */
export function toRetryAfterMs(header: string | string[] | undefined, now: number): number | null {
  if (typeof header !== 'string') return null;
  if (/^\d+(\.\d+)?$/.test(header.trim())) return Math.ceil(Number(header) * 1000);
  const date = toDate(header);
  return date === null ? null : Math.max(0, date - now);
}
