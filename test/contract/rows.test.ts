import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { declarations } from '../../schemas/catalogue.ts';
import { BodyError } from '../../src/contract/body.ts';
import { createCatalogue } from '../../src/contract/catalogue.ts';
import { createRowReader, type Row, type TableRows } from '../../src/contract/rows.ts';
import { BRAND, full, ID, one, read } from './things.ts';

describe('the row of an item', () => {
  test('has its values in the form of the warehouse', () => {
    const row = one(full);
    expect(row.values).toEqual({
      brand_id: BRAND,
      id: ID.toLowerCase(),
      label: 'a',
      count: 1,
      score: 1.5,
      is_on: true,
      made_at: '2026-01-31 10:00:00.500000',
      on_day: '2026-01-31',
      anything: full.anything,
      owner_id: ID.toLowerCase(),
      owner_name: 'o',
      total: 7,
    });
    expect(row.key).toEqual({ brand_id: BRAND, id: ID.toLowerCase() });
    expect(row.extra).toBeNull();
    expect(row.children.map(({ table, inherited, rows }) => [table.name, inherited, rows])).toEqual([
      [
        'thing_parts',
        { brand_id: BRAND, thing_id: ID.toLowerCase(), made_at: '2026-01-31 10:00:00.500000' },
        [
          { values: { name: 'x', ordinal: 0 }, extra: null },
          { values: { name: 'y', ordinal: 1 }, extra: null },
        ],
      ],
    ]);
  });

  test.for([
    ['null', Object.fromEntries(Object.keys(full).map((name) => [name, name === 'id' ? ID : null]))],
    ['missing', { id: ID }],
  ] as const)('has null in all other columns if everything but the key is %s', ([, item]) => {
    const { values, children } = one(item);
    const expected = { brand_id: BRAND, id: ID.toLowerCase(), total: 7 };
    for (const [name, value] of Object.entries(values)) {
      expect(value, name).toBe(name in expected ? expected[name as keyof typeof expected] : null);
    }
    expect(children.flatMap(({ rows }) => rows)).toEqual([]);
  });

  test.for([
    ['2026-02-28T23:59:59Z', '2026-02-28 23:59:59.000000'],
    ['2026-02-28T23:59:59.123456789Z', '2026-02-28 23:59:59.123456'],
    ['2026-02-28t23:59:59z', '2026-02-28 23:59:59.000000'],
    ['2026-02-28 23:59:59', '2026-02-28 23:59:59.000000'],
    ['2026-02-28T23:30:00-01:00', '2026-03-01 00:30:00.000000'],
    ['2026-03-01T00:30:00.25+05:30', '2026-02-28 19:00:00.250000'],
    ['2024-02-29T00:00Z', '2024-02-29 00:00:00.000000'],
    ['2026-02-28', '2026-02-28 00:00:00.000000'],
    ['0001-01-01T00:30:00+00:15', '0001-01-01 00:15:00.000000'],
    ['0099-12-31T23:30:00-01:00', '0100-01-01 00:30:00.000000'],
  ] as const)('contains the timestamp %s as %s', ([given, moment]) => {
    expect(one({ ...full, madeAt: given }).values['made_at']).toBe(moment);
  });

  test.for([
    ['0', 0],
    ['9007199254740991', Number.MAX_SAFE_INTEGER],
    ['1e3', 1000],
  ] as const)('contains the integer %s', ([given, count]) => {
    expect(one(JSON.parse(`{"id":"${ID}","count":${given}}`)).values['count']).toBe(count);
  });
});

