import { z } from 'zod';
import { json, text, timestamp, uuid } from '../src/contract/fields.ts';
import { defineResource } from '../src/contract/resource.ts';

export const brands = defineResource({
  name: 'brands',
  position: 30,
  about: 'Brands of the workspace.',
  scope: 'workspace',
  path: '/brands',
  paging: 'single',
  change: { kind: 'set' },
  query: {},
  envelopeUnknown: true,
  // A deleted brand hides all of its data, so a deletion is always confirmed with a request for the brand.
  maxLoss: { share: 0, rows: 0 },
  provides: { id: 'id', name: 'name', since: 'createdAt' },
  tables: [
    {
      name: 'brands',
      about: 'Brands of the workspace.',
      at: { list: 'data' },
      key: ['id'],
      fields: {
        id: uuid('Brand id.'),
        name: text('Brand name.'),
        websiteUrl: text("The brand's website."),
        engines: json('Slugs of the engines that are monitored for the brand.', z.array(z.string().nullable())),
        createdAt: timestamp('When the brand was created.'),
      },
    },
  ],
  tool: 'list_brands',
});
