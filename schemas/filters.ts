import {
  choiceParameter,
  dayParameter,
  type Parameters,
  textParameter,
  uuidParameter,
} from '../src/contract/parameters.ts';

/** First and last day of a range, both included; at most 366 days. */
export const rangeFilters: Parameters = {
  from: dayParameter('First day, UTC; by default 29 days before `to`.'),
  to: dayParameter('Last day, UTC; by default today.'),
};

/** The range and the engine. */
export const engineFilters: Parameters = {
  ...rangeFilters,
  engine: textParameter('Only answers of this engine (a slug).', { oneOf: { resource: 'engines', field: 'slug' } }),
};

const ofPrompt = { by: 'list', from: 'promptId', resource: 'prompts' } as const;

/** The filters that metrics and responses have in common. */
export const commonFilters: Parameters = {
  ...engineFilters,
  promptId: uuidParameter('Only answers to this prompt.'),
  topicId: uuidParameter('Only prompts in this topic.', { filter: { ...ofPrompt, field: 'topic.id' } }),
  tagId: uuidParameter('Only prompts with this tag.', { filter: { ...ofPrompt, child: 'tags', field: 'id' } }),
  branded: choiceParameter('Only prompts that name the brand, or only those that do not.', ['branded', 'non-branded'], {
    filter: { ...ofPrompt, field: 'branded', isTrue: 'branded' },
  }),
};
