import { boolean, children, integer, label, text, timestamp, uuid } from '../src/contract/fields.ts';
import { cursorParameter, flagParameter, limitParameter, uuidParameter } from '../src/contract/parameters.ts';
import { defineResource } from '../src/contract/resource.ts';
import { commonFilters } from './filters.ts';

const repeat = ['promptId', 'engine', 'createdAt'];

export const responses = defineResource({
  name: 'responses',
  about: 'Single answers of AI engines, with the competitors they mention and the pages they cite.',
  scope: 'brand',
  path: '/brands/{brandId}/responses',
  paging: 'cursor',
  change: {
    kind: 'window',
    census: {
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
    brandMentioned: flagParameter('Only answers that mention the brand, or only those that do not.'),
    competitorId: uuidParameter('Only answers that mention this tracked competitor.', {
      filter: { by: 'child', child: 'competitors', field: 'competitorId' },
    }),
    limit: limitParameter(100, 25),
    cursor: cursorParameter(),
  },
  order: ['-createdAt'],
  tables: [
    {
      name: 'responses',
      about: 'Single answers of AI engines.',
      at: { list: 'data' },
      extent: { kind: 'time', field: 'createdAt' },
      key: ['id'],
      fields: {
        id: uuid('Response id.'),
        promptId: uuid('The prompt that was asked.'),
        prompt: text("The prompt's text."),
        engine: label('Engine slug.'),
        createdAt: timestamp('When the engine answered.'),
        brandMentioned: boolean('Whether the answer mentions the brand.'),
        brandPosition: integer("The brand's place among those mentioned; null when not mentioned."),
        brandSentiment: label('How the answer speaks of the brand, a label.'),
        competitors: children('Competitors that answers mention.', {
          table: 'response_competitors',
          repeat,
          fields: {
            competitorId: uuid('The competitor.'),
            name: text("The competitor's name."),
            position: integer("The competitor's place among those mentioned."),
            sentiment: label('How the answer speaks of the competitor, a label.'),
          },
        }),
        citations: children('Pages that answers cite.', {
          table: 'response_citations',
          repeat,
          fields: {
            url: text('The cited page.'),
            domain: text('Its domain.'),
            title: text('Its title.'),
            position: integer('Its place among the citations.'),
          },
        }),
      },
    },
  ],
  tool: 'list_responses',
});
