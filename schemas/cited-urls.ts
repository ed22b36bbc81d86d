import { integer, text } from '../src/contract/fields.ts';
import { limitParameter } from '../src/contract/parameters.ts';
import { defineResource } from '../src/contract/resource.ts';
import { engineFilters } from './shared/filters.ts';

export const citedUrls = defineResource({
  name: 'cited_urls',
  position: 140,
  about: 'Pages that responses cite most, over a range of days.',
  scope: 'brand',
  path: '/brands/{brandId}/sources/urls',
  paging: 'single',
  change: { kind: 'report', span: 'recent' },
  computes: 'pages',
  query: { ...engineFilters, limit: limitParameter(200, 50) },
  order: ['-citations'],
  tables: [
    {
      name: 'cited_urls',
      about: 'Pages that responses cited most, over a range of days, as reported by upstream (at most 200).',
      at: { list: 'data' },
      extent: { kind: 'range' },
      key: ['url'],
      fields: {
        url: text('URL of the cited page.'),
        domain: text('Domain of the page.'),
        title: text('Title of the page.'),
        citations: integer('Citations of the page.', { neverNull: true }),
      },
    },
  ],
  tool: 'list_cited_urls',
  use: 'Use it for the pages that engines cite; `list_cited_domains` has totals by site.',
});
