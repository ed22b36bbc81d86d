import { z } from 'zod';
import { suggestion } from '../../base/choose-name.ts';
import { CONFIG_FILE } from '../../base/config/config-file.ts';
import { SightlineError } from '../../base/errors.ts';
import { pointChoices } from './choices.ts';
import { type Conventions, LIST_ORDERS, type Orders, roundingModes } from './conventions.ts';
import { keysOf, orderCandidates } from './points/order-points.ts';

/** Maximum decimal places; a double has about 15 significant digits. */
const DECIMALS_MAX = 15;

const rounding = z.strictObject({
  decimals: z.int().min(0).max(DECIMALS_MAX).nullable(),
  mode: z.enum(roundingModes),
});
const shareForm = rounding.extend({ whole: z.literal([1, 100]) });
const group = z.strictObject({ groupId: z.string(), name: z.string() });
const listOrder = z.array(z.string().regex(/^-?(lower\(\w+\)|\w+)$/)).min(1);
const brandedGroups = z.strictObject({ true: group, false: group });

const choiceSchemas = Object.fromEntries(
  Object.entries(pointChoices).map(([name, values]) => [name, z.enum(values)]),
) as unknown as { readonly [Name in keyof typeof pointChoices]: z.ZodType<Conventions[Name]> };

const orderSchemas = Object.fromEntries(
  Object.keys(orderCandidates).map((name) => {
    const keys = keysOf(name as keyof Orders).flatMap((key) => [key, `-${key}`]);
    return [name, z.array(z.enum(keys)).min(1)];
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
  ungrouped: z.strictObject({ groupId: z.string().nullable(), name: z.string().nullable() }).nullable(),
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
    labels: z.record(z.string(), z.number().nullable()),
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

const LIST_ORDER_FORM = 'a list of fields of the items, each with or without a leading -, or as lower(field)';

/** Descriptions of allowed values, for error messages. */
const allowed: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.entries(pointChoices).map(([name, values]) => [name, values.join(', ')])),
  ...Object.fromEntries(
    Object.keys(orderCandidates).map((name) => [
      name,
      `a list of ${keysOf(name as keyof Orders).join(', ')}, each with or without a leading -`,
    ]),
  ),
  whole: '1 or 100',
  decimals: `a whole number from 0 to ${DECIMALS_MAX}, or null for no rounding`,
  mode: roundingModes.join(', '),
  as: 'difference or relative',
  'visibilityChange.of': 'exact or rounded',
  'domainShare.of': 'citations, responses or citing',
  labels: 'an object that maps each label to a number, or to null to exclude it',
  positionOver: 'placed or mentions',
  emptyShare: '0 or null',
  emptyMean: '0 or null',
  emptyChange: '0, null or visibility',
  emptyDays: 'absent, zero or engines',
  combinedEngine: 'a string or null',
  competitorType: 'a string',
  topCompetitors: 'a whole number, 0 or more',
  ...Object.fromEntries(Object.values(LIST_ORDERS).map((name) => [name, LIST_ORDER_FORM])),
  emptyVoice: '0, null or share',
  emptySite: '0, null or share',
  emptySentiment: '0, null or mean',
  ungrouped: 'an object with groupId and name, or null for no such row',
  brandedGroups: 'an object with true and false, each with groupId and name',
  true: 'an object with groupId and name',
  false: 'an object with groupId and name',
  groupId: 'a string',
  name: 'a string',
};

/**
 * Validates the `conventions` setting.
 * @throws `config_invalid` with the name of the setting, the value and the allowed values.
 */
export function toOverrides(given: unknown): ConventionOverrides {
  const parsed = overridesSchema.safeParse(given);
  if (parsed.success) return parsed.data;
  throw new SightlineError(
    'config_invalid',
    `${CONFIG_FILE}: ${describe(parsed.error.issues[0] as z.core.$ZodIssue, given)}`,
  );
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

function describe(issue: z.core.$ZodIssue, given: unknown): string {
  const path = issue.path.map(String);
  const where = ['conventions', ...path].join('.');
  const value = path.reduce<unknown>((at, step) => (isObject(at) ? at[step] : undefined), given);
  if (issue.code === 'unrecognized_keys') {
    const former = issue.keys.find((key) => removed.includes(key));
    if (former !== undefined && path.length === 0)
      return `conventions.${former} is not a setting any more; remove it: invalid requests are answered with 400 invalid_parameter`;
    const names = issue.keys.map((key) => JSON.stringify(key)).join(', ');
    return `${where} has an unknown setting ${names}; allowed: ${fieldsAt(path).join(', ')}${suggestion(issue.keys[0] ?? '', fieldsAt(path))}`;
  }
  const name = path.at(-1) ?? '';
  const inWords =
    allowed[path.join('.')] ??
    (path[0] === 'labels' ? 'a number, or null to exclude the label' : allowed[name]) ??
    `an object with ${fieldsAt(path).join(', ')}`;
  return `${where} ${value === undefined ? 'is not set' : `is ${JSON.stringify(value)}`}; allowed: ${inWords}`;
}

function fieldsAt(path: readonly string[]): string[] {
  const [name, inner] = path;
  if (name === undefined) return Object.keys(conventionSchemas);
  if (inner !== undefined || name === 'ungrouped') return ['groupId', 'name'];
  const schema: z.ZodType = conventionSchemas[name as keyof Conventions];
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
}

function withoutUndefined(value: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([, inner]) => inner !== undefined));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
