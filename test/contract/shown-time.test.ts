import { expect, test } from 'vitest';
import { shownTime } from '../../src/contract/time.ts';

test('a time is shown to the minute in UTC, and a damaged one unchanged', () => {
  expect(shownTime('2026-11-22T14:02:59.999Z')).toBe('2026-11-22 14:02 UTC');
  expect(shownTime('2026-11-22T23:30:00+09:00')).toBe('2026-11-22 14:30 UTC');
  expect(shownTime(0)).toBe('1970-01-01 00:00 UTC');
  expect(shownTime('undefined')).toBe('undefined');
});
