import { integer, number, text } from '../src/contract/fields.ts';
import { limitParameter } from '../src/contract/parameters.ts';
import { defineResource } from '../src/contract/resource.ts';
import { engineFilters } from './shared/filters.ts';

export const citedDomains = defineResource({
  name: 'cited_domains',
  position: 130,
  about: 'Domains that responses cite most, over a range of days.',
  scope: 'brand',
  path: '/brands/{brandId}/sources/domains',
  paging: 'single',
  change: { kind: 'report', span: 'recent' },
  computes: 'domains',
  query: { ...engineFilters, limit: limitParameter(200, 50) },
  order: ['-citations'],
  tables: [
    {
      name: 'cited_domains',
      about: 'Domains that responses cited most, over a range of days, as reported by upstream (at most 200).',
      at: { list: 'data' },
      extent: { kind: 'range' },
      key: ['domain'],
      fields: {
        domain: text('The cited domain.'),
        citations: integer('Citations of the domain.', { neverNull: true }),
        responses: integer('Responses that cite the domain.', { neverNull: true }),
        share: number('Share of the domain.'),
      },
    },
  ],
  tool: 'list_cited_domains',
  use: 'Use it for the sites that engines cite; `list_cited_urls` has single pages.',
});
