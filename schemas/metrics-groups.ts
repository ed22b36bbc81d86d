import { integer, number, text } from '../src/contract/fields.ts';
import { choiceParameter } from '../src/contract/parameters.ts';
import { defineResource } from '../src/contract/resource.ts';
import { commonFilters } from './filters.ts';

export const metricsGroups = defineResource({
  name: 'metrics_groups',
  about: 'Visibility by topic, tag, funnel stage or brandedness over a range of days.',
  scope: 'brand',
  path: '/brands/{brandId}/metrics/groups',
  paging: 'single',
  change: { kind: 'report', span: 'recent' },
  computes: 'by-group',
  echoes: ['from', 'to', 'groupBy'],
  query: {
    ...commonFilters,
    groupBy: choiceParameter('What prompts are grouped by.', ['topic', 'tag', 'funnelStage', 'branded'], {
      default: 'topic',
    }),
  },
  each: {
    parameter: 'groupBy',
    column: 'group_by',
    about: 'What prompts are grouped by.',
  },
  tables: [
    {
      name: 'metrics_groups',
      about: 'Visibility by group of prompts over a range of days, as upstream reported it.',
      at: { list: 'data' },
      extent: { kind: 'range' },
      key: ['groupId'],
      nullableKey: ['groupId'],
      fields: {
        groupId: text('Topic id, tag id, funnel stage, or branded and non-branded.'),
        name: text("The group's name."),
        prompts: integer('Prompts in the group.'),
        responses: integer('Answers in the range.'),
        visibility: number('Share of answers that mention the brand.'),
        visibilityChange: number('Difference to the preceding range of the same length.'),
        avgPosition: number('Mean position where mentioned; null when never.'),
        sentiment: number('Mean sentiment where mentioned; null when never.'),
        shareOfVoice: number("The brand's share of all mentions."),
      },
    },
  ],
  tool: 'get_group_metrics',
});
