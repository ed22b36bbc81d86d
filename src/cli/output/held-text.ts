import type { HeldDeletionRow } from '../../warehouse/ledger/held-deletions.ts';
import { count } from './output.ts';

/** Next step for a mass deletion that awaits confirmation. */
export const HELD_HINT =
  'If the rows were deleted upstream, run `sightline sync --accept-deletions`. Otherwise no action is needed once a sync lists them again.';

/** Describes a mass deletion that awaits confirmation. */
export function heldText({ resource, brandId, table, before, lost }: HeldDeletionRow): string {
  const scope = brandId === null ? resource : `${resource} of brand ${brandId}`;
  return `upstream no longer lists ${count(lost)} of ${count(before)} stored rows of ${table} (${scope}); the rows are kept`;
}
