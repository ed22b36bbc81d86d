import { expect, test } from 'vitest';
import { toDate, toRetryAfterMs } from '../../src/upstream/client.ts';

test('toDate accepts only the IMF-fixdate form', () => {
  expect(toDate('Sun, 22 Nov 2026 07:00:00 GMT')).toBe(Date.parse('2026-11-22T07:00:00Z'));
  expect(toDate('Fri, 31 Dec 9999 23:59:59 GMT')).toBe(Date.parse('9999-12-31T23:59:59Z'));
  const wrong = [
    'Mon, 22 Nov 2026 07:00:00 GMT',
    'Sun, 22 Nov 2026 07:00:00',
    'Sun, 22 Nov 2026 07:00:00 UTC',
    'Sun, 22 Nov 2026 25:00:00 GMT',
    'Tue, 31 Feb 2026 07:00:00 GMT',
    'Sunday, 22-Nov-26 07:00:00 GMT',
    'Sun Nov 22 07:00:00 2026',
    '2026-11-22T07:00:00Z',
    '1795330800',
    ' Sun, 22 Nov 2026 07:00:00 GMT',
    '',
  ];
  for (const header of wrong) expect(toDate(header), header).toBeNull();
  expect(toDate(undefined)).toBeNull();
  expect(toDate(['Sun, 22 Nov 2026 07:00:00 GMT', 'Sun, 22 Nov 2026 07:00:00 GMT'])).toBeNull();
});

test('Retry-After may be repeated with one value', () => {
  const now = Date.parse('2026-11-22T06:59:00Z');
  const date = 'Sun, 22 Nov 2026 07:00:00 GMT';
  for (const header of ['5', ' 5', '5, 5', '5,5, 5', ['5', '5'], ['5', '5, 5']])
    expect(toRetryAfterMs(header, now)).toBe(5_000);
  for (const header of [date, [date, date]]) expect(toRetryAfterMs(header, now)).toBe(60_000);
  for (const header of [undefined, '', ',', '5, 6', ['5', '6'], ['5', date], '-5', '1e3', '5;q=1'])
    expect(toRetryAfterMs(header, now)).toBeNull();
});
