import { z } from 'zod';
import type { Catalogue } from '../../contract/catalogue.ts';
import { number, type ValueOf } from '../../contract/operation/json-parts.ts';
import { plausibleSince } from '../../contract/plausibility/item-times.ts';
import type { Warehouse } from '../../warehouse/warehouse.ts';
import { chooseBrands, readBrands } from '../run-brands.ts';
import { readContext } from '../run-context.ts';
import type { SyncParts } from '../run-sync.ts';
import type { Slice } from '../slice.ts';
import type { SyncOptions } from '../sync-options.ts';
import { lookAhead, type Outlook } from './outlook.ts';
import type { PlanContext } from './plan-context.ts';
import { leadsOn } from './plan-slices.ts';

/** The requests that a sync would send now, and the days that it would skip. */
export const syncPlan = z.object({
  requests: number,
  least: number.describe('lower bound of `requests`'),
  most: number.nullable().describe('upper bound; null if lists that others depend on were never read'),
  resources: z.array(
    z.object({
      name: z.string().describe('a resource, or `calibration`'),
      requests: number,
      reasons: z.array(z.object({ reason: z.string(), requests: number })),
    }),
  ),
  skippedDays: number.describe('days that are up to date'),
  unreliable: z.array(z.string()).describe('IDs of brands with unreliable day counts'),
  continues: z.boolean().describe('whether the last run left unfinished slices, which are read first'),
});

/** The requests that a sync would send now. */
export type SyncPlan = ValueOf<typeof syncPlan>;

/**
 * Plans a sync from the warehouse, without any request to upstream. Lists that were never read have no rows yet, so
 * requests that depend on them are not counted, and the plan has no upper bound.
 */
export async function planSync(
  parts: Pick<SyncParts, 'catalogue' | 'clock' | 'connections' | 'selection' | 'signal'> & {
    readonly warehouse: Warehouse;
  },
  options: SyncOptions,
): Promise<SyncPlan> {
  const context = await readContext(parts, options, null, parts.clock.now());
  const listed = await readBrands(parts);
  const believed = listed.map((brand) => ({ ...brand, since: plausibleSince(brand.since, context.today) }));
  const brands = chooseBrands(believed, options.brands);
  const database = parts.warehouse.database;
  const outlook = await lookAhead({ ...parts, database }, brands, context);
  const { slices, requests, skippedDays, unreliable } = outlook;
  const byResource = new Map<string, Map<string, number>>();
  for (const { resource, reason, expected } of slices) {
    const reasons = byResource.get(resource) ?? new Map<string, number>();
    const why = reason.replaceAll(/ \(\d+ days?\)/g, '');
    byResource.set(resource, reasons.set(why, (reasons.get(why) ?? 0) + expected));
  }
  const resources = [...byResource].map(([name, reasons]) => ({
    name,
    requests: [...reasons.values()].reduce((sum, requests) => sum + requests, 0),
    reasons: [...reasons].map(([reason, requests]) => ({ reason, requests })),
  }));
  const bounds = boundsOf(parts.catalogue, outlook, context);
  return { requests, ...bounds, resources, skippedDays, unreliable, continues: context.begun.size > 0 };
}

function boundsOf(catalogue: Catalogue, { slices, backfill, requests }: Outlook, { covered }: PlanContext) {
  const wasRead = ({ id, resource, brandId }: Slice): boolean =>
    covered.closed(id) !== undefined || (brandId !== null && covered.days(resource, brandId).size > 0);
  const leading = slices.filter((slice) => slice.oldest || leadsOn(catalogue, catalogue.get(slice.resource)));
  const total = (read: (slice: Slice) => number): number => slices.reduce((sum, slice) => sum + read(slice), 0);
  const least = requests - backfill - total(({ expected, least: own }) => expected - own);
  const most = requests + total(({ expected, most: own }) => own - expected);
  return { least, most: leading.every(wasRead) ? most : null };
}
