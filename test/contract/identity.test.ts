import { expect, test } from 'vitest';
import { declarations } from '../../schemas/catalogue.ts';
import { createCatalogue } from '../../src/contract/catalogue.ts';
import { json } from '../../src/contract/fields.ts';
import { defineResource } from '../../src/contract/resource.ts';
import { createRowReader } from '../../src/contract/rows.ts';

const things = defineResource({
  name: 'things',
  about: 'Things.',
  scope: 'workspace',
  path: '/things',
  paging: 'single',
  change: { kind: 'set' },
  query: {},
  tool: 'list_things',
  tables: [
    {
      name: 'things',
      about: 'Things.',
      at: { list: 'data' },
      key: [],
      identity: ['id'],
      fields: { _item: json('The item.') },
      whole: '_item',
      normalize: (item) => ({ _item: item }),
    },
  ],
});

test('items are identified by their fields, and equal identities are numbered', () => {
  const catalogue = createCatalogue([...declarations, things]);
  const reader = createRowReader(catalogue, catalogue.get('things'));
  const keysOf = (items: unknown[]) => reader.read({ data: items }, {})[0]?.rows.map(({ key }) => key['_content_key']);
  const [first, second, other, without] = keysOf([{ id: 1 }, { id: 1, n: 2 }, { id: '1' }, { n: 3 }]) ?? [];
  expect(second).toBe(`${first}-2`);
  expect(new Set([first, second, other, without]).size).toBe(4);
  expect(keysOf([{ n: 3 }, { id: 1, n: 9 }, { id: null, n: 3 }])).toEqual([without, first, expect.any(String)]);
  expect(keysOf([[1], { id: 1 }])?.[0]).not.toBe(first);
});
