import { z } from 'zod';
import { number, time, type ValueOf } from '../../contract/operation/json-parts.ts';
import type { Conventions } from './conventions.ts';
import { abouts, describeConvention } from './descriptions.ts';
import type { StoredFinding } from './findings.ts';

/** A point that the specification leaves open. */
export const calibratedPoint = z.object({
  name: z.string(),
  about: z.string().describe('what the specification leaves open'),
  state: z
    .enum(['determined', 'configured', 'undetermined', 'contradicted'])
    .describe(
      "determined: by upstream's responses; undetermined: for lack of evidence; contradicted: upstream's responses agree with no candidate",
    ),
  value: z.unknown().describe('the value that is used'),
  text: z.string().describe('the value in words'),
  compared: number.describe("facts of upstream's responses that were compared"),
  agreed: number.describe('compared facts that the value explains'),
  confidence: z
    .number()
    .nullable()
    .describe('lower end of the 95 % Wilson interval of the share of separating facts that the value explains'),
  note: z.string(),
  candidates: z
    .array(z.object({ value: z.unknown(), text: z.string(), agreed: number }))
    .describe('with the number of facts that each explains, best first'),
  decidedAt: time.nullable(),
});

/** A point that the specification leaves open. */
export type CalibratedPoint = ValueOf<typeof calibratedPoint>;

/** Returns a point with the value that is used; `stored` is null if it was never calibrated. */
export function toPoint(
  name: keyof Conventions,
  used: Conventions,
  stored: StoredFinding | null,
  isConfigured: boolean,
): CalibratedPoint {
  return {
    name,
    about: abouts[name],
    state: isConfigured ? 'configured' : stateOf(stored),
    value: used[name],
    text: describeConvention(name, used[name]),
    compared: stored?.compared ?? 0,
    agreed: stored?.agreed ?? 0,
    confidence: isConfigured ? null : (stored?.confidence ?? null),
    note: stored?.note ?? 'not calibrated yet',
    candidates: (stored?.candidates ?? []).map(({ value, agreed }) => ({
      value,
      text: describeConvention(name, value),
      agreed,
    })),
    decidedAt: stored === null ? null : new Date(stored.decidedAt).toISOString(),
  };
}

function stateOf(stored: StoredFinding | null): CalibratedPoint['state'] {
  if (stored?.source === 'learned') return 'determined';
  return stored?.contradicted === true ? 'contradicted' : 'undetermined';
}
