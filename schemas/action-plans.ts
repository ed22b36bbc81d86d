import { z } from 'zod';
import { boolean, children, integer, json, label, text, timestamp, uuid } from '../src/contract/fields.ts';
import { defineResource } from '../src/contract/resource.ts';

export const actionPlans = defineResource({
  name: 'action_plans',
  about: 'Prompts that competitors won over the last 14 days, with the actions proposed for them.',
  scope: 'brand',
  path: '/brands/{brandId}/action-plans',
  paging: 'single',
  change: { kind: 'set' },
  query: {},
  // The list covers 14 days, so all of its rows may be replaced between two syncs.
  maxLoss: { share: 1, rows: 0 },
  tables: [
    {
      name: 'action_plans',
      about: 'Prompts that competitors won over the last 14 days.',
      at: { list: 'data' },
      key: ['promptId'],
      fields: {
        promptId: uuid('The prompt.'),
        prompt: text("The prompt's text."),
        answers: integer('Answers in the 14 days.'),
        mentioned: integer('Answers that mention the brand.'),
        lost: integer('Answers that competitors won.'),
        winners: json('Names of the competitors that won them.', z.array(z.string().nullable())),
        summary: text('Summary of the plan; null while none was generated.'),
        actions: children('Actions proposed for lost prompts.', {
          table: 'action_plan_actions',
          repeat: [],
          fields: {
            id: uuid('Action id.'),
            kind: label('Kind of action.'),
            title: text('Title.'),
            detail: text('Detail.'),
            evidence: text('Evidence.'),
            targetUrl: text('The page to act on.'),
            done: boolean('Whether it was done.'),
          },
        }),
        generatedAt: timestamp('When the plan was generated; null while none was.'),
      },
    },
  ],
  tool: 'list_action_plans',
});
