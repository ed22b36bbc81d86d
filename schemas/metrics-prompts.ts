import { z } from 'zod';
import { integer, json, number, text, uuid } from '../src/contract/fields.ts';
import { defineResource } from '../src/contract/resource.ts';
import { commonFilters } from './filters.ts';

// Described and not checked: a row of numbers is worth more than a list of names in the form it should have.
const rivals = {
  type: 'array',
  items: {
    type: 'object',
    properties: {
      competitorId: { type: ['string', 'null'], format: 'uuid', description: 'The competitor.' },
      name: { type: ['string', 'null'], description: "The competitor's name." },
      mentions: { type: ['integer', 'null'], description: 'Answers that mention the competitor.' },
    },
  },
} as const;

export const metricsPrompts = defineResource({
  name: 'metrics_prompts',
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
      about: 'Visibility by prompt over a range of days, as upstream reported it.',
      at: { list: 'data' },
      extent: { kind: 'range' },
      key: ['promptId'],
      fields: {
        promptId: uuid('The prompt.'),
        prompt: text("The prompt's text."),
        responses: integer('Answers in the range.'),
        visibility: number('Share of answers that mention the brand.'),
        visibilityChange: number('Difference to the preceding range of the same length.'),
        avgPosition: number('Mean position where mentioned; null when never.'),
        sentiment: number('Mean sentiment where mentioned; null when never.'),
        topCompetitors: json('Competitors with the most mentions.', z.unknown().meta(rivals)),
      },
    },
  ],
  tool: 'get_prompt_metrics',
});
