import { integer, label, number, text, uuid } from '../src/contract/fields.ts';
import { defineResource } from '../src/contract/resource.ts';
import { commonFilters } from './shared/filters.ts';

export const metrics = defineResource({
  name: 'metrics',
  position: 80,
  about: 'Visibility of the brand and its competitors over a range of days.',
  scope: 'brand',
  path: '/brands/{brandId}/metrics',
  paging: 'single',
  change: { kind: 'report', span: 'recent' },
  computes: 'by-nothing',
  echoes: ['from', 'to'],
  query: commonFilters,
  tables: [
    {
      name: 'metrics',
      about: 'Visibility of the brand and its competitors over a range of days, as reported by upstream.',
      at: { list: 'data' },
      extent: { kind: 'range' },
      key: ['entityType', 'competitorId'],
      nullableKey: ['competitorId'],
      fields: {
        entityType: label('`brand` for the brand itself; any other value for a competitor.'),
        competitorId: uuid('The competitor; null for the brand.'),
        name: text('Name of the brand or competitor.'),
        visibility: number('Share of responses that mention the entity.'),
        shareOfVoice: number("The entity's share of all mentions."),
        avgPosition: number('Mean position in the responses that mention the entity; null without any.'),
        sentiment: number('Mean sentiment in the responses that mention the entity; null without any.'),
      },
      beside: { responses: integer('Responses in the range.', { neverNull: true }) },
    },
  ],
  tool: 'get_metrics',
  use: 'Use it for one figure per entity over the whole range: the brand against its competitors, or two periods with two calls.',
});
