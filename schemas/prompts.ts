import { boolean, children, group, label, text, timestamp, uuid } from '../src/contract/fields.ts';
import { flagParameter } from '../src/contract/parameters.ts';
import { defineResource } from '../src/contract/resource.ts';

export const prompts = defineResource({
  name: 'prompts',
  position: 60,
  about: 'Prompts that the service sends to engines.',
  scope: 'brand',
  path: '/brands/{brandId}/prompts',
  paging: 'single',
  change: { kind: 'set' },
  query: {
    includePaused: flagParameter('True to include paused prompts.', {
      default: false,
      filter: { by: 'inclusion', field: 'active' },
    }),
  },
  ask: { includePaused: 'true' },
  tables: [
    {
      name: 'prompts',
      about: 'Prompts that the service sends to engines, including paused ones.',
      at: { list: 'data' },
      key: ['id'],
      incidental: ['lastCheckedAt'],
      fields: {
        id: uuid('Prompt id.'),
        text: text('Text of the prompt.'),
        active: boolean('False while the prompt is paused.'),
        createdAt: timestamp('When the prompt was added.'),
        lastCheckedAt: timestamp('When an engine last responded to the prompt.'),
        topic: group("The prompt's topic.", {
          id: uuid('Topic id.'),
          name: text('Topic name.'),
        }),
        tags: children('Tags of the prompts.', {
          table: 'prompt_tags',
          repeat: [],
          fields: {
            id: uuid('Tag id.', { column: 'tag_id' }),
            name: text('Tag name.'),
          },
        }),
        funnelStage: label('Stage of the buying funnel.'),
        branded: boolean('True if the prompt names the brand.'),
      },
    },
  ],
  tool: 'list_prompts',
});
