import { expect, test } from 'vitest';
import { parseExactJson } from '../../src/base/json.ts';
import { extendColumns, pointerOf, valueIn } from '../../src/contract/generic/item-columns.ts';
import { openDatabase } from '../../src/warehouse/database.ts';
import { derivationOf } from '../../src/warehouse/derived-columns.ts';
import { literal, quoted } from '../../src/warehouse/schema.ts';

const texts = [
  `{"id":340282366920938463463374607431768211000,"big":9007199254740993,"ratio":1,"mixed":true,"deep":{"a":{"b":"x"}}}`,
  `{"id":-18446744073709551616,"big":9007199254740995,"ratio":0.1,"mixed":7,"deep":{"a":{"b":"\\u0000 '\\""}}}`,
  `{"id":null,"ratio":123456789.123456789,"mixed":"text","list":[1,{"n":12345678901234567890}],"either":{"a":1}}`,
  `{"ratio":5e-324,"flag":false,"list":"text","either":"text","a/b~c":"slash","q\\"'; --":1,"constructor":"c","":"none"}`,
  `"scalar"`,
  `{}`,
];

test('derived columns have the values that the items have, digit for digit', async () => {
  const items = texts.map(parseExactJson);
  const columns = extendColumns([], items, ['a_b_c']);
  expect(Object.fromEntries(columns.map(({ name, kind }) => [name, kind]))).toEqual({
    id: 'text',
    big: 'text',
    ratio: 'number',
    mixed: 'text',
    deep_a_b: 'text',
    list: 'json',
    either_a: 'integer',
    either: 'text',
    flag: 'boolean',
    a_b_c_2: 'text',
    q: 'integer',
    constructor: 'text',
    value: 'text',
  });
  expect(extendColumns(columns, items, [])).toBe(columns);

  const stored = columns.map((column) => ({
    name: column.name,
    kind: column.kind,
    about: '',
    source: { from: 'item' as const, path: column.path, pointer: pointerOf(column) },
  }));
  const derived = derivationOf(stored);
  const source = `(SELECT CAST(text AS JSON) AS _item FROM (VALUES ${texts.map((text) => `(${literal(text)})`).join(', ')}) v(text))`;
  const selected = stored.map((column) => `${derived.value(column, 's')} AS ${quoted(column.name)}`).join(', ');
  const database = await openDatabase(':memory:', {});
  const rows = await database.exclusive((session) => session.all(`SELECT ${selected} FROM ${derived.over(source)} s`));
  await database.close();
  const plain = (value: unknown) => (typeof value === 'bigint' ? Number(value) : (value ?? null));
  const valuesOf = (name: string) => rows.map((row) => plain(row[name]));
  expect(valuesOf('value')[4]).toBe('scalar');
  expect(valuesOf('list')).toEqual([null, null, '[1,{"n":12345678901234567890}]', '"text"', null, null]);
  const others = columns.filter(({ name }) => name !== 'value' && name !== 'list');
  for (const column of others) {
    expect([column.name, valuesOf(column.name)]).toEqual([column.name, items.map((item) => valueIn(item, column))]);
  }
});
