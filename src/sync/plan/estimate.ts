import { setImmediate as nextTurn } from 'node:timers/promises';
import { plausibleSince } from '../../plausibility/item-times.ts';
import type { Member } from '../../warehouse/ledger/slice-state.ts';
import type { Warehouse } from '../../warehouse/warehouse.ts';
import { chooseBrands, readBrands, readContext, type SyncOptions, type SyncParts } from '../run-sync.ts';
import type { Slice } from '../slice.ts';
import type { PlanContext } from './plan-context.ts';
import { createNextPlanner } from './plan-next.ts';
import { planBrand, planWorkspace } from './plan-slices.ts';

/** Slices planned before yielding to the event loop, so that signals are handled. */
const CHAINS_AT_A_TIME = 200;
/** Requests besides the slices: upstream's OpenAPI description, once per run. */
const DESCRIPTION_REQUESTS = 1;

/** The requests that a sync would send now, and the days that it would skip. */
export interface SyncPlan {
  /** Total requests. */
  readonly requests: number;
  readonly resources: readonly PlannedResource[];
  /** Days of windows that are up to date and not read again. */
  readonly skippedDays: number;
  /** Ids of brands whose day counts are unreliable. */
  readonly unreliable: readonly string[];
  /** Whether the last run left unfinished slices, which are read first. */
  readonly continues: boolean;
}

/** Expected requests of one resource. */
export interface PlannedResource {
  readonly name: string;
  readonly requests: number;
  /** Reasons, each with its requests. */
  readonly reasons: readonly { readonly reason: string; readonly requests: number }[];
}

/**
 * Plans a sync from the warehouse, without any request to upstream. Lists that were never read have no rows yet, so
 * requests that depend on them are not counted.
 */
export async function planSync(
  parts: Pick<SyncParts, 'catalogue' | 'clock' | 'connections' | 'signal'> & { readonly warehouse: Warehouse },
  options: SyncOptions,
): Promise<SyncPlan> {
  const context = await readContext(parts, options, null, parts.clock.now());
  const listed = await readBrands(parts);
  const believed = listed.map((brand) => ({ ...brand, since: plausibleSince(brand.since, context.today) }));
  const brands = chooseBrands(believed, options.brands);
  const { chains, skippedDays, unreliable } = await unroll(parts, brands, context);
  const byResource = new Map<string, Map<string, number>>();
  for (const { resource, reason, expected } of chains) {
    const reasons = byResource.get(resource) ?? new Map<string, number>();
    const why = reason.replaceAll(/ \(\d+ days?\)/g, '');
    byResource.set(resource, reasons.set(why, (reasons.get(why) ?? 0) + expected));
  }
  const resources = [...byResource].map(([name, reasons]) => ({
    name,
    requests: [...reasons.values()].reduce((sum, requests) => sum + requests, 0),
    reasons: [...reasons].map(([reason, requests]) => ({ reason, requests })),
  }));
  const requests = resources.reduce((sum, resource) => sum + resource.requests, DESCRIPTION_REQUESTS);
  return { requests, resources, skippedDays, unreliable, continues: context.begun.size > 0 };
}

// Assumes that every slice is read and returns the stored rows.
async function unroll(
  { catalogue, warehouse: { database }, signal }: Pick<SyncParts, 'catalogue' | 'warehouse' | 'signal'>,
  brands: readonly Member[],
  context: PlanContext,
): Promise<{ chains: Slice[]; skippedDays: number; unreliable: string[] }> {
  const follower = createNextPlanner({ catalogue, database }, context);
  follower.brands(brands);
  const chains = [
    ...planWorkspace(catalogue, context),
    ...brands.flatMap((brand) => planBrand(catalogue, brand, context)),
  ];
  // The list grows during the loop: slices that depend on a slice are planned after it.
  for (let index = 0; index < chains.length; index++) {
    chains.push(...(await follower.after(chains[index] as Slice, true)));
    if (index % CHAINS_AT_A_TIME === 0) await nextTurn();
    signal.throwIfAborted();
  }
  const windows = follower.windows();
  return {
    chains,
    skippedDays: windows.reduce((sum, { planned }) => sum + planned.whole, 0),
    unreliable: windows.filter(({ planned }) => planned.unreliable).map(({ brand }) => brand.id),
  };
}
