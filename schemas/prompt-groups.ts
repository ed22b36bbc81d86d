import { text, uuid } from '../src/contract/fields.ts';
import { defineResource } from '../src/contract/resource.ts';

export const promptGroups = defineResource({
  name: 'prompt_groups',
  position: 70,
  about: 'Topics and tags by which prompts are grouped.',
  scope: 'brand',
  path: '/brands/{brandId}/prompt-groups',
  paging: 'single',
  change: { kind: 'set' },
  query: {},
  tables: [
    {
      name: 'topics',
      about: 'Topics of the brand.',
      at: { list: 'topics' },
      key: ['id'],
      fields: { id: uuid('Topic id.'), name: text('Topic name.') },
    },
    {
      name: 'tags',
      about: 'Tags of the brand.',
      at: { list: 'tags' },
      key: ['id'],
      fields: { id: uuid('Tag id.'), name: text('Tag name.') },
    },
  ],
  tool: 'list_prompt_groups',
});
