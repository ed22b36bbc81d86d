import { z } from 'zod';
import { amount, day, number, type ValueOf } from '../../contract/operation/json-parts.ts';
import { DIMENSIONS } from './causes.ts';
import { type ExplainedMetric, explainedMetrics } from './explained-metrics.ts';

const value = z.number().nullable().describe('null without data');

const comparedValues = {
  before: value,
  after: value,
  nBefore: number.describe('responses with data on the metric in the earlier period'),
  nAfter: number,
};

const shownTest = {
  change: value,
  lower: value.describe('lower bound of the change; null if there are too few responses'),
  upper: value,
  level: amount.describe('confidence level of the bounds'),
  p: value.describe('two-sided; null if it cannot be tested'),
  adjustedP: value.describe('corrected for the number of tests'),
  verdict: z.enum(['significant', 'noise', 'not tested']),
};

const id = z.string().nullable();
const evidence = z.array(z.string()).describe('ids of at most 5 responses');
const prompts = z.object({ prompts: number, effect: z.number(), ...comparedValues });

/** The metrics that can be explained, as a choice. */
export const explainedMetric = z.enum(Object.keys(explainedMetrics) as ExplainedMetric[]);

const cause = z.object({
  rank: number,
  kind: z.enum(['behaviour', 'broad', 'mix', 'added', 'removed']),
  dimension: z.enum([...DIMENSIONS, 'all']),
  id,
  name: z.string(),
  ...comparedValues,
  effect: z.number().describe('effect on the total; causes of different dimensions overlap'),
  part: value.describe('effect divided by the change of the total'),
  p: z.number(),
  sentence: z.string(),
  evidence,
});

const dimension = z.object({
  dimension: z.enum(DIMENSIONS),
  mix: z.number(),
  rate: z.number(),
  members: z
    .array(
      z.object({
        id,
        name: z.string(),
        presence: z.enum(['both', 'new', 'gone']),
        ...comparedValues,
        weightBefore: amount,
        weightAfter: amount,
        mix: z.number(),
        rate: z.number(),
        effect: z.number(),
        ...shownTest,
      }),
    )
    .describe('the effects add up to the change of the total'),
});

const association = z.object({
  kind: z.enum(['competitor', 'domain']),
  id: z.string(),
  name: z.string(),
  occurrence: z.object({ ...comparedValues, ...shownTest }).describe('share of the responses with it'),
  with: z.object(comparedValues).describe('the metric in responses with it'),
  without: z.object(comparedValues),
  occurrenceEffect: z.number(),
  withEffect: z.number(),
  withoutEffect: z.number(),
  sentence: z.string(),
  evidence,
});

/** The explanation of a change. */
export const explainedChange = z.object({
  brandId: z.string(),
  metric: explainedMetric,
  isHigherBetter: z.boolean(),
  from: day,
  to: day,
  beforeFrom: day,
  beforeTo: day,
  summary: z.string(),
  total: z.object({ ...comparedValues, ...shownTest }),
  causes: z.array(cause).describe('empty if the change is noise'),
  promptSet: z
    .object({ panel: prompts.extend(shownTest), added: prompts, removed: prompts })
    .nullable()
    .describe(
      'the change on the prompts of both periods, and the effects of new and removed prompts, which add up to the change; null if no prompt has data in both periods',
    ),
  dimensions: z.array(dimension).describe('empty if a period has no data'),
  associations: z
    .array(association)
    .describe('significant ones; not causes: a competitor may be mentioned because the brand is not'),
  associationsWithinChance: number.describe(
    'competitors and domains whose share of the responses changed within chance',
  ),
});

/** The explanation of a change, of which `promptSet` is null if no prompt has data in both periods. */
export type ExplainedChange = ValueOf<typeof explainedChange>;
