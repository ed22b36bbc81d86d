import { brandListOf, type Catalogue } from '../contract/catalogue.ts';
import { EARLIEST_DAY, plausibleSince } from '../contract/plausibility/item-times.ts';
import { type ListedBrand, readBrandList } from '../warehouse/brand-list.ts';
import type { RunRef } from '../warehouse/ledger/runs.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { PageDestinations } from './commit-page.ts';
import type { PlanContext } from './plan/plan-context.ts';
import type { SyncStats } from './sync-stats.ts';

interface BrandParts {
  readonly catalogue: Catalogue;
  readonly warehouse: Warehouse;
}

/** Reads the brands that upstream lists. A brand with an implausible creation date is kept, and its date is ignored. */
export async function readPlausibleBrands(
  parts: BrandParts & Pick<PageDestinations, 'drift'>,
  run: RunRef,
  stats: SyncStats,
  { now, today }: PlanContext,
): Promise<ListedBrand[]> {
  const { name, provides } = brandListOf(parts.catalogue);
  const listed = await readBrands(parts);
  const plausible = listed.map((brand) => ({ ...brand, since: plausibleSince(brand.since, today) }));
  const wrong = listed.filter(({ since }, index) => since !== plausible[index]?.since);
  const path = `data[].${provides?.since ?? ''}`;
  const allowed = `within ${EARLIEST_DAY} to the day after today`;
  for (const { id, since } of wrong) {
    const message = `${path} of ${id} is ${since}; allowed: ${allowed}. Its history is read as if the date were missing`;
    stats.warned({ slice: name, code: 'implausible_value', message });
  }
  const values = wrong.map(({ since }) => ({ path, allowed, value: since }));
  await parts.drift?.store(run.runId, name, values, now);
  return plausible;
}

/** Reads the brands that upstream currently lists. */
export function readBrands({ catalogue, warehouse }: BrandParts): Promise<ListedBrand[]> {
  return warehouse.database.exclusive(({ query }) => readBrandList(query, catalogue));
}

/** Returns the brands with these ids; all if `wanted` is null. */
export function chooseBrands(brands: readonly ListedBrand[], wanted: readonly string[] | null): readonly ListedBrand[] {
  if (wanted === null) return brands;
  return brands.filter((brand) => wanted.some((id) => id.toLowerCase() === brand.id));
}
/** Warns of selected brands that upstream no longer lists: they were selected by their stored rows. */
export function warnOfMissing(
  catalogue: Catalogue,
  listed: readonly ListedBrand[],
  wanted: readonly string[] | null,
  stats: SyncStats,
): void {
  const slice = brandListOf(catalogue).name;
  for (const id of wanted ?? []) {
    if (listed.some((brand) => brand.id === id.toLowerCase())) continue;
    stats.warned({ slice, code: 'not_found', message: `upstream does not list the brand ${id}` });
  }
}
