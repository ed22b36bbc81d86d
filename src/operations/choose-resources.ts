import { chooseName } from '../base/choose-name.ts';
import type { Catalogue } from '../contract/catalogue.ts';

/**
 * Returns the names of the resources that a user selected by name or the beginning of it; null if none was selected.
 *
 * @throws `usage` for an unknown or ambiguous resource.
 */
export function chooseResources(catalogue: Catalogue, wanted: readonly string[] | null): string[] | null {
  if (wanted === null) return null;
  const names = catalogue.resources.map(({ name }) => name);
  return [...new Set(wanted.map((given) => chooseName('resource', given, names)))];
}
