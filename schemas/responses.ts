import { boolean, children, integer, label, text, timestamp, uuid } from '../src/contract/fields.ts';
import { cursorParameter, flagParameter, limitParameter, uuidParameter } from '../src/contract/parameters.ts';
import { defineResource } from '../src/contract/resource.ts';
import { commonFilters } from './shared/filters.ts';

const repeat = ['promptId', 'engine', 'createdAt'];

export const responses = defineResource({
  name: 'responses',
  position: 150,
  about: 'Responses of AI engines, with the competitors they mention and the pages they cite.',
  scope: 'brand',
  path: '/brands/{brandId}/responses',
  paging: 'cursor',
  change: {
    kind: 'window',
    dayCounts: {
      resource: 'metrics_daily',
      table: 'metrics_daily',
      day: 'date',
      count: 'responses',
      per: ['engine'],
      where: { row_mode: 'engine' },
    },
  },
  query: {
    ...commonFilters,
    brandMentioned: flagParameter('Only responses that mention the brand (true) or do not (false).'),
    competitorId: uuidParameter('Only responses that mention this tracked competitor.', {
      filter: { by: 'child', child: 'competitors', field: 'competitorId' },
      idOf: { resource: 'competitors', field: 'id' },
    }),
    limit: limitParameter(100, 25),
    cursor: cursorParameter(),
  },
  order: ['-createdAt'],
  tables: [
    {
      name: 'responses',
      about: 'Responses of AI engines.',
      at: { list: 'data' },
      extent: { kind: 'time', field: 'createdAt' },
      key: ['id'],
      fields: {
        id: uuid('Response id.'),
        promptId: uuid('The prompt.'),
        prompt: text("The prompt's text."),
        engine: label('Engine slug.'),
        createdAt: timestamp('When the engine responded.'),
        brandMentioned: boolean('True if the response mentions the brand.'),
        brandPosition: integer("The brand's rank among the mentioned brands; null if not mentioned."),
        brandSentiment: label('Sentiment of the response towards the brand, as a label.'),
        competitors: children('Competitors that responses mention.', {
          table: 'response_competitors',
          repeat,
          fields: {
            competitorId: uuid('The competitor.'),
            name: text("The competitor's name."),
            position: integer("The competitor's rank among the mentioned brands."),
            sentiment: label('Sentiment of the response towards the competitor, as a label.'),
          },
        }),
        citations: children('Pages that responses cite.', {
          table: 'response_citations',
          repeat,
          fields: {
            url: text('URL of the cited page.'),
            domain: text('Domain of the page.'),
            title: text('Title of the page.'),
            position: integer('Rank of the page among the citations.'),
          },
        }),
      },
    },
  ],
  tool: 'list_responses',
  use: 'Use it for single responses; for numbers use the metrics tools, which count all responses of a range.',
});
