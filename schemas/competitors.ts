import { json, text, uuid } from '../src/contract/fields.ts';
import { defineResource } from '../src/contract/resource.ts';
import { firstText } from './shared/unknown-shapes.ts';

export const competitors = defineResource({
  name: 'competitors',
  position: 50,
  about: 'Competitors tracked for a brand.',
  scope: 'brand',
  path: '/brands/{brandId}/competitors',
  paging: 'single',
  change: { kind: 'set' },
  query: {},
  envelopeUnknown: true,
  tables: [
    {
      name: 'competitors',
      about: 'Competitors tracked for a brand.',
      at: { list: 'data' },
      key: ['id'],
      fields: {
        id: uuid('Competitor id.'),
        name: text('Competitor name.'),
        record: json('The competitor exactly as upstream sent it.'),
      },
      whole: 'record',
      normalize: (item) => ({
        id: firstText(item, ['id', 'competitorId']),
        name: firstText(item, ['name', 'label', 'title']),
        record: item,
      }),
    },
  ],
  tool: 'list_competitors',
});
