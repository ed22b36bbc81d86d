import type { HeldDeletionRow } from '../warehouse/held-deletions.ts';
import { count } from './output.ts';

/** What to do about a held deletion. */
export const HELD_HINT =
  'If the rows are really gone, run `sightline sync --accept-deletions`; otherwise the next sync that lists them again settles it.';

/** A held deletion in words. */
export function heldText({ resource, brandId, table, before, lost }: HeldDeletionRow): string {
  const scope = brandId === null ? resource : `${resource} of brand ${brandId}`;
  return `upstream no longer lists ${count(lost)} of ${count(before)} stored rows of ${table} (${scope}); they stay`;
}
