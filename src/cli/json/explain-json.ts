import { z } from 'zod';
import { amount, day, number, time } from './json-parts.ts';

const value = z.number().nullable().describe('null without data');

const compared = {
  before: value,
  after: value,
  nBefore: number.describe('responses with data on the metric in the earlier period'),
  nAfter: number,
};

const test = {
  change: value,
  lower: value.describe('lower bound of the change; null if there are too few responses'),
  upper: value,
  level: amount.describe('confidence level of the bounds'),
  p: value.describe('two-sided; null if it cannot be tested'),
  adjustedP: value.describe('corrected for the number of tests'),
  verdict: z.enum(['significant', 'noise', 'not tested']),
};

const id = z.string().nullable();
const evidence = z.array(z.string()).describe('IDs of at most 5 responses');
const prompts = z.object({ prompts: number, effect: z.number(), ...compared });
const freshness = {
  asOf: time.nullable().describe('when the data were read'),
  completeTo: day.nullable().describe('last complete day'),
  partial: z.boolean().describe('whether days of the periods are incomplete'),
};

/** `explain`. */
export const explanation = z.object({
  brandId: z.string(),
  metric: z.enum(['visibility', 'share_of_voice', 'position', 'sentiment', 'owned_citations']),
  isHigherBetter: z.boolean(),
  from: day,
  to: day,
  beforeFrom: day,
  beforeTo: day,
  summary: z.string(),
  total: z.object({ ...compared, ...test }),
  causes: z
    .array(
      z.object({
        rank: number,
        kind: z.enum(['behaviour', 'broad', 'mix', 'added', 'removed']),
        dimension: z.enum(['engine', 'topic', 'prompt', 'all']),
        id,
        name: z.string(),
        ...compared,
        effect: z.number().describe('effect on the total; causes of different dimensions overlap'),
        part: value.describe('effect divided by the change of the total'),
        p: z.number(),
        sentence: z.string(),
        evidence,
      }),
    )
    .describe('empty if the change is noise'),
  promptSet: z
    .object({ panel: prompts.extend(test), added: prompts, removed: prompts })
    .nullable()
    .describe(
      'the change on the prompts of both periods, and the effects of new and removed prompts; they add up to the change',
    ),
  dimensions: z.array(
    z.object({
      dimension: z.enum(['engine', 'topic', 'prompt']),
      mix: z.number(),
      rate: z.number(),
      members: z
        .array(
          z.object({
            id,
            name: z.string(),
            presence: z.enum(['both', 'new', 'gone']),
            ...compared,
            weightBefore: amount,
            weightAfter: amount,
            mix: z.number(),
            rate: z.number(),
            effect: z.number(),
            ...test,
          }),
        )
        .describe('the effects add up to the change of the total'),
    }),
  ),
  associations: z
    .array(
      z.object({
        kind: z.enum(['competitor', 'domain']),
        id: z.string(),
        name: z.string(),
        occurrence: z.object({ ...compared, ...test }).describe('share of the responses with it'),
        with: z.object(compared).describe('the metric in responses with it'),
        without: z.object(compared),
        occurrenceEffect: z.number(),
        withEffect: z.number(),
        withoutEffect: z.number(),
        sentence: z.string(),
        evidence,
      }),
    )
    .describe('significant ones; not causes: a competitor may be mentioned because the brand is not'),
  associationsWithinChance: number.describe(
    'competitors and domains whose share of the responses changed within chance',
  ),
  ...freshness,
});

/** `changes`. */
export const history = z.object({
  since: time,
  changes: z.array(
    z.object({
      at: time,
      kind: z.string(),
      brandId: id,
      brand: z.string().nullable().describe('name of the brand'),
      sentence: z.string(),
      ids: z.record(z.string(), z.string()),
    }),
  ),
  counts: z.record(z.string(), number).describe('all changes by kind; at most 200 of a kind are listed'),
});

/** `opportunities`. */
export const opportunities = z.object({
  brandId: z.string(),
  from: day,
  to: day,
  opportunities: z.array(
    z.object({
      rank: number,
      kind: z.enum(['source_gap', 'competitor_wins', 'forum_thread', 'page_cited_once']),
      id: z.string(),
      name: z.string(),
      n: number.describe('number of responses that show it'),
      sentence: z.string(),
      evidence,
    }),
  ),
  total: number.describe('all opportunities; at most --limit are listed'),
  ...freshness,
});
