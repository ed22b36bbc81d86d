import { z } from 'zod';
import type { ValueOf } from '../../contract/operation/json-parts.ts';
import { pointChoices } from './choices.ts';
import { keysOf, orderCandidates, type OrderName } from './order-candidates.ts';

/** Maximum decimal places; a double has about 15 significant digits. */
const DECIMALS_MAX = 15;

/**
 * The rounding modes that calibration distinguishes, most likely first. The first three round the value times a power of ten: `half-away`
 * rounds 2.5 to 3 and -2.5 to -3, `half-up` rounds -2.5 to -2. `decimal-half-away` treats 1.005 as exactly 1.005, like SQL decimals.
 * `binary-half-away` and `binary-half-even` use the exact value of the double, just below 1.005, like `toFixed`. `down` truncates.
 */
export const roundingModes = [
  'half-away',
  'half-even',
  'half-up',
  'decimal-half-away',
  'binary-half-away',
  'binary-half-even',
  'down',
] as const;

const rounding = z.strictObject({
  decimals: z
    .int()
    .min(0)
    .max(DECIMALS_MAX)
    .nullable()
    .describe(`a whole number from 0 to ${DECIMALS_MAX}, or null for no rounding`),
  mode: z.enum(roundingModes),
});
const shareForm = rounding.extend({ whole: z.literal([1, 100]) });
const group = z.strictObject({ groupId: z.string(), name: z.string() });
const listOrder = z
  .array(z.string().regex(/^-?(lower\(\w+\)|\w+)$/))
  .min(1)
  .describe('a list of fields of the items, each with or without a leading -, or as lower(field)');

/** The values of other conventions that have a few, the default first. */
const literals = {
  // The share when the whole is 0, the mean without mentions, and the change when the earlier range has no responses.
  emptyShare: [0, null],
  emptyMean: [null, 0],
  emptyChange: [null, 0, 'visibility'],
  // Without mentions or sessions; `share` for the value of `emptyShare`, `mean` for that of `emptyMean`.
  emptyVoice: ['share', 0, null],
  emptySite: ['share', 0, null],
  emptySentiment: ['mean', null, 0],
  // Rows without responses. `zero`: all days and engines have a row of zeros. `engines`: all engines of days with responses have one.
  emptyDays: ['absent', 'zero', 'engines'],
} as const;

const listed = { ...literals, ...pointChoices };
type Listed = { readonly [Name in keyof typeof listed]: (typeof listed)[Name][number] };

const listedSchemas = Object.fromEntries(
  Object.entries(listed).map(([name, values]) => [name, z.literal(values)]),
) as unknown as { readonly [Name in keyof Listed]: z.ZodType<Listed[Name]> };

const orderSchemas = Object.fromEntries(
  (Object.keys(orderCandidates) as OrderName[]).map((name) => {
    const keys = keysOf(name);
    const schema = z.array(z.enum(keys.flatMap((key) => [key, `-${key}`]))).min(1);
    return [name, schema.describe(`a list of ${keys.join(', ')}, each with or without a leading -`)];
  }),
) as unknown as { readonly [Name in OrderName]: z.ZodType<string[]> };

/** The schema of each convention. */
export const conventionSchemas = {
  visibility: shareForm,
  shareOfVoice: shareForm,
  // `as`: the difference of two shares, or that difference divided by the earlier share. `of`: whether the two shares are rounded before.
  visibilityChange: shareForm.extend({ as: z.enum(['difference', 'relative']), of: z.enum(['exact', 'rounded']) }),
  avgPosition: rounding,
  sentiment: rounding,
  // The worth of each label in the mean sentiment. Mentions without a label have the empty label; labels that are not listed are excluded.
  labels: z.record(z.string(), z.number()),
  // `citing`: a share of the responses that cite anything.
  domainShare: shareForm.extend({ of: z.enum(['citations', 'responses', 'citing']) }),
  shareOfSite: shareForm,
  // The `engine` of daily rows that combine all engines, and the `entityType` of competitors.
  combinedEngine: z.string().nullable(),
  competitorType: z.string(),
  topCompetitors: z.int().min(0),
  // The row of prompts without a topic, tag or stage.
  ungrouped: z
    .strictObject({ groupId: z.string().nullable(), name: z.string().nullable() })
    .nullable()
    .describe('an object with the members groupId and name, or null for no such row'),
  brandedGroups: z.strictObject({ true: group, false: group }),
  // Orders of paged lists. `src/contract/list-order.ts` describes their keys.
  responseOrder: listOrder,
  alertOrder: listOrder,
  threadOrder: listOrder,
  ...listedSchemas,
  ...orderSchemas,
};

/** Choices for how the API computes its numbers that the specification leaves open. */
export type Conventions = {
  readonly [Name in keyof typeof conventionSchemas]: ValueOf<(typeof conventionSchemas)[Name]>;
};

/** How upstream rounds a number. */
export type Rounding = ValueOf<typeof rounding>;

/** How a share is written: as a number from 0 to `whole`. */
export type ShareForm = ValueOf<typeof shareForm>;

/** Orders of paged lists, by resource; the pages that a sync reads decide them. */
export const LIST_ORDERS = {
  responses: 'responseOrder',
  alerts: 'alertOrder',
  forum_opportunities: 'threadOrder',
} as const;

const oneDecimal = { decimals: 1, mode: 'half-away' } as const;
const percent = { ...oneDecimal, whole: 100 } as const;

/** Conventions used until calibration finds others. */
export const defaultConventions: Conventions = {
  ...firstOf<Listed>(listed),
  ...firstOf<Readonly<Record<OrderName, string[]>>>(orderCandidates),
  visibility: percent,
  shareOfVoice: percent,
  visibilityChange: { ...percent, as: 'difference', of: 'exact' },
  avgPosition: oneDecimal,
  sentiment: oneDecimal,
  labels: { positive: 100, neutral: 50, negative: 0 },
  domainShare: { ...percent, of: 'citations' },
  shareOfSite: percent,
  combinedEngine: null,
  competitorType: 'competitor',
  topCompetitors: 3,
  responseOrder: ['-createdAt', '-id'],
  alertOrder: ['-detectedAt', '-id'],
  threadOrder: ['-createdAt', '-id'],
  ungrouped: null,
  brandedGroups: {
    true: { groupId: 'branded', name: 'branded' },
    false: { groupId: 'non-branded', name: 'non-branded' },
  },
};

/** Returns the order of a paged list; empty if its declaration decides it. */
export function listOrderOf(
  resource: string,
  conventions: Pick<Conventions, (typeof LIST_ORDERS)[keyof typeof LIST_ORDERS]>,
): readonly string[] {
  const name = Object.hasOwn(LIST_ORDERS, resource) ? LIST_ORDERS[resource as keyof typeof LIST_ORDERS] : null;
  return name === null ? [] : conventions[name];
}

/** Returns the values of a convention that calibration compares, the default first; the default alone if upstream's responses show others. */
export function candidatesOf<Name extends keyof Conventions>(name: Name): readonly Conventions[Name][] {
  const values: Partial<Record<string, readonly unknown[]>> = { ...listed, ...orderCandidates };
  return (values[name] ?? [defaultConventions[name]]) as readonly Conventions[Name][];
}

// Returns the first candidate of each convention.
function firstOf<Values extends object>(candidates: Readonly<Record<keyof Values, readonly unknown[]>>): Values {
  return Object.fromEntries(
    Object.entries<readonly unknown[]>(candidates).map(([name, [first]]) => [name, first]),
  ) as Values;
}
