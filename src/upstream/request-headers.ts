const IMF_FIXDATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/**
 * Parses an HTTP date in the form that servers must send (IMF-fixdate, RFC 9110, 5.6.7), such as
 * `Sun, 22 Nov 2026 07:00:00 GMT`. Returns epoch milliseconds, or null for obsolete forms, wrong weekdays and invalid days.
 */
export function toDate(header: string | string[] | undefined): number | null {
  if (typeof header !== 'string' || !IMF_FIXDATE.test(header)) return null;
  const date = Date.parse(header);
  // Date.parse() accepts 31 February and any weekday; comparing with toUTCString() rejects both.
  return !Number.isNaN(date) && new Date(date).toUTCString() === header ? date : null;
}

/** Parses a Retry-After header: seconds or an HTTP date (RFC 9110, 10.2.3). Returns milliseconds from `now`, or null. */
export function toRetryAfterMs(header: string | string[] | undefined, now: number): number | null {
  if (typeof header !== 'string') return null;
  if (/^\d+(\.\d+)?$/.test(header.trim())) return Math.ceil(Number(header) * 1000);
  const date = toDate(header);
  return date === null ? null : Math.max(0, date - now);
}
