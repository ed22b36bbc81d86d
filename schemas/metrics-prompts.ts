import { z } from 'zod';
import { integer, json, number, text, uuid } from '../src/contract/fields.ts';
import { defineResource } from '../src/contract/resource.ts';
import { commonFilters } from './shared/filters.ts';

// Documented but not validated, so that a malformed list does not reject the row's numbers.
const rivals = {
  type: 'array',
  items: {
    type: 'object',
    properties: {
      competitorId: { type: ['string', 'null'], format: 'uuid', description: 'The competitor.' },
      name: { type: ['string', 'null'], description: "The competitor's name." },
      mentions: { type: 'integer', description: 'Responses that mention the competitor.' },
    },
  },
} as const;

export const metricsPrompts = defineResource({
  name: 'metrics_prompts',
  position: 100,
  about: 'Visibility by prompt over a range of days.',
  scope: 'brand',
  path: '/brands/{brandId}/metrics/prompts',
  paging: 'single',
  change: { kind: 'report', span: 'recent' },
  computes: 'by-prompt',
  echoes: ['from', 'to'],
  query: commonFilters,
  order: ['visibility'],
  tables: [
    {
      name: 'metrics_prompts',
      about: 'Visibility by prompt over a range of days, as reported by upstream.',
      at: { list: 'data' },
      extent: { kind: 'range' },
      key: ['promptId'],
      fields: {
        promptId: uuid('The prompt.'),
        prompt: text("The prompt's text."),
        responses: integer('Responses in the range.', { neverNull: true }),
        visibility: number('Share of responses that mention the brand.', { neverNull: true }),
        visibilityChange: number('Difference from the preceding range of the same length.'),
        avgPosition: number('Mean position in the responses that mention the brand; null without any.'),
        sentiment: number('Mean sentiment in the responses that mention the brand; null without any.'),
        topCompetitors: json('Competitors with the most mentions.', z.unknown().meta(rivals), { neverNull: true }),
      },
    },
  ],
  tool: 'get_prompt_metrics',
  use: "Use it for the brand's strongest and weakest prompts and the competitors that win them.",
});
