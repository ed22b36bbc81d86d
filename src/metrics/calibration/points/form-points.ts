import { ROWS_LEAST } from '../candidates.ts';
import { pointChoices } from '../choices.ts';
import { conventionSchemas, type Conventions, defaultConventions, type ShareForm } from '../conventions.ts';
import { roundingsOf, shareFormsOf } from '../forms.ts';
import { findWorths } from '../label-worths.ts';
import { NUMBERED, numbersOf, totalsOf, WITH_VOICE } from './facts.ts';
import { type CalibrationPoint, factsIn, type PointContext } from './point.ts';

/** A point about how a number is written. */
interface Form extends Pick<CalibrationPoint, 'name' | 'about' | 'members' | 'resources' | 'isOpen' | 'least'> {
  readonly field: string;
  /** Default: the numbers of the rows. */
  readonly facts?: CalibrationPoint['facts'];
  /** Returns the candidates besides the default, from the numbers of upstream. */
  candidatesOf(numbers: readonly number[], context: PointContext): readonly unknown[] | Promise<readonly unknown[]>;
  settles?(candidate: never, conventions: Conventions): unknown;
}

function formPoint({ field, candidatesOf, ...form }: Form): CalibrationPoint {
  const { name, members } = form;
  const standard = Object.keys(members ?? {}).map((key) => [key, defaultConventions[key as keyof Conventions]]);
  const point: CalibrationPoint = {
    least: ROWS_LEAST,
    facts: (response, question) => numbersOf(response, question, field),
    ...form,
    candidates: [members === undefined ? defaultConventions[name] : Object.fromEntries(standard)],
    candidatesIn: async (context) => candidatesOf(factsIn(point, context.answers) as number[], context),
    rounds: name,
  };
  return point;
}

const wholeOf = ({ whole }: ShareForm): unknown => whole;

const visibility = formPoint({
  name: 'visibility',
  about: 'the scale and rounding of visibility',
  resources: NUMBERED,
  field: 'visibility',
  candidatesOf: shareFormsOf,
  settles: wholeOf,
});

// Mentions of deleted competitors may be part of the whole; `deletedCompetitors` has further evidence.
const shareOfVoice = formPoint({
  name: 'shareOfVoice',
  about: 'the scale and rounding of share of voice',
  members: {
    shareOfVoice: 'the scale and rounding of share of voice',
    deletedCompetitors: 'whether competitors that are no longer tracked count',
  },
  resources: WITH_VOICE,
  field: 'shareOfVoice',
  candidatesOf: (numbers) =>
    (['excluded', 'counted'] as const).flatMap((deletedCompetitors) =>
      shareFormsOf(numbers).map((form) => ({ shareOfVoice: form, deletedCompetitors })),
    ),
  settles: (candidate: Pick<Conventions, 'shareOfVoice'>) => candidate.shareOfVoice.whole,
});

const { as: changeAs, of: changeOf } = conventionSchemas.visibilityChange.shape;
const CHANGES = changeAs.options.flatMap((as) => changeOf.options.map((of) => ({ as, of })));

// `changePeriod` has further evidence.
const visibilityChange = formPoint({
  name: 'visibilityChange',
  about: 'how a change of visibility is computed and rounded',
  members: {
    visibilityChange: 'how a change of visibility is computed and rounded',
    changePeriod: 'the earlier range of a change',
  },
  resources: ['metrics_prompts', 'metrics_groups'],
  field: 'visibilityChange',
  candidatesOf: (numbers) =>
    pointChoices.changePeriod.flatMap((changePeriod) =>
      CHANGES.flatMap((change) =>
        shareFormsOf(numbers).map((form) => ({ visibilityChange: { ...form, ...change }, changePeriod })),
      ),
    ),
  settles: ({ visibilityChange: { whole, as } }: Pick<Conventions, 'visibilityChange'>) => [whole, as],
});

const avgPosition = formPoint({
  name: 'avgPosition',
  about: 'the rounding of the mean position',
  resources: NUMBERED,
  field: 'avgPosition',
  candidatesOf: roundingsOf,
  settles: () => null,
});

const positionOver: CalibrationPoint = {
  name: 'positionOver',
  about: 'whether mentions without a position count in the mean position',
  resources: NUMBERED,
  candidates: conventionSchemas.positionOver.options,
  isPartial: true,
  facts: (response, question) => numbersOf(response, question, 'avgPosition'),
};

const sentiment = formPoint({
  name: 'sentiment',
  about: 'the number that each sentiment label stands for, and the rounding of their mean',
  members: {
    labels: 'the number that each sentiment label stands for',
    sentiment: 'the rounding of the mean sentiment',
  },
  resources: NUMBERED,
  field: 'sentiment',
  candidatesOf: async (numbers, context) => {
    const worths = await findWorths(sentiment, context);
    const roundings = roundingsOf(numbers);
    return worths.flatMap((labels) => roundings.map((rounding) => ({ labels, sentiment: rounding })));
  },
  // Roundings of halves differ in negative numbers only. The first of several maps of worths that explain all rows is used.
  settles: ({ labels, sentiment: { mode } }: Pick<Conventions, 'labels' | 'sentiment'>) =>
    Object.values(labels).some((worth) => worth < 0) && mode === 'half-up',
  isOpen: true,
});

const domainShare = formPoint({
  name: 'domainShare',
  about: "the whole, the scale and the rounding of a domain's share",
  resources: ['cited_domains'],
  field: 'share',
  candidatesOf: (numbers) =>
    conventionSchemas.domainShare.shape.of.options.flatMap((of) =>
      shareFormsOf(numbers).map((form) => ({ ...form, of })),
    ),
  settles: ({ whole, of }: Conventions['domainShare']) => [whole, of],
});

const shareOfSite = formPoint({
  name: 'shareOfSite',
  about: 'the scale and rounding of the share of site sessions',
  resources: ['traffic'],
  field: 'shareOfSite',
  candidatesOf: shareFormsOf,
  settles: wholeOf,
  // A single number distinguishes percentages from fractions.
  least: 1,
  facts: (response) => {
    const { aiSessions, siteSessions, shareOfSite: share } = totalsOf(response);
    const isNumber = typeof share === 'number' && siteSessions !== 0;
    return {
      kind: 'values',
      values: new Map(isNumber ? [[`${String(aiSessions)} ${String(siteSessions)}`, share]] : []),
    };
  },
});

/** Points about how numbers are computed and written. */
export const formPoints: readonly CalibrationPoint[] = [
  visibility,
  shareOfVoice,
  avgPosition,
  positionOver,
  sentiment,
  visibilityChange,
  domainShare,
  shareOfSite,
];
