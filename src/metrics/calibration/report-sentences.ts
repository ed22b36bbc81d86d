import { type Conventions, defaultConventions } from './conventions.ts';
import type { Doubts } from './findings.ts';
import { choiceText } from './point-words.ts';

/** A sentence about the rows and numbers of reports. */
interface Sentence {
  readonly resources: readonly string[];
  /** The conventions that it describes. */
  readonly names: readonly (keyof Conventions)[];
  /** Whether it is left out for the defaults, which readers expect. */
  readonly isExpected?: true;
  text(conventions: Conventions): string;
}

const counting = ['metrics', 'metrics_daily', 'metrics_prompts', 'metrics_groups'];

const sentences: readonly Sentence[] = [
  {
    resources: ['cited_urls'],
    names: ['urlTitle'],
    text: ({ urlTitle }) => `title: ${choiceText('urlTitle', urlTitle)}`,
  },
  {
    resources: ['metrics_groups'],
    names: ['groupPrompts', 'groupPromptsFilter'],
    text: ({ groupPrompts, groupPromptsFilter }) => {
      const prompts = `prompts: ${choiceText('groupPrompts', groupPrompts)}`;
      return groupPrompts === 'answered' || groupPromptsFilter === 'all'
        ? prompts
        : `${prompts}, of ${choiceText('groupPromptsFilter', groupPromptsFilter)}`;
    },
  },
  {
    resources: ['metrics_prompts', 'metrics_groups'],
    names: ['changePeriod'],
    text: ({ changePeriod }) => `visibilityChange: since ${choiceText('changePeriod', changePeriod)}`,
  },
  {
    resources: counting,
    names: ['emptyShare', 'emptyMean'],
    text: ({ emptyShare, emptyMean }) => `Without responses, shares are ${emptyShare} and means are ${emptyMean}`,
  },
  {
    resources: counting,
    names: ['countedResponses'],
    isExpected: true,
    text: ({ countedResponses }) => `Counted: ${choiceText('countedResponses', countedResponses)}`,
  },
  {
    resources: ['metrics', 'metrics_daily', 'metrics_groups'],
    names: ['deletedCompetitors'],
    isExpected: true,
    text: ({ deletedCompetitors }) =>
      `Competitors that are no longer tracked: ${choiceText('deletedCompetitors', deletedCompetitors)}`,
  },
];

/** Returns sentences about the rows and numbers of a report, as upstream computes them. */
export function reportSentences(resource: string, conventions: Conventions, doubts: Doubts): string[] {
  return sentences.flatMap(({ resources, names, isExpected, text }) => {
    const doubt = doubtText(names, doubts);
    const isDefault = names.every((name) => conventions[name] === defaultConventions[name]);
    const isLeftOut = isExpected === true && isDefault && doubt === '';
    return resources.includes(resource) && !isLeftOut ? [`${text(conventions)}${doubt}.`] : [];
  });
}

/** Returns how sure conventions are, as the end of a sentence; an empty text if they are determined. */
export function doubtText(names: readonly (keyof Conventions)[], doubts: Doubts | null): string {
  const found = new Set(names.flatMap((name) => doubts?.get(name) ?? []));
  if (found.has('contradicted')) return " (upstream's responses differ)";
  return found.has('undetermined') ? ' (undetermined)' : '';
}
