import { ROWS_LEAST } from '../candidates.ts';
import { candidatesOf, conventionSchemas, type Conventions } from '../conventions.ts';
import { roundingsOf, shareFormsOf } from '../forms.ts';
import { findWorths } from '../label-worths.ts';
import { numbers } from './facts.ts';
import { type CalibrationPoint, type Candidate, factsIn, type PointContext, pointOf } from './point.ts';

const NUMBERED = ['metrics', 'metrics_daily', 'metrics_prompts', 'metrics_groups'];
const WITH_VOICE = ['metrics', 'metrics_daily', 'metrics_groups'];

/** A point about how the numbers of a field are computed and written. */
interface Form extends Pick<CalibrationPoint, 'names' | 'resources' | 'inferIn' | 'isOpen' | 'least' | 'settles'> {
  readonly field: string;
  /** Returns the candidates besides the defaults, from the numbers of upstream. */
  formsOf(reported: readonly number[], context: PointContext): readonly Candidate[];
}

// The first convention rounds the numbers.
function formPoint({ names, resources, field, formsOf, ...more }: Form): CalibrationPoint {
  const [rounds] = names as readonly [keyof Conventions];
  const point: CalibrationPoint = pointOf(names, resources, numbers(field), {
    least: ROWS_LEAST,
    ...more,
    rounds,
    candidatesIn: async (context) => formsOf(factsIn(point, context.answers) as number[], context),
  });
  return point;
}

const { as: changeAs, of: changeOf } = conventionSchemas.visibilityChange.shape;
const CHANGES = changeAs.options.flatMap((as) => changeOf.options.map((of) => ({ as, of })));

const sentiment = formPoint({
  names: ['sentiment', 'labels'],
  resources: NUMBERED,
  field: 'sentiment',
  formsOf: (reported, { conventions: { labels } }) =>
    roundingsOf(reported).map((rounding) => ({ labels, sentiment: rounding })),
  inferIn: async (context) => {
    const roundings = roundingsOf(factsIn(sentiment, context.answers) as number[]);
    const worths = await findWorths(sentiment, context);
    return worths.flatMap((labels) => roundings.map((rounding) => ({ labels, sentiment: rounding })));
  },
  // Roundings of halves differ in negative numbers only. The first of several maps of worths that explain all rows is used.
  settles: {
    sentiment: ({ labels, sentiment: { mode } }) =>
      Object.values(labels).some((worth) => worth < 0) && mode === 'half-up',
    labels: () => null,
  },
  isOpen: true,
});

/** Points about how numbers are computed and written. */
export const formPoints: readonly CalibrationPoint[] = [
  formPoint({
    names: ['visibility'],
    resources: NUMBERED,
    field: 'visibility',
    formsOf: (reported) => shareFormsOf(reported).map((visibility) => ({ visibility })),
    settles: { visibility: ({ visibility }) => visibility.whole },
  }),
  // Mentions of deleted competitors may be part of the whole.
  formPoint({
    names: ['shareOfVoice', 'deletedCompetitors'],
    resources: WITH_VOICE,
    field: 'shareOfVoice',
    formsOf: (reported) =>
      candidatesOf('deletedCompetitors').flatMap((deletedCompetitors) =>
        shareFormsOf(reported).map((shareOfVoice) => ({ shareOfVoice, deletedCompetitors })),
      ),
    settles: { shareOfVoice: ({ shareOfVoice }) => shareOfVoice.whole },
  }),
  formPoint({
    names: ['avgPosition'],
    resources: NUMBERED,
    field: 'avgPosition',
    formsOf: (reported) => roundingsOf(reported).map((avgPosition) => ({ avgPosition })),
    settles: { avgPosition: () => null },
  }),
  sentiment,
  formPoint({
    names: ['visibilityChange', 'changePeriod'],
    resources: ['metrics_prompts', 'metrics_groups'],
    field: 'visibilityChange',
    formsOf: (reported) =>
      candidatesOf('changePeriod').flatMap((changePeriod) =>
        CHANGES.flatMap((change) =>
          shareFormsOf(reported).map((form) => ({ visibilityChange: { ...form, ...change }, changePeriod })),
        ),
      ),
    settles: { visibilityChange: ({ visibilityChange: { whole, as } }) => [whole, as] },
  }),
  formPoint({
    names: ['domainShare'],
    resources: ['cited_domains'],
    field: 'share',
    formsOf: (reported) =>
      conventionSchemas.domainShare.shape.of.options.flatMap((of) =>
        shareFormsOf(reported).map((form) => ({ domainShare: { ...form, of } })),
      ),
    settles: { domainShare: ({ domainShare: { whole, of } }) => [whole, of] },
  }),
  formPoint({
    names: ['shareOfSite'],
    resources: ['traffic'],
    field: 'shareOfSite',
    formsOf: (reported) => shareFormsOf(reported).map((shareOfSite) => ({ shareOfSite })),
    settles: { shareOfSite: ({ shareOfSite }) => shareOfSite.whole },
    // A single number distinguishes percentages from fractions.
    least: 1,
  }),
];
