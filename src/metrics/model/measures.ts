import { z } from 'zod';
import type { ValueOf } from '../../contract/operation/json-parts.ts';
import { describedDimension, dimensionName, dimensions } from './dimensions.ts';
import { responseSums } from './response-sums.ts';

/** Lengths of the periods of a series. */
export const GRAINS = ['day', 'week', 'month'] as const;
/** One of GRAINS. */
export type Grain = (typeof GRAINS)[number];

const significance = z.object({ about: z.string(), source: z.string() });

/** A measure as programs read it. */
export const describedMeasure = z.object({
  name: z.string(),
  label: z.string(),
  about: z.string(),
  formula: z.string(),
  numerator: z.string(),
  denominator: z.string().nullable().describe('null for a count'),
  unit: z.enum(['count', 'ratio', 'position', 'worth', 'lean', 'currency']),
  direction: z.enum(['higher', 'lower']).nullable().describe('better direction; null if there is none'),
  sampleUnit: z.enum(['response', 'mention', 'day']),
  kind: z
    .enum(['count', 'share', 'ratio'])
    .describe(
      'count: a total, without interval and test; share: sample units with a property, divided by all; ratio: the sum of a value, divided by the sum of a size, over sample units',
    ),
  dimensions: z.array(dimensionName).describe('dimensions by which the measure can be grouped'),
  grains: z.array(z.enum(GRAINS)),
  requires: z.array(dimensionName).optional().describe('the measure is only meaningful by one of these dimensions'),
  test: significance.nullable().describe('interval and test of a change; null for a count'),
});

type DescribedMeasure = ValueOf<typeof describedMeasure>;
type MeasureKind = DescribedMeasure['kind'];

/** The measures and dimensions, as programs read them. */
export const describedModel = z.object({
  measures: z.array(describedMeasure),
  dimensions: z.array(describedDimension),
  grains: z.array(z.enum(GRAINS)),
});

/** A declared measure. */
export interface Measure extends Omit<DescribedMeasure, 'test'> {
  /** Whether the filters on responses apply: engine, topic, tag, branded, prompt and competitor. */
  readonly isFiltered: boolean;
  readonly family: FactFamily;
  readonly sums: MeasureSums;
}

/** Facts that are read completely or not at all by days. */
export type FactFamily = 'responses' | 'traffic';

/** The facts that most queries read. */
export const DEFAULT_FAMILY: FactFamily = 'responses';

/** Name of requests for measures, and of the parameter that lists them. */
export const METRICS = 'metrics';

/** The resources of the facts. */
export const FACT_RESOURCES: Readonly<Record<FactFamily, string>> = { responses: 'responses', traffic: 'traffic' };

/** The names of the facts for people. */
export const FACT_NOUNS: Readonly<Record<FactFamily, string>> = { responses: 'responses', traffic: 'visits' };

/** Statements of the first day with stored facts of each brand. */
export const FIRST_DAYS: Readonly<Record<FactFamily, string>> = {
  responses: `SELECT CAST(brand_id AS VARCHAR), strftime(min(make_timestamp(epoch_us(created_at))), '%Y-%m-%d')
    FROM main.responses WHERE _deleted_at IS NULL GROUP BY brand_id`,
  traffic: `SELECT CAST(brand_id AS VARCHAR), strftime(min(date), '%Y-%m-%d')
    FROM main.traffic_daily WHERE _deleted_at IS NULL GROUP BY brand_id`,
};

/**
 * The summands of a measure, as SQL over the rows of the facts it reads. `y` is the value of a sample unit and null if the row is not
 * one; `x` is its size, 1 by default.
 */
export interface MeasureSums {
  /** Over responses. */
  readonly response?: { readonly y: string; readonly x?: string };
  /** Over mentions, by entity. The sample units are the mentions, all responses, or the responses that mention an entity. */
  readonly entity?: { readonly y: string; readonly units: 'mention' | 'response' | 'voiced' };
  /** Over pairs of a response and a domain or owner that it cites `cited` times. */
  readonly domain?: { readonly y: string; readonly units: 'pair' | 'citing' };
  /** Over days and sources of traffic. */
  readonly traffic?: { readonly y: string };
}