describe('an item is rejected', () => {
  test.for([
    ['label', 1],
    ['label', { a: 1 }],
    ['count', 1.5],
    ['count', '1.5'],
    ['count', '0x1'],
    ['count', 2 ** 53],
    ['count', 1e300],
    ['score', '1,5'],
    ['score', '1e3'],
    ['score', ' 1'],
    ['score', ''],
    ['score', 'NaN'],
    ['score', Number.POSITIVE_INFINITY],
    ['isOn', 'true'],
    ['isOn', 1],
    ['madeAt', '2026-02-30T00:00:00Z'],
    ['madeAt', '2026-02-29T00:00:00Z'],
    ['madeAt', '2026-01-01T24:00:00Z'],
    ['madeAt', '2026-01-01T10:00:00+25:00'],
    ['madeAt', '9999-12-31T23:30:00-01:00'],
    ['madeAt', '0001-01-01T00:00:00+01:00'],
    ['madeAt', '0000-01-01T00:00:00Z'],
    ['madeAt', 'yesterday'],
    ['madeAt', 1767225600],
    ['onDay', '2026-02-30'],
    ['onDay', '2026-1-1'],
    ['onDay', '2026-01-01T10:00:00Z'],
    ['owner', 'me'],
    ['owner', { id: 'no uuid' }],
    ['owner', []],
    ['parts', {}],
    ['parts', ['x']],
    ['parts', [null]],
    ['parts', [{ name: 1 }]],
  ] as const)('with its key reported, if %s is %j', ([field, value]) => {
    const { rows, rejected, seen, unidentified } = read({ data: [{ ...full, [field]: value }], total: 1 });
    expect(rows).toEqual([]);
    expect(rejected).toEqual([{ table: 'things', reason: expect.any(String), item: { ...full, [field]: value } }]);
    expect(rejected[0]?.reason).toContain(field);
    expect(seen).toEqual([{ brand_id: BRAND, id: ID.toLowerCase() }]);
    expect(unidentified).toBe(0);
  });

  test.for([
    {},
    { id: null },
    { id: 7 },
    { id: { toString: 1 } },
    { id: '' },
    { id: 'x' },
    { label: 'a' },
    null,
    'a',
    7,
    [],
    true,
  ])('not even its key can be read: %j', (item) => {
    const { rows, rejected, seen, unidentified } = read({ data: [item, full], total: 1 });
    expect(rows.length).toBe(1);
    expect(rejected).toEqual([{ table: 'things', reason: expect.any(String), item }]);
    expect(seen.length).toBe(1);
    expect(unidentified).toBe(1);
  });
});

describe('unknown fields', () => {
  test('are stored in _extra at the top level, in groups and in children', () => {
    const row = one({
      ...full,
      more: { z: 1 },
      none: null,
      owner: { ...full.owner, since: 2020 },
      parts: [{ name: 'x' }, { name: 'y', weight: 3 }],
    });
    expect(row.extra).toEqual({ more: { z: 1 }, none: null, owner: { since: 2020 } });
    expect(row.children[0]?.rows.map(({ extra }) => extra)).toEqual([null, { weight: 3 }]);
  });

  test('do not include a nested array that is null; only the item shows whether it was empty', () => {
    const [none, empty] = [one({ ...full, parts: null }), one({ ...full, parts: [] })];
    expect([none.extra, none.children, none.values]).toEqual([empty.extra, empty.children, empty.values]);
    expect(none.hash).not.toBe(empty.hash);
  });

  test.for(['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'prototype', '', ' ', 'a.b', '\u0000'])(
    'may be called %j',
    (name) => {
      const text = `{"id":"${ID}",${JSON.stringify(name)}:{"label":"not the label","count":5}}`;
      const row = one(JSON.parse(text));
      expect(row.values['label']).toBeNull();
      expect(row.values['count']).toBeNull();
      expect(JSON.stringify(row.extra)).toBe(`{${JSON.stringify(name)}:{"count":5,"label":"not the label"}}`);
      expect(({} as Record<string, unknown>)['label']).toBeUndefined();
    },
  );

  test('named __proto__ do not affect groups or children', () => {
    const text = `{"id":"${ID}","owner":{"__proto__":{"name":"no"}},"parts":[{"__proto__":{"name":"no"}}]}`;
    const row = one(JSON.parse(text));
    expect(row.values['owner_name']).toBeNull();
    expect(row.children[0]?.rows[0]?.values['name']).toBeNull();
  });
});

describe('text', () => {
  test.for([
    ['NUL', 'a\u0000b', 'a\u0000b'],
    ['a lone high surrogate', 'a\ud83d', 'a\ufffd'],
    ['a lone low surrogate', '\ude00b', '\ufffdb'],
    ['a surrogate pair', '😀', '😀'],
    ['a megabyte', 'ž'.repeat(500_000), 'ž'.repeat(500_000)],
  ] as const)('may contain %s', ([, given, kept]) => {
    expect(one({ ...full, label: given }).values['label']).toBe(kept);
  });
});

describe('the hash', () => {
  const hash = (item: unknown): string => one(item).hash;

  test('does not depend on the order of keys at any depth, nor do columns and unknown fields', () => {
    const turned = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(turned);
      if (typeof value !== 'object' || value === null) return value;
      return Object.fromEntries(
        Object.entries(value)
          .map(([name, inner]) => [name, turned(inner)])
          .reverse(),
      );
    };
    const item = { ...full, more: { b: { y: 1, x: 2 }, a: 1 }, parts: [{ name: 'x', p: 1, q: { s: 1, r: 2 } }] };
    const [before, after] = [one(item), one(turned(item))];
    expect(after.hash).toBe(before.hash);
    expect([before.item, after.item]).toEqual([JSON.stringify(item), JSON.stringify(turned(item))]);
    const columnsOf = ({ values, children, extra }: Row): string =>
      JSON.stringify([Object.entries(values).sort(), children.map(({ rows }) => rows), extra]);
    expect(columnsOf(after)).toBe(columnsOf(before));
  });

  test('depends on how upstream writes the values of a field, and columns do not', () => {
    const forms = [
      [{ ...full, id: ID.toLowerCase() }, full],
      [{ ...full, madeAt: '2026-01-31 10:00:00.500000+00:00' }, full],
      [{ ...full, score: '1.50', count: '1' }, full],
      [{ id: ID, label: null }, { id: ID }],
    ];
    for (const [row, other] of forms.map((pair) => pair.map((item) => one(item)) as [Row, Row])) {
      expect(row.hash).not.toBe(other.hash);
      expect([row.values, row.children, row.extra]).toEqual([other.values, other.children, other.extra]);
    }
  });

  test('of numbers that are written as text has the numbers, and is stored like numbers', () => {
    const row = one({ ...full, score: '-12.50', count: '7' });
    expect([row.values['score'], row.values['count'], row.extra]).toEqual([-12.5, 7, null]);
  });

  test('depends on a value that is written in another form than most values of its field', () => {
    const others = [1, 2].map((number) => ({ ...full, id: `${ID.slice(0, -1)}${number}` }));
    const hashOf = (item: object) => read({ data: [...others, { ...full, ...item }], total: 7 }).rows[2]?.hash;
    expect(hashOf({ madeAt: '2026-01-31T10:00:00.500Z' })).not.toBe(hashOf({}));
  });

  test.for<[string, Partial<Record<keyof typeof full | 'more', unknown>>]>([
    ['a text', { label: 'b' }],
    ['an empty text instead of null', { label: '' }],
    ['a number', { score: 1.6 }],
    ['null', { isOn: null }],
    ['a microsecond', { madeAt: '2026-01-31T10:00:00.500001Z' }],
    ['inside JSON', { anything: { b: 1, a: [1, { d: 1, c: 3 }] } }],
    ['the order of a JSON list', { anything: { b: 1, a: [{ d: 1, c: 2 }, 1] } }],
    ['a group', { owner: { id: ID, name: 'p' } }],
    ['a child', { parts: [{ name: 'x' }, { name: 'z' }] }],
    ['the order of children', { parts: [{ name: 'y' }, { name: 'x' }] }],
    ['the number of children', { parts: [{ name: 'x' }] }],
    ['an unknown field', { more: 1 }],
    ["a child's unknown field", { parts: [{ name: 'x', more: 1 }, { name: 'y' }] }],
  ])('changes with %s', ([, change]) => {
    expect(hash({ ...full, ...change })).not.toBe(hash(full));
  });
});

