import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BodyError, PageBoundError } from '../../src/contract/body.ts';
import { CONTAINERS_MAX, DEPTH_MAX, itemsMaxOf, parseBody, VALUES_MAX } from '../../src/plausibility/page-work.ts';

const bytesOf = (text: string): Buffer => Buffer.from(text);

describe('a body', () => {
  test('is what JSON.parse makes of it, whatever its texts hold', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
        const text = JSON.stringify(value);
        expect(parseBody(bytesOf(text))).toEqual({ value: JSON.parse(text), isDamaged: false });
      }),
    );
  });

  test.for<[string, string]>([
    ['brackets in a text', JSON.stringify('['.repeat(DEPTH_MAX + 1))],
    ['quotes and backslashes in a text', JSON.stringify(`${'\\"['.repeat(200)}\\`)],
    ['a text that ends in a backslash, before an array', JSON.stringify(['\\', '['.repeat(200)])],
  ])('may have %s', ([, text]) => {
    expect(parseBody(bytesOf(text)).value).toEqual(JSON.parse(text));
  });

  test.for<[string, string, RegExp]>([
    ['deeper nesting than any page has', '['.repeat(10_000_000), /nested too deeply; allowed: up to 100 levels/],
    [
      'more arrays than any page has',
      `[${'[],'.repeat(CONTAINERS_MAX)}[]]`,
      /objects and arrays; allowed: up to 500000/,
    ],
    ['more values than any page has', `[${'0,'.repeat(VALUES_MAX + 1)}0]`, /values; allowed: up to 6000000/],
  ])('with %s is rejected before it is parsed, and is not worth another attempt', ([, text, about]) => {
    const body = bytesOf(text);
    expect(() => parseBody(body)).toThrow(about);
    expect(() => parseBody(body)).toThrow(PageBoundError);
  });

  test('of the greatest depth is parsed', () => {
    const text = `${'['.repeat(DEPTH_MAX)}${']'.repeat(DEPTH_MAX)}`;
    expect(parseBody(bytesOf(text)).value).toEqual(JSON.parse(text));
  });

  test('may begin with a byte order mark of UTF-8, and must not be UTF-16', () => {
    expect(parseBody(bytesOf('\ufeff{"a":1}')).value).toEqual({ a: 1 });
    for (const text of ['{"a":1}', '\ufeff{"a":1}']) {
      expect(() => parseBody(Buffer.from(text, 'utf16le'))).toThrow(/UTF-16 or UTF-32; allowed: UTF-8/);
      expect(() => parseBody(Buffer.from(text, 'utf16le').swap16())).toThrow(/UTF-16 or UTF-32; allowed: UTF-8/);
    }
  });

  test('that is not UTF-8 is read with U+FFFD, and says so', () => {
    expect(parseBody(Buffer.from('{"a":"x\xffy"}', 'latin1'))).toEqual({ value: { a: 'x\ufffdy' }, isDamaged: true });
    expect(parseBody(bytesOf('{"a":"\ufffd"}')).isDamaged).toBe(false);
  });

  test.for(['', '{', 'NaN', '[1,]', '{"a":01}', '"\u0001"'])('%j is not JSON', (text) => {
    expect(() => parseBody(bytesOf(text))).toThrow(BodyError);
  });
});

test('a list may have a few times as many items as were asked for, or what its resource declares', () => {
  expect(itemsMaxOf({}, { limit: '100' })).toBe(400);
  expect(itemsMaxOf({ itemsMax: 300_000 }, {})).toBe(300_000);
  expect(itemsMaxOf({}, {})).toBe(100_000);
});
