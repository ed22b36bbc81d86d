import { z } from 'zod';
import { CONFIG_FILE } from '../../base/config/config-file.ts';
import { describeIssue } from '../../base/config/setting-schema.ts';
import { SightlineError } from '../../base/errors.ts';
import { pointChoices } from './choices.ts';
import { type Conventions, type Orders, roundingModes } from './conventions.ts';
import { keysOf, orderCandidates } from './points/order-points.ts';

/** Maximum decimal places; a double has about 15 significant digits. */
const DECIMALS_MAX = 15;

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
const brandedGroups = z.strictObject({ true: group, false: group });

const choiceSchemas = Object.fromEntries(
  Object.entries(pointChoices).map(([name, values]) => [name, z.enum(values)]),
) as unknown as { readonly [Name in keyof typeof pointChoices]: z.ZodType<Conventions[Name]> };

const orderSchemas = Object.fromEntries(
  Object.keys(orderCandidates).map((name) => {
    const keys = keysOf(name as keyof Orders);
    const schema = z.array(z.enum(keys.flatMap((key) => [key, `-${key}`]))).min(1);
    return [name, schema.describe(`a list of ${keys.join(', ')}, each with or without a leading -`)];
  }),
) as unknown as { readonly [Name in keyof Orders]: z.ZodType<Conventions[Name]> };

/** The schema of each convention. */
export const conventionSchemas = {
  visibility: shareForm,
  shareOfVoice: shareForm,
  visibilityChange: shareForm.extend({ as: z.enum(['difference', 'relative']), of: z.enum(['exact', 'rounded']) }),
  avgPosition: rounding,
  positionOver: z.enum(['placed', 'mentions']),
  sentiment: rounding,
  labels: z.record(z.string(), z.number()),
  domainShare: shareForm.extend({ of: z.enum(['citations', 'responses', 'citing']) }),
  shareOfSite: shareForm,
  emptyShare: z.literal([0, null]),
  emptyMean: z.literal([0, null]),
  emptyChange: z.literal([0, null, 'visibility']),
  emptyDays: z.enum(['absent', 'zero', 'engines']),
  combinedEngine: z.string().nullable(),
  competitorType: z.string(),
  topCompetitors: z.int().min(0),
  emptyVoice: z.literal([0, null, 'share']),
  emptySite: z.literal([0, null, 'share']),
  emptySentiment: z.literal([0, null, 'mean']),
  ungrouped: z
    .strictObject({ groupId: z.string().nullable(), name: z.string().nullable() })
    .nullable()
    .describe('an object with the members groupId and name, or null for no such row'),
  brandedGroups,
  responseOrder: listOrder,
  alertOrder: listOrder,
  threadOrder: listOrder,
  ...choiceSchemas,
  ...orderSchemas,
} satisfies { readonly [Name in keyof Conventions]: z.ZodType<Conventions[Name]> };

const overridesSchema = z
  .strictObject({
    ...conventionSchemas,
    visibility: shareForm.partial(),
    shareOfVoice: shareForm.partial(),
    visibilityChange: conventionSchemas.visibilityChange.partial(),
    avgPosition: rounding.partial(),
    sentiment: rounding.partial(),
    labels: z
      .record(z.string(), z.number().nullable().describe('a number, or null to exclude the label'))
      .describe('an object that maps each label to a number, or to null to exclude it'),
    domainShare: conventionSchemas.domainShare.partial(),
    shareOfSite: shareForm.partial(),
    brandedGroups: brandedGroups.partial(),
  })
  .partial();

/** The `conventions` setting: conventions, or parts of them, that override calibrated ones. */
export type ConventionOverrides = z.infer<typeof overridesSchema>;

/** Former settings about invalid requests. */
const removed: readonly string[] = [
  ...['overLimit', 'invalidLimit', 'overRange', 'reversedRange', 'futureRange', 'invalidDay', 'unknownParameter'],
  ...['invalidChoice', 'unknownEngine', 'engineCase', 'unknownPrompt', 'unknownGroup', 'unknownCompetitor'],
  ...['deletedIds', 'invalidId', 'idCase', 'invalidBrandId'],
];

/**
 * Validates the `conventions` setting.
 * @throws `config_invalid` with the name of the setting, the value and the allowed values.
 */
export function toOverrides(given: unknown): ConventionOverrides {
  const parsed = overridesSchema.safeParse(given);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues as [z.core.$ZodIssue];
  const former = issue.code === 'unrecognized_keys' ? issue.keys.find((key) => removed.includes(key)) : undefined;
  const problem =
    former === undefined
      ? describeIssue(overridesSchema, issue, given, 'conventions')
      : `conventions.${former} is not a setting any more; remove it: invalid requests are answered with 400 invalid_parameter`;
  throw new SightlineError('config_invalid', `${CONFIG_FILE}: ${problem}`);
}

/** Returns the calibrated conventions with the overrides applied. A label set to null is removed. */
export function mergeConventions(learned: Conventions, overrides: ConventionOverrides): Conventions {
  const merged: Record<string, unknown> = { ...learned };
  for (const [name, value] of Object.entries(overrides)) {
    const isPart = isObject(value) && isObject(merged[name]);
    merged[name] = isPart ? { ...(merged[name] as object), ...withoutUndefined(value) } : value;
  }
  const labels = Object.entries(merged['labels'] as Record<string, number | null>).filter(
    ([, weight]) => weight !== null,
  );
  return { ...(merged as unknown as Conventions), labels: Object.fromEntries(labels) as Record<string, number> };
}

function withoutUndefined(value: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([, inner]) => inner !== undefined));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