describe('every resource of the API', () => {
  const catalogue = createCatalogue(declarations);

  test.for(catalogue.resources.map((resource) => [resource.name, resource] as const))(
    '%s takes any JSON for an answer without harm',
    ([, resource]) => {
      const rows = createRowReader(catalogue, resource);
      const names = resource.tables.flatMap(({ fields, at }) => [
        ...Object.keys(fields),
        ...(at === 'body' ? [] : [at.list]),
      ]);
      const value = fc.letrec((tie) => ({
        value: fc.oneof(
          { depthSize: 'small' },
          fc.constantFrom(null, true, 0, -1.5, '', ID, '2026-01-01', '2026-01-01T00:00:00Z', 'brand'),
          fc.array(tie('value'), { maxLength: 4 }),
          fc.dictionary(fc.constantFrom('__proto__', 'data', ...names), tie('value'), { maxKeys: 6 }),
        ),
      })).value;
      fc.assert(
        fc.property(value, (body) => {
          let read: readonly TableRows[];
          try {
            read = rows.read(body, { brand_id: BRAND });
          } catch (thrown) {
            expect(thrown).toBeInstanceOf(BodyError);
            return;
          }
          for (const { table, rows: taken, seen } of read) {
            const keys = taken.map(({ key }) => JSON.stringify(key));
            expect(new Set(keys).size).toBe(keys.length);
            const known = new Set(seen.map((key) => JSON.stringify(key)));
            for (const key of keys) expect(known.has(key)).toBe(true);
            for (const { values } of taken) {
              for (const { name, source } of table.columns) {
                if (source.from !== 'engine') expect(values).toHaveProperty(name);
              }
            }
          }
        }),
        { numRuns: 100 },
      );
    },
  );
});
