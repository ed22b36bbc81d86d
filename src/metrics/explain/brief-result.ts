import { z } from 'zod';
import { day, freshness, number, type ValueOf } from '../../contract/operation/json-parts.ts';

/** The kinds of changes that are findings. */
export const BRIEFED_CHANGES = ['prompt_lost', 'prompt_won', 'alert'] as const;
/** The kinds of opportunities that are findings, the first ones first. */
export const BRIEFED_OPPORTUNITIES = ['competitor_wins', 'source_gap', 'forum_thread'] as const;

/** A finding of a brief. */
export const finding = z.object({
  kind: z.enum(['metric', 'engine', ...BRIEFED_CHANGES, ...BRIEFED_OPPORTUNITIES]),
  tone: z.enum(['good', 'bad', 'to do']),
  size: z.string().describe('the change, or the number of things, such as "−6.1 points", "3" or "50+"'),
  sentence: z.string(),
  detail: z.string().nullable().describe('what is behind it: responses, or the greatest one; null if nothing is'),
  metric: z.string().nullable().describe('the metric of a change of a metric or an engine'),
  engine: z.string().nullable(),
  page: z.string().describe('path of the data page that shows it'),
});

/** What happened to a brand in a period: a headline and the findings. */
export const brief = z.object({
  brandId: z.string(),
  brand: z.string().describe('its name'),
  from: day,
  to: day,
  beforeFrom: day,
  beforeTo: day,
  headline: z.string().describe('one or two sentences'),
  verdict: z
    .enum(['changed', 'unchanged', 'within chance', 'not compared'])
    .describe('of visibility; unchanged: the interval of its change lies within 3 points'),
  responses: number.describe('responses of the period'),
  findings: z.array(finding).describe('at most 4, the worst first, then the good ones, then what to do'),
  ...freshness,
});

/** What happened to a brand in a period. */
export type Brief = ValueOf<typeof brief>;
/** A finding of a brief. */
export type Finding = ValueOf<typeof finding>;
