import {
  choiceParameter,
  dayParameter,
  type Parameters,
  textParameter,
  uuidParameter,
} from '../../src/contract/parameters.ts';

/** Range of at most 366 days, both included, and engine. */
export const engineFilters: Parameters = {
  from: dayParameter('First day (UTC); default: 29 days before `to`.'),
  to: dayParameter('Last day (UTC); default: today.'),
  engine: textParameter('Only responses of this engine (slug).', {
    oneOf: { resource: 'engines', field: 'slug' },
    example: 'chatgpt',
  }),
};

const ofPrompt = { by: 'list', from: 'promptId', resource: 'prompts' } as const;

/** Filters of metrics and responses. */
export const commonFilters: Parameters = {
  ...engineFilters,
  promptId: uuidParameter('Only responses to this prompt.', {
    idOf: { resource: 'prompts', field: 'id' },
  }),
  topicId: uuidParameter('Only prompts in this topic.', {
    filter: { ...ofPrompt, field: 'topic.id' },
    idOf: { resource: 'prompt_groups', table: 'topics', field: 'id' },
  }),
  tagId: uuidParameter('Only prompts with this tag.', {
    filter: { ...ofPrompt, child: 'tags', field: 'id' },
    idOf: { resource: 'prompt_groups', table: 'tags', field: 'id' },
  }),
  branded: choiceParameter(
    'Only prompts that name the brand (branded) or do not (non-branded).',
    ['branded', 'non-branded'],
    {
      filter: { ...ofPrompt, field: 'branded', isTrue: 'branded' },
    },
  ),
};
