import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ExactNumber, isRecord, parseExactJson, toExactJson, withDoubles } from '../../src/base/json.ts';

describe('exact JSON', () => {
  test.for([
    '{"a":9007199254740993}',
    '[-9007199254740993,1,1.5]',
    '123456789012345678901234567890',
    '{"a":1e400,"b":[12345678901234567890,"12345678901234567890"]}',
    '{"12345678901234567890":12345678901234567890}',
    '["a\\"12345678901234567890","\\\\",12345678901234567890]',
    '{"__proto__":{"a":9007199254740993}}',
  ])('%s is written as it was read', (text) => {
    expect(toExactJson(parseExactJson(text))).toBe(text);
  });

  test('is JSON.parse and JSON.stringify for values that doubles hold', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        // A double beyond 2^53 that is written as a whole number is exact, and is written again as it was.
        expect(toExactJson(parseExactJson(text))).toBe(text);
        expect(withDoubles(parseExactJson(text))).toEqual(JSON.parse(text));
      }),
    );
  });

  test.for([
    '0123456789012345678',
    '[1234567890123456789.]',
    '{"a":12345678901234567890',
    '12345678901234567890x',
    '-',
  ])('%s is no JSON', (text) => {
    expect(() => parseExactJson(text)).toThrow(SyntaxError);
  });

  test('a text that looks like a marked number stays a text', () => {
    const text = JSON.stringify({ a: '\u0000n5', b: 1 }).replace('1', '12345678901234567890');
    expect(parseExactJson(text)).toEqual(JSON.parse(text));
    const beside = toExactJson({ '\u0000n5': new ExactNumber('12345678901234567890'), b: '"\u0000n5' });
    expect(JSON.parse(beside)).toEqual({ '\u0000n5': Number('12345678901234567890'), b: '"\u0000n5' });
  });

  test('an exact number is not an object', () => {
    expect(isRecord(new ExactNumber('12345678901234567890'))).toBe(false);
  });
});
