import { expect, test } from 'vitest';
import { expandDates } from '../../src/base/date-template.ts';

test('parts of the time are replaced in UTC, in any order and more than once', () => {
  const at = Date.parse('2026-01-03T04:05:06.789Z');
  expect(expandDates('--output', 'a/%Y-%m-%d/%H%M%S-%j-%G-W%V-%%Y-%d', at)).toBe(
    'a/2026-01-03/040506-003-2026-W01-%Y-03',
  );
  // A Sunday, so its ISO week belongs to the year before.
  expect(expandDates('--output', '%Y %G-W%V %j', Date.parse('2027-01-03T23:59:59Z'))).toBe('2027 2026-W53 003');
  expect(expandDates('--output', '%G-W%V %j', Date.parse('2024-12-31T00:00:00Z'))).toBe('2025-W01 366');
  expect(expandDates('--output', 'plain', at)).toBe('plain');
});

test.each(['%q', 'a%', '%é', '%\n', '% Y'])('the unknown part in %j is rejected with the allowed ones', (template) => {
  expect(() => expandDates('--output', template, 0)).toThrow(
    /contains "%.*"; allowed: %Y, %m, %d, %H, %M, %S, %j, %G, %V, %%$/,
  );
});
