import { describe, expect, test } from 'vitest';
import { ExactNumber } from '../../src/base/json.ts';
import { BodyError } from '../../src/contract/body.ts';
import { nextCursorOf, pageRequest } from '../../src/contract/paging.ts';

const pages = { parameter: 'after', next: 'meta.after' };

describe('nextCursorOf', () => {
  const cursorOf = (value: unknown): string | null => nextCursorOf({ meta: { after: value } }, pages);

  test.each([
    ['a', 'a'],
    [12, '12'],
    [new ExactNumber('12345678901234567890'), '12345678901234567890'],
    ['c'.repeat(4_096), 'c'.repeat(4_096)],
    ['', null],
    [null, null],
    [undefined, null],
  ])('the cursor %j is %j, digit for digit', (value, expected) => {
    expect(cursorOf(value)).toBe(expected);
  });

  test('a cursor that is too long or not text or a number is rejected', () => {
    expect(() => cursorOf('c'.repeat(4_097))).toThrow(/4097 characters; allowed: up to 4096/);
    for (const value of [{}, ['a'], true]) expect(() => cursorOf(value)).toThrow(BodyError);
  });

  test('a cursor is found by its path or by its whole name; lists without a cursor have one page', () => {
    expect(nextCursorOf({ 'meta.after': 'whole name' }, pages)).toBe('whole name');
    expect([[], {}].map((body) => nextCursorOf(body, pages))).toEqual([null, null]);
    expect(nextCursorOf({ nextCursor: 'a' }, null)).toBeNull();
  });
});

test('the request of a page repeats the other parameters', () => {
  const first = { path: '/items', query: { limit: '9' } };
  expect(pageRequest(pages, first, null)).toEqual(first);
  expect(pageRequest(pages, first, 'b')).toEqual({ path: '/items', query: { limit: '9', after: 'b' } });
});
