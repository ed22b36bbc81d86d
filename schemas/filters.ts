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
  engine: textParameter('Only answers of this engine (a slug).'),
};

/** The filters that metrics and responses have in common. */
export const commonFilters: Parameters = {
  ...engineFilters,
  promptId: uuidParameter('Only answers to this prompt.'),
  topicId: uuidParameter('Only prompts in this topic.'),
  tagId: uuidParameter('Only prompts with this tag.'),
  branded: choiceParameter('Only prompts that name the brand, or only those that do not.', ['branded', 'non-branded']),
};
