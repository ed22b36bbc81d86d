import { uuid } from '../src/contract/fields.ts';
import { defineResource } from '../src/contract/resource.ts';

export const brand = defineResource({
  name: 'brand',
  position: 40,
  about: 'One brand by its id.',
  scope: 'workspace',
  path: '/brands/{brandId}',
  paging: 'single',
  change: { kind: 'detail', of: 'brands', parameter: 'brandId' },
  query: {},
  tables: [
    {
      name: 'brands',
      about: 'Fields of a brand that the list does not contain.',
      at: 'body',
      key: ['id'],
      fields: { id: uuid('Brand id.') },
    },
  ],
  tool: 'get_brand',
});
