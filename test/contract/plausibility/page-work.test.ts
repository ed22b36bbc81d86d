import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BodyError, PageBoundError } from '../../../src/contract/body.ts';
import {
  CONTAINERS_MAX,
  DEPTH_MAX,
  itemsMaxOf,
  parseBody,
  VALUES_MAX,
} from '../../../src/contract/plausibility/page-work.ts';

const bytesOf = (text: string): Buffer => Buffer.from(text);

describe('parseBody', () => {
  test('equals JSON.parse for any JSON value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
        const text = JSON.stringify(value);
        expect(parseBody(bytesOf(text))).toEqual({ value: JSON.parse(text), isDamaged: false });
      }),
    );
  });

  test.for<[string, string]>([
    ['brackets in a string', JSON.stringify('['.repeat(DEPTH_MAX + 1))],
    ['quotes and backslashes in a string', JSON.stringify(`${'\\"['.repeat(200)}\\`)],
    ['a string that ends with a backslash before an array', JSON.stringify(['\\', '['.repeat(200)])],
  ])('accepts %s', ([, text]) => {
    expect(parseBody(bytesOf(text)).value).toEqual(JSON.parse(text));
  });

  test.for<[string, string, RegExp]>([
    ['nesting beyond the limit', '['.repeat(10_000_000), /nested too deeply; allowed: up to 100 levels/],
    ['more arrays than the limit', `[${'[],'.repeat(CONTAINERS_MAX)}[]]`, /objects and arrays; allowed: up to 500000/],
    ['more values than the limit', `[${'0,'.repeat(VALUES_MAX + 1)}0]`, /values; allowed: up to 6000000/],
  ])('rejects %s before parsing, without retry', ([, text, about]) => {
    const body = bytesOf(text);
    expect(() => parseBody(body)).toThrow(about);
    expect(() => parseBody(body)).toThrow(PageBoundError);
  });

  test('accepts the maximum depth', () => {
    const text = `${'['.repeat(DEPTH_MAX)}${']'.repeat(DEPTH_MAX)}`;
    expect(parseBody(bytesOf(text)).value).toEqual(JSON.parse(text));
  });

  test('accepts a UTF-8 byte order mark and rejects UTF-16', () => {
    expect(parseBody(bytesOf('\ufeff{"a":1}')).value).toEqual({ a: 1 });
    for (const text of ['{"a":1}', '\ufeff{"a":1}']) {
      expect(() => parseBody(Buffer.from(text, 'utf16le'))).toThrow(/UTF-16 or UTF-32; allowed: UTF-8/);
      expect(() => parseBody(Buffer.from(text, 'utf16le').swap16())).toThrow(/UTF-16 or UTF-32; allowed: UTF-8/);
    }
  });

  test('replaces invalid UTF-8 by U+FFFD and sets isDamaged', () => {
    expect(parseBody(Buffer.from('{"a":"x\xffy"}', 'latin1'))).toEqual({ value: { a: 'x\ufffdy' }, isDamaged: true });
    expect(parseBody(bytesOf('{"a":"\ufffd"}')).isDamaged).toBe(false);
  });

  test.for(['', '{', 'NaN', '[1,]', '{"a":01}', '"\u0001"'])('rejects %j, which is not JSON', (text) => {
    expect(() => parseBody(bytesOf(text))).toThrow(BodyError);
  });
});

test('itemsMaxOf is four times the requested limit, or the bound of the resource, or 100,000', () => {
  expect(itemsMaxOf({}, { limit: '100' })).toBe(400);
  expect(itemsMaxOf({ itemsMax: 300_000 }, {})).toBe(300_000);
  expect(itemsMaxOf({}, {})).toBe(100_000);
});