/** The tests, by kind of measure; counts have none. */
export const tests: Readonly<Record<Exclude<MeasureKind, 'count'>, ValueOf<typeof significance>>> = {
  share: {
    about:
      "Interval: Wilson's score. Interval of the change: Newcombe's hybrid score. p value: mid-p of Fisher's exact test up to 1,000 responses in both periods, otherwise the score test with a pooled share.",
    source:
      'Wilson, E. B. (1927), JASA 22:209-212; Newcombe, R. G. (1998), Statistics in Medicine 17:873-890; Lancaster, H. O. (1961), JASA 56:223-234.',
  },
  ratio: {
    about:
      "Interval: ratio estimate with at least 30 sample units; Wilson's score for a ratio from 0 to 1 if all units have the same ratio, such as 0 of n. Interval of the change: MOVER of the two intervals. p value: normal test of the difference.",
    source:
      'Cochran, W. G. (1977), Sampling techniques, 3rd edition, section 6.4; Korn, E. L. and Graubard, B. I. (1998), Survey Methodology 24:193-201; Zou, G. Y. and Donner, A. (2008), Statistics in Medicine 27:1693-1702.',
  },
};

const ofPrompt = ['topic', 'tag', 'funnel_stage', 'branded', 'prompt'] as const;
const ofResponse = ['brand', 'engine', ...ofPrompt] as const;
const ofMention = [...ofResponse, 'entity'] as const;
const ofCitation = [...ofResponse, 'domain', 'owner'] as const;

/** Columns of `answers`, or of the mentions of an entity. */
const mention = responseSums.mention('mentioned');
const firstMention = `coalesce(CAST(${responseSums.is_first('position')} AS INTEGER), 0)`;

const count = { denominator: null, unit: 'count', kind: 'count', direction: 'higher' } as const;
const onResponses = { sampleUnit: 'response', grains: GRAINS, isFiltered: true, family: 'responses' } as const;
const onMentions = { ...onResponses, sampleUnit: 'mention', dimensions: ofMention } as const;
const onTraffic = {
  sampleUnit: 'day',
  grains: GRAINS,
  isFiltered: false,
  family: 'traffic',
  dimensions: ['brand', 'source'],
} as const;

