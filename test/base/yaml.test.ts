import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { toYaml, type YamlValue } from '../../src/base/yaml.ts';

const VERSIONS = ['1.1', '1.2'] as const;

describe('the YAML writer', () => {
  it('writes lists, objects, literal blocks and a comment in block style', () => {
    const value = {
      name: 'visibility',
      empty: [[], {}],
      nested: [{ sql: 'SELECT 1\n\nFROM t', keys: ['a', 'b'] }, [1, null, true]],
      'needs quotes: yes': '1.5',
      json: '{"a": 1}',
    };
    expect(toYaml(value, ['Generated.', '', 'Twice.'])).toBe(`# Generated.
#
# Twice.
name: visibility
empty:
  - []
  - {}
nested:
  - sql: |-
      SELECT 1

      FROM t
    keys:
      - a
      - b
  - - 1
    - null
    - true
"needs quotes: yes": "1.5"
json: '{"a": 1}'
`);
  });

  it.each([
    'yes',
    'No',
    'null',
    '~',
    '1',
    '1e3',
    '2026-01-01',
    '12:30',
    '- a',
    'a: b',
    'a #b',
    '{a}.x',
    '@x',
    ' a',
    'a ',
    '',
    '\n',
    'a\n',
    'x\r\ny',
    'a \nb',
    '\ta\nb',
    '\u0085\nx',
    '🙂\nb',
    '=',
    '<<',
    '!x',
    '*x',
    '&x',
    '|',
    '%x',
  ])('writes the text %j so that both versions of YAML read it as that text', (text) => {
    for (const version of VERSIONS) {
      expect(parse(toYaml({ key: [text], [text]: text }), { version })).toEqual({ key: [text], [text]: text });
    }
  });

  it('writes any value so that it is read back unchanged', () => {
    const { value } = fc.letrec<{ value: YamlValue }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.string({ unit: 'binary' }),
        fc.string({ unit: fc.constantFrom('a', ' ', '\n', ':', '#', '-', "'", '"', '\\', '{', ',') }),
        fc.integer(),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(fc.string({ minLength: 1 }), tie('value'), { maxKeys: 3, noNullPrototype: true }),
      ),
    }));
    fc.assert(
      fc.property(value, (given) => {
        for (const version of VERSIONS) expect(parse(toYaml(given), { version })).toEqual(given);
      }),
      { numRuns: 100, seed: 17 },
    );
  });

  it('rejects numbers that are not finite, and undefined', () => {
    expect(() => toYaml([Number.NaN])).toThrow('YAML: NaN is not a finite number');
    expect(() => toYaml({ a: undefined as never })).toThrow('YAML: undefined is not a value; omit the key or use null');
  });
});
