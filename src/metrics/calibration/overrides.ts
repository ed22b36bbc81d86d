import { z } from 'zod';
import { CONFIG_FILE } from '../../base/config/config-file.ts';
import { describeIssue } from '../../base/config/setting-schema.ts';
import { SightlineError } from '../../base/errors.ts';
import { isRecord } from '../../base/json.ts';
import { type Conventions, conventionSchemas } from './conventions.ts';

const overridesSchema = z
  .strictObject({
    ...conventionSchemas,
    visibility: conventionSchemas.visibility.partial(),
    shareOfVoice: conventionSchemas.shareOfVoice.partial(),
    visibilityChange: conventionSchemas.visibilityChange.partial(),
    avgPosition: conventionSchemas.avgPosition.partial(),
    sentiment: conventionSchemas.sentiment.partial(),
    labels: z
      .record(z.string(), z.number().nullable().describe('a number, or null to exclude the label'))
      .describe('an object that maps each label to a number, or to null to exclude it'),
    domainShare: conventionSchemas.domainShare.partial(),
    shareOfSite: conventionSchemas.shareOfSite.partial(),
    brandedGroups: conventionSchemas.brandedGroups.partial(),
  })
  .partial();

/** The `conventions` setting: conventions, or parts of them, that override calibrated ones. */
export type ConventionOverrides = z.infer<typeof overridesSchema>;

/**
 * Validates the `conventions` setting.
 * @throws `config_invalid` with the name of the setting, the value and the allowed values.
 */
export function toOverrides(given: unknown): ConventionOverrides {
  const parsed = overridesSchema.safeParse(given);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues as [z.core.$ZodIssue];
  const problem = describeIssue(overridesSchema, issue, given, 'conventions');
  throw new SightlineError('config_invalid', `${CONFIG_FILE}: ${problem}`);
}

/** Returns the calibrated conventions with the overrides applied. A label set to null is removed. */
export function mergeConventions(learned: Conventions, overrides: ConventionOverrides): Conventions {
  const merged: Record<string, unknown> = { ...learned };
  for (const [name, value] of Object.entries(overrides)) {
    const isPart = isRecord(value) && isRecord(merged[name]);
    merged[name] = isPart ? { ...(merged[name] as object), ...value } : value;
  }
  const labels = Object.entries(merged['labels'] as Record<string, number | null>).filter(
    ([, weight]) => weight !== null,
  );
  return { ...(merged as unknown as Conventions), labels: Object.fromEntries(labels) as Record<string, number> };
}