/** The measures, in the order of lists. */
export const measures: readonly Measure[] = [
  {
    ...count,
    ...onResponses,
    name: 'responses',
    label: 'Responses',
    about: 'Responses of AI engines that are not deleted.',
    formula: 'count of responses',
    numerator: 'responses',
    direction: null,
    dimensions: ofResponse,
    sums: { response: { y: '1' } },
  },
  {
    ...count,
    ...onResponses,
    name: 'mentions',
    label: 'Mentions',
    about: 'Responses that mention the brand, or the entity if rows are grouped by entity.',
    formula: 'count of responses that mention the entity',
    numerator: 'responses that mention the entity',
    dimensions: ofMention,
    sums: { response: { y: mention }, entity: { y: '1', units: 'response' } },
  },
  {
    ...onResponses,
    name: 'visibility',
    label: 'Visibility',
    about: 'Share of responses that mention the brand, or the entity.',
    formula: 'mentions / responses',
    numerator: 'responses that mention the entity',
    denominator: 'responses',
    unit: 'ratio',
    direction: 'higher',
    kind: 'share',
    dimensions: ofMention,
    sums: { response: { y: mention }, entity: { y: '1', units: 'response' } },
  },
  {
    ...onResponses,
    name: 'share_of_voice',
    label: 'Share of voice',
    about:
      'Mentions of the brand, or the entity, as a share of the mentions of the brand and all currently tracked competitors.',
    formula: 'mentions of the entity / mentions of the brand and its tracked competitors',
    numerator: 'mentions of the entity',
    denominator: 'mentions of the brand and all currently tracked competitors',
    unit: 'ratio',
    direction: 'higher',
    kind: 'ratio',
    dimensions: ofMention,
    sums: {
      response: { y: `CASE WHEN voices > 0 THEN ${mention} END`, x: 'nullif(voices, 0)' },
      entity: { y: '1', units: 'voiced' },
    },
  },
  {
    ...onMentions,
    name: 'position',
    label: 'Position',
    about: 'Mean position of the brand, or the entity, among the mentioned ones. 1 is first.',
    formula: 'sum of positions / mentions with a position',
    numerator: 'sum of positions',
    denominator: 'mentions with a position',
    unit: 'position',
    direction: 'lower',
    kind: 'ratio',
    sums: { response: { y: 'position' }, entity: { y: 'position', units: 'mention' } },
  },
  {
    ...onMentions,
    name: 'sentiment',
    label: 'Sentiment',
    about: 'Mean worth of the sentiment labels, on the scale of the API.',
    formula: 'sum of the worths of the labels / mentions with a label of known worth',
    numerator: 'sum of the worths of the labels',
    denominator: 'mentions with a label of known worth',
    unit: 'worth',
    direction: 'higher',
    kind: 'ratio',
    sums: { response: { y: 'worth' }, entity: { y: 'worth', units: 'mention' } },
  },
  {
    ...onMentions,
    name: 'net_sentiment',
    label: 'Net sentiment',
    about: 'Positive less negative mentions, from -1 to 1.',
    formula: '(positive mentions - negative mentions) / mentions with a label of known worth',
    numerator: 'positive less negative mentions',
    denominator: 'mentions with a label of known worth',
    unit: 'lean',
    direction: 'higher',
    kind: 'ratio',
    sums: { response: { y: 'lean' }, entity: { y: 'lean', units: 'mention' } },
  },
  {
    ...count,
    ...onResponses,
    name: 'first_mentions',
    label: 'First mentions',
    about: 'Mentions in first position.',
    formula: 'count of mentions at position 1, or at the lowest position that the API reports if that is lower',
    numerator: 'mentions in first position',
    dimensions: ofMention,
    sums: {
      response: { y: firstMention },
      entity: { y: firstMention, units: 'response' },
    },
  },
  {
    ...count,
    ...onResponses,
    name: 'citations',
    label: 'Citations',
    about: 'Pages that responses cite. A page cited twice in one response is two citations.',
    formula: 'count of citations',
    numerator: 'citations',
    direction: null,
    dimensions: ofCitation,
    sums: { response: { y: 'citations' }, domain: { y: 'cited', units: 'pair' } },
  },
  {
    ...onResponses,
    name: 'owned_citations',
    label: 'Own citations',
    about: "Share of citations of the brand's own pages. Null for a brand without a known site.",
    formula: 'citations of domains that the brand owns (mart.dim_domain) / citations that name a domain',
    numerator: "citations of the brand's pages",
    denominator: 'citations that name a domain',
    unit: 'ratio',
    direction: 'higher',
    kind: 'ratio',
    dimensions: ofResponse,
    sums: {
      response: {
        y: 'CASE WHEN has_sites AND named_citations > 0 THEN own_citations END',
        x: 'CASE WHEN has_sites THEN nullif(named_citations, 0) END',
      },
    },
  },
  {
    ...onResponses,
    name: 'citation_share',
    label: 'Share of citations',
    about: 'Citations of a domain, or of the domains of an owner, as a share of all citations that name a domain.',
    formula: 'citations of the domain / citations that name a domain',
    numerator: 'citations of the domain',
    denominator: 'citations that name a domain',
    unit: 'ratio',
    direction: null,
    kind: 'ratio',
    dimensions: ofCitation,
    requires: ['domain', 'owner'],
    sums: { domain: { y: 'cited', units: 'citing' } },
  },
  {
    ...count,
    ...onResponses,
    name: 'citing_responses',
    label: 'Citing responses',
    about: 'Responses that cite a page, or a page of the domain or owner.',
    formula: 'count of responses with at least one citation of the domain',
    numerator: 'responses that cite the domain',
    direction: null,
    dimensions: ofCitation,
    sums: { response: { y: 'CAST(citations > 0 AS INTEGER)' }, domain: { y: '1', units: 'pair' } },
  },
  {
    ...count,
    ...onTraffic,
    name: 'ai_sessions',
    label: 'AI sessions',
    about: "Sessions that AI assistants referred, by days of the analytics property's time zone.",
    formula: 'sum of sessions',
    numerator: 'sessions',
    sums: { traffic: { y: 'sessions' } },
  },
  {
    ...count,
    ...onTraffic,
    name: 'key_events',
    label: 'Key events',
    about: 'Key events in sessions that AI assistants referred.',
    formula: 'sum of key events',
    numerator: 'key events',
    sums: { traffic: { y: 'key_events' } },
  },
  {
    ...count,
    ...onTraffic,
    name: 'revenue',
    label: 'Revenue',
    about:
      "Revenue of sessions that AI assistants referred, in the currency of the brand's analytics property. Amounts in several currencies must not be added.",
    formula: 'sum of revenue',
    numerator: 'revenue',
    unit: 'currency',
    sums: { traffic: { y: 'revenue' } },
  },
];

/** Returns the measures and dimensions, as programs read them. */
export function describeModel(): ValueOf<typeof describedModel> {
  return {
    measures: measures.map(({ sums: _, isFiltered: __, family: ___, ...measure }) => ({
      ...measure,
      test: measure.kind === 'count' ? null : tests[measure.kind],
    })),
    dimensions: dimensions.map(({ name, label, about, columns }) => ({ name, label, about, columns })),
    grains: GRAINS,
  };
}

/** Returns whether a measure counts visits of the brand's website, and not responses. */
export function isOfTraffic({ family }: Measure): boolean {
  return family === 'traffic';
}
