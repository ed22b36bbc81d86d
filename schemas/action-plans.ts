import { z } from 'zod';
import { boolean, children, integer, json, label, text, timestamp, uuid } from '../src/contract/fields.ts';
import { defineResource } from '../src/contract/resource.ts';

export const actionPlans = defineResource({
  name: 'action_plans',
  position: 170,
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
        answers: integer('Responses in the 14 days.'),
        mentioned: integer('Responses that mention the brand.'),
        lost: integer('Responses that competitors won.'),
        winners: json('Names of the competitors that won responses.', z.array(z.string().nullable())),
        summary: text('Summary of the plan; null until it is generated.'),
        actions: children('Actions proposed for lost prompts.', {
          table: 'action_plan_actions',
          repeat: [],
          fields: {
            id: uuid('Action id.'),
            kind: label('Kind of action.'),
            title: text('Title.'),
            detail: text('Detail.'),
            evidence: text('Evidence.'),
            targetUrl: text('URL of the page to change.'),
            done: boolean('True if the action was done.'),
          },
        }),
        generatedAt: timestamp('When the plan was generated; null until then.'),
      },
    },
  ],
  tool: 'list_action_plans',
});
