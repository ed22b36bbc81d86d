import { chooseNamed, type Named } from '../base/choose-name.ts';

const NEW_BRAND = 'A brand that was just created is known after `sightline sync --only brands`.';

/**
 * Returns the ids of the brands that a user selected by id, name or the beginning of either; null if none was selected.
 *
 * @throws `usage` for an unknown or ambiguous brand.
 */
export function chooseBrandIds(known: readonly Named[], wanted: readonly string[] | null): string[] | null {
  if (wanted === null) return null;
  return [...new Set(wanted.map((given) => chooseNamed('brand', given, known, NEW_BRAND).id))];
}
