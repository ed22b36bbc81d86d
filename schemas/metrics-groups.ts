import { integer, number, text } from '../src/contract/fields.ts';
import { choiceParameter } from '../src/contract/parameters.ts';
import { defineResource } from '../src/contract/resource.ts';
import { commonFilters } from './shared/filters.ts';

export const metricsGroups = defineResource({
  name: 'metrics_groups',
  position: 110,
  about: 'Visibility by topic, tag, funnel stage or brandedness over a range of days.',
  scope: 'brand',
  path: '/brands/{brandId}/metrics/groups',
  paging: 'single',
  change: { kind: 'report', span: 'recent' },
  computes: 'by-group',
  echoes: ['from', 'to', 'groupBy'],
  query: {
    ...commonFilters,
    groupBy: choiceParameter('Property by which prompts are grouped.', ['topic', 'tag', 'funnelStage', 'branded'], {
      default: 'topic',
    }),
  },
  each: {
    parameter: 'groupBy',
    column: 'group_by',
    about: 'Property by which prompts are grouped.',
  },
  tables: [
    {
      name: 'metrics_groups',
      about: 'Visibility by group of prompts over a range of days, as reported by upstream.',
      at: { list: 'data' },
      extent: { kind: 'range' },
      key: ['groupId'],
      nullableKey: ['groupId'],
      fields: {
        groupId: text('Topic id, tag id, funnel stage, or `branded` and `non-branded`.'),
        name: text("The group's name."),
        prompts: integer('Prompts in the group.', { neverNull: true }),
        responses: integer('Responses in the range.', { neverNull: true }),
        visibility: number('Share of responses that mention the brand.', { neverNull: true }),
        visibilityChange: number('Difference from the preceding range of the same length.'),
        avgPosition: number('Mean position in the responses that mention the brand; null without any.'),
        sentiment: number('Mean sentiment in the responses that mention the brand; null without any.'),
        shareOfVoice: number("The brand's share of all mentions."),
      },
    },
  ],
  tool: 'get_group_metrics',
  use: 'Use it to compare topics, tags, funnel stages or brandedness; for competitors within one, filter `get_metrics`.',
});
