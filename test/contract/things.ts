import { expect } from 'vitest';
import { declarations } from '../../schemas/catalogue.ts';
import { createCatalogue } from '../../src/contract/catalogue.ts';
import {
  boolean,
  children,
  day,
  group,
  integer,
  json,
  number,
  text,
  timestamp,
  uuid,
} from '../../src/contract/fields.ts';
import { defineResource, type ResourceDeclaration } from '../../src/contract/resource.ts';
import { createRowReader, type Row, type TableRows } from '../../src/contract/rows.ts';

export const ID = '6F9619FF-8B86-D011-B42D-00C04FC964FF';
export const BRAND = '00000000-0000-4000-8000-000000000001';

/** A resource with one field of every kind. */
export const things = defineResource({
  name: 'things',
  about: 'Things of every kind.',
  scope: 'brand',
  path: '/brands/{brandId}/things',
  paging: 'single',
  change: { kind: 'set' },
  query: {},
  tables: [
    {
      name: 'things',
      about: 'Things.',
      at: { list: 'data' },
      key: ['id'],
      fields: {
        id: uuid('Id.'),
        label: text('Label.'),
        count: integer('Count.'),
        score: number('Score.'),
        isOn: boolean('On.'),
        madeAt: timestamp('Made.'),
        onDay: day('Day.'),
        anything: json('Anything.'),
        owner: group('Owner.', { id: uuid('Owner id.'), name: text('Owner name.') }),
        parts: children('Parts.', { table: 'thing_parts', repeat: ['madeAt'], fields: { name: text('Name.') } }),
      },
      beside: { total: integer('Total.') },
    },
  ],
  tool: 'list_things',
});

/** An item with a value for every field. */
export const full = {
  id: ID,
  label: 'a',
  count: 1,
  score: 1.5,
  isOn: true,
  madeAt: '2026-01-31T10:00:00.5Z',
  onDay: '2026-01-31',
  anything: { b: 1, a: [1, { d: 1, c: 2 }] },
  owner: { id: ID, name: 'o' },
  parts: [{ name: 'x' }, { name: 'y' }],
};

/** Reads the rows of a body of `things`. */
export const read = reader(things);

/** Creates a function that reads the rows of a body. */
export function reader(declaration: ResourceDeclaration): (body: unknown) => TableRows {
  const catalogue = createCatalogue([...declarations, declaration]);
  // A new reader for each body: values of earlier bodies would decide which form is usual.
  const read = (body: unknown) =>
    createRowReader(catalogue, catalogue.get(declaration.name)).read(body, { brand_id: BRAND });
  return (body) => read(body)[0] as TableRows;
}

/** Reads the row of one item of `things`, none of which is rejected. */
export function one(item: unknown): Row {
  const { rows, rejected } = read({ data: [item], total: 7 });
  expect(rejected).toEqual([]);
  expect(rows.length).toBe(1);
  return rows[0] as Row;
}
