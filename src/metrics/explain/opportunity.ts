import { z } from 'zod';
import { number, type ValueOf } from '../../contract/operation/json-parts.ts';
import { STATE_MARKS } from './mark-kinds.ts';
import { OPPORTUNITY_TITLES, type OpportunityKind } from './opportunity-kinds.ts';

/** Kinds of opportunities. */
export const OPPORTUNITY_KINDS = Object.keys(OPPORTUNITY_TITLES) as OpportunityKind[];

/** A way to raise the visibility of a brand. */
export const opportunity = z.object({
  rank: number,
  kind: z.enum(OPPORTUNITY_KINDS),
  id: z.string().describe('domain, prompt, thread or page'),
  name: z.string(),
  n: number.describe('responses that it concerns; the rank follows from it'),
  sentence: z.string(),
  mark: z.enum(STATE_MARKS).nullable().describe('whether a reader marked it as done or hidden'),
  evidence: z.array(z.string()).describe('ids of at most 5 responses, newest first'),
});

/** A way to raise the visibility of a brand. */
export type Opportunity = ValueOf<typeof opportunity>;
