import { createRandom } from './random.ts';

/**
 * Every point that the specification leaves open, with the values that an implementer could plausibly choose. The first value of each
 * point is the most common one.
 */
export const OPTIONS = {
  // Scales, decimals and rounding of numbers. Decimals are those of the percentage, also if the scale is a fraction.
  visibilityScale: ['percent', 'fraction'],
  shareOfVoiceScale: ['percent', 'fraction'],
  domainShareScale: ['percent', 'fraction'],
  siteShareScale: ['percent', 'fraction'],
  visibilityDecimals: [1, 0, 2, 'all'],
  shareOfVoiceDecimals: [1, 0, 2, 'all'],
  positionDecimals: [1, 2, 'all'],
  sentimentDecimals: [1, 0, 2, 'all'],
  domainShareDecimals: [1, 2, 'all'],
  siteShareDecimals: [1, 2, 'all'],
  rounding: ['half-up', 'half-even', 'truncate', 'to-fixed', 'math-round'],

  // Definitions of numbers.
  sentimentWeights: ['0-50-100', 'minus-1-to-1', '0-to-1', '1-to-5', 'minus-100-to-100'],
  mixedSentiment: ['neutral', 'below-neutral', 'ignored'],
  domainShareOf: ['citations', 'responses'],
  deletedCompetitors: ['ignored', 'in-share', 'listed'],
  countedPrompts: ['all', 'current', 'active'],
  changeKind: ['difference', 'relative'],
  changePeriod: ['before', 'halves'],
  changeOf: ['rounded', 'exact'],
  changeWithoutPrevious: ['null', 'zero', 'from-zero'],

  // Numbers without responses or mentions.
  emptyVisibility: ['null', 'zero'],
  emptyShareOfVoice: ['null', 'zero'],
  emptyPosition: ['null', 'zero'],
  emptySentiment: ['null', 'zero'],
  emptySiteShare: ['null', 'zero'],

  // Rows that exist.
  metricsWithoutResponses: ['rows', 'none'],
  dailyDays: ['answered', 'every-day'],
  dailyCompetitors: ['all', 'mentioned'],
  promptRows: ['answered', 'active', 'current'],
  deletedPromptRows: ['omitted', 'listed'],
  topCompetitorsCount: [3, 5, 1],
  topCompetitorsBrand: ['without', 'with'],
  topCompetitorsZero: ['mentioned', 'all'],
  groupRows: ['answered', 'with-prompts', 'all'],
  groupPromptCount: ['answered', 'current', 'active', 'matching'],
  groupsUnderFilter: ['matching', 'only-filtered', 'whole-groups'],
  deletedPromptsInGroups: ['omitted', 'ungrouped'],
  ungrouped: ['omitted', 'none', 'null'],
  brandedGroups: ['slugs', 'booleans', 'titles'],
  stageNames: ['slugs', 'titles'],
  trafficDays: ['visited', 'every-day'],
  trafficTotals: ['of-source', 'of-all-sources'],
  disconnectedTotals: ['zeros', 'nulls'],
  disconnectedProperty: ['null', 'empty'],

  // Contents of rows.
  urlTitle: ['last', 'first', 'most-frequent', 'longest'],
  competitorEntity: ['competitor', 'rival', 'tracked_competitor'],
  combinedEngine: ['null', 'all', 'absent'],
  timestamps: ['milliseconds', 'seconds', 'offset', 'microseconds'],
  revenue: ['number', 'two-decimals-text', 'text'],
  missingValues: ['null', 'absent'],
  extraFields: ['none', 'items', 'envelope'],

  // Orders.
  responseTies: ['-id', 'id', 'prompt'],
  alertTies: ['-id', 'id'],
  forumNewest: ['createdAt', 'postedAt'],
  forumTies: ['-id', 'id'],
  articleTies: ['-id', 'id'],
  metricRowOrder: ['brand-then-list', 'brand-then-name', 'brand-then-visibility', 'visibility'],
  dayOrder: ['oldest-first', 'newest-first'],
  dailyEngineOrder: ['name', 'list'],
  promptRowTies: ['prompt', 'id', 'responses', 'list'],
  topCompetitorTies: ['name', 'id', 'list'],
  groupOrder: ['list', 'name', 'responses', 'visibility'],
  domainTies: ['domain', 'responses', 'first-cited'],
  urlTies: ['url', 'title', 'first-cited'],
  trafficDayOrder: ['oldest-first', 'newest-first'],
  trafficSourceOrder: ['list', 'sessions'],
  engineListOrder: ['list', 'name'],
  competitorListOrder: ['created', 'name'],
  promptListOrder: ['created', '-created', 'text'],
  groupListOrder: ['created', 'name'],
  planOrder: ['lost', 'prompt'],
  textOrder: ['bytes', 'ignoring-case'],

  // Envelopes and shapes.
  enginesEnvelope: ['data', 'bare', 'named'],
  brandsEnvelope: ['data', 'bare', 'named'],
  competitorsEnvelope: ['data', 'bare', 'named'],
  creditsShape: ['credits', 'balance', 'remaining'],
  engineItems: ['objects', 'slugs', 'named'],
  competitorItems: ['short', 'long'],
  rowModeName: ['split', 'rows', 'breakdown', 'by', 'aggregate'],
  sourcesEcho: ['none', 'range'],

  // Rejections.
  errorCode: ['invalid_request', 'bad_request', 'validation_error'],
  unknownBrandCode: ['not_found', 'brand_not_found'],
} as const;

export type ChoiceName = keyof typeof OPTIONS;
export type Choices = { readonly [Name in ChoiceName]: (typeof OPTIONS)[Name][number] };

export const CHOICE_NAMES = Object.keys(OPTIONS) as ChoiceName[];

/** The first value of every point. */
export function defaultChoices(): Choices {
  return Object.fromEntries(CHOICE_NAMES.map((name) => [name, OPTIONS[name][0]])) as Choices;
}

/** A random value for a share of the points, and the first value for the others; the same for the same seed. */
export function randomChoices(seed: number, share = 1): Choices {
  const random = createRandom(seed);
  return Object.fromEntries(
    CHOICE_NAMES.map((name) => [name, random.chance(share) ? random.pick<unknown>(OPTIONS[name]) : OPTIONS[name][0]]),
  ) as Choices;
}

/** Number of combinations as an exponent of 2. */
export function combinationBits(): number {
  return CHOICE_NAMES.reduce((bits, name) => bits + Math.log2(OPTIONS[name].length), 0);
}

/** `a=x, b=y` of the choices that are not the first value. */
export function describeChoices(choices: Choices): string {
  const changed = CHOICE_NAMES.filter((name) => choices[name] !== OPTIONS[name][0]);
  return changed.map((name) => `${name}=${choices[name]}`).join(', ') || 'first values';
}
