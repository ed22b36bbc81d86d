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
    '[1.5e400,-1E+400,-12345678901234567890]',
    '{"a":"5f3af434-1e12-4e345","b":"x 1e400","c":1e309}',
  ])('%s is written exactly as it was parsed', (text) => {
    expect(toExactJson(parseExactJson(text))).toBe(text);
  });

  test('equals JSON.parse and JSON.stringify for values that doubles can represent', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        // A double beyond 2^53 that is written as an integer becomes an ExactNumber and is written unchanged.
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
  ])('%s is rejected with a SyntaxError', (text) => {
    expect(() => parseExactJson(text)).toThrow(SyntaxError);
  });

  test('a string that looks like a number after a mark stays a string', () => {
    const number = '12345678901234567890';
    const text = `{"\\u0000n5":"\\u0000n5","b":${number}}`;
    expect(parseExactJson(text)).toEqual({ '\u0000n5': '\u0000n5', b: new ExactNumber(number) });
    expect(toExactJson(parseExactJson(text))).toBe(text);
  });

  test('isRecord is false for an ExactNumber', () => {
    expect(isRecord(new ExactNumber('12345678901234567890'))).toBe(false);
  });
});
