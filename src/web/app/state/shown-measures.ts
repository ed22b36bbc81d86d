import type { Unit } from './format.ts';

/** Name, definition and better direction of a measure on the pages. */
export interface Measure {
  readonly name: string;
  readonly title: string;
  readonly about: string;
  readonly unit: Unit;
  readonly isHigherBetter: boolean;
}

/** The measures of a brand, of a competitor or of a part of the responses, in the order of the pages. */
export const MEASURES: readonly Measure[] = [
  {
    name: 'visibility',
    title: 'Visibility',
    about: 'Share of responses that mention the brand.',
    unit: 'ratio',
    isHigherBetter: true,
  },
  {
    name: 'share_of_voice',
    title: 'Share of voice',
    about: 'The brand’s share of all mentions of the brand and its tracked competitors.',
    unit: 'ratio',
    isHigherBetter: true,
  },
  {
    name: 'position',
    title: 'Position',
    about: 'Mean position in the responses that mention the brand; 1 is the first.',
    unit: 'position',
    isHigherBetter: false,
  },
  {
    name: 'sentiment',
    title: 'Sentiment',
    about: 'Mean worth of the sentiment labels of the responses that mention the brand.',
    unit: 'score',
    isHigherBetter: true,
  },
  {
    name: 'owned_citations',
    title: 'Own citations',
    about: 'Share of citations that lead to the brand’s own domains.',
    unit: 'ratio',
    isHigherBetter: true,
  },
];

/** The measures that exist for the brand and for competitors. */
export const ENTITY_MEASURES: readonly Measure[] = MEASURES.slice(0, 4);

/** Returns a measure by its name. */
export function measureOf(name: string): Measure {
  const found = MEASURES.find((measure) => measure.name === name);
  if (found === undefined) throw new Error(`unknown measure ${name}`);
  return found;
}
