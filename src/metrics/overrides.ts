import { z } from 'zod';
import { CONFIG_FILE } from '../base/config-file.ts';
import { SightlineError } from '../base/errors.ts';
import { type Conventions, roundingModes } from './conventions.ts';

/** Digits after the point beyond which a double has none to give. */
const DECIMALS_MAX = 15;

const rounding = z.strictObject({
  decimals: z.int().min(0).max(DECIMALS_MAX).nullable(),
  mode: z.enum(roundingModes),
});
const shareForm = rounding.extend({ whole: z.literal([1, 100]) });
const group = z.strictObject({ groupId: z.string(), name: z.string() });
const brandedGroups = z.strictObject({ true: group, false: group });

/** What each convention may be. */
export const conventionSchemas = {
  visibility: shareForm,
  shareOfVoice: shareForm,
  visibilityChange: shareForm.extend({ as: z.enum(['difference', 'relative']), of: z.enum(['exact', 'rounded']) }),
  avgPosition: rounding,
  sentiment: rounding,
  labels: z.record(z.string(), z.number()),
  domainShare: shareForm.extend({ of: z.enum(['citations', 'responses']) }),
  shareOfSite: shareForm,
  emptyShare: z.literal([0, null]),
  emptyMean: z.literal([0, null]),
  emptyChange: z.literal([0, null, 'visibility']),
  emptyDays: z.enum(['absent', 'zero']),
  combinedEngine: z.string().nullable(),
  competitorType: z.string(),
  topCompetitors: z.int().min(0),
  groupPrompts: z.enum(['answered', 'all']),
  ungrouped: z.strictObject({ groupId: z.string().nullable(), name: z.string().nullable() }).nullable(),
  brandedGroups,
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

/** What the configuration decides about the API's numbers: conventions, or parts of them, that hold whatever was learned. */
export type ConventionOverrides = z.infer<typeof overridesSchema>;

/** What a setting may be, in words. */
const allowed: Readonly<Record<string, string>> = {
  whole: '1 or 100',
  decimals: `a whole number from 0 to ${DECIMALS_MAX}, or null for no rounding`,
  mode: roundingModes.join(', '),
  as: 'difference or relative',
  'visibilityChange.of': 'exact or rounded',
  'domainShare.of': 'citations or responses',
  labels: 'an object with the number that each label is worth, or null for none',
  emptyShare: '0 or null',
  emptyMean: '0 or null',
  emptyChange: '0, null or visibility',
  emptyDays: 'absent or zero',
  combinedEngine: 'a text or null',
  competitorType: 'a text',
  topCompetitors: 'a whole number, 0 or more',
  groupPrompts: 'answered or all',
  ungrouped: 'an object with groupId and name, or null for no such group',
  brandedGroups: 'an object with true and false, each with groupId and name',
  true: 'an object with groupId and name',
  false: 'an object with groupId and name',
  groupId: 'a text',
  name: 'a text',
};

/** Checks the `conventions` of the configuration; throws `config_invalid` with the name, the value and what is allowed. */
export function toOverrides(given: unknown): ConventionOverrides {
  const parsed = overridesSchema.safeParse(given);
  if (parsed.success) return parsed.data;
  throw new SightlineError(
    'config_invalid',
    `${CONFIG_FILE}: ${describe(parsed.error.issues[0] as z.core.$ZodIssue, given)}`,
  );
}

/** What was learned, with the configuration's word above it; a label that the configuration gives null is worth nothing. */
export function mergeConventions(learned: Conventions, overrides: ConventionOverrides): Conventions {
  const merged: Record<string, unknown> = { ...learned };
  for (const [name, value] of Object.entries(overrides)) {
    const isPart = isObject(value) && isObject(merged[name]);
    merged[name] = isPart ? { ...(merged[name] as object), ...withoutUndefined(value) } : value;
  }
  const labels = Object.entries(merged['labels'] as Record<string, number | null>).filter(
    ([, worth]) => worth !== null,
  );
  return { ...(merged as unknown as Conventions), labels: Object.fromEntries(labels) as Record<string, number> };
}

function describe(issue: z.core.$ZodIssue, given: unknown): string {
  const path = issue.path.map(String);
  const where = ['conventions', ...path].join('.');
  const value = path.reduce<unknown>((at, step) => (isObject(at) ? at[step] : undefined), given);
  if (issue.code === 'unrecognized_keys') {
    const names = issue.keys.map((key) => JSON.stringify(key)).join(', ');
    return `${where} has an unknown setting ${names}; allowed: ${fieldsAt(path).join(', ')}`;
  }
  const name = path.at(-1) ?? '';
  const inWords =
    allowed[path.join('.')] ??
    (path[0] === 'labels' ? 'a number, or null for none' : allowed[name]) ??
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
