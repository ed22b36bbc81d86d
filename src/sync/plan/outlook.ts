import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Catalogue } from '../../contract/catalogue.ts';
import { EARLIEST_DAY } from '../../contract/plausibility/item-times.ts';
import { eachDay } from '../../contract/time.ts';
import type { ListedBrand } from '../../warehouse/brand-list.ts';
import type { Database } from '../../warehouse/database.ts';
import { readFirstDay } from '../../warehouse/ledger/slice-state.ts';
import { backfillCost, readOlder } from '../backfill-totals.ts';
import type { Slice } from '../slice.ts';
import type { PlanContext } from './plan-context.ts';
import { createNextPlanner, type NextWindow } from './plan-next.ts';
import { planRereads, REREAD_AFTER_MS } from './plan-rereads.ts';
import { planBrand, planWorkspace, withFirstPages } from './plan-slices.ts';

/** Slices planned before yielding to the event loop, so that signals are handled. */
const SLICES_AT_A_TIME = 200;
/** Requests besides the slices: upstream's OpenAPI description, once per run. */
const DESCRIPTION_REQUESTS = 1;

/** All slices that a run would read if every response had the stored rows. */
export interface Outlook {
  readonly slices: readonly Slice[];
  /** Requests for totals of older days, in the background. */
  readonly backfill: number;
  readonly requests: number;
  /** Days of windows that are up to date and not read again. */
  readonly skippedDays: number;
  /** Ids of brands whose day counts are unreliable. */
  readonly unreliable: readonly string[];
}

/** Dependencies of an outlook. */
export interface OutlookParts {
  readonly catalogue: Catalogue;
  readonly database: Database;
  readonly signal: AbortSignal;
}

// A brand may be older than its data, so the day counts are a better guide to the length of its lists.
async function planFirst(
  { catalogue, database }: Pick<OutlookParts, 'catalogue' | 'database'>,
  brand: ListedBrand,
  context: PlanContext,
): Promise<Slice[]> {
  const days: string[] = [];
  for (const { change } of catalogue.resources) {
    if (change.kind !== 'window' || change.dayCounts === undefined) continue;
    const { table, day } = change.dayCounts;
    const range = { from: EARLIEST_DAY, to: context.today };
    const first = await readFirstDay(database, table, day, brand.id, range);
    if (first !== null) days.push(first);
  }
  const [first = brand.since] = days.sort();
  return planBrand(catalogue, brand, context).map((slice) =>
    withFirstPages(slice, catalogue.get(slice.resource), first, context),
  );
}

/** Plans a whole run from the warehouse: the slices that depend on nothing, and those that follow from the stored rows. */
export async function lookAhead(
  { catalogue, database, signal }: OutlookParts,
  brands: readonly ListedBrand[],
  context: PlanContext,
): Promise<Outlook> {
  const follower = createNextPlanner({ catalogue, database }, context);
  follower.brands(brands);
  const slices = [
    ...planWorkspace(catalogue, context),
    ...(await Promise.all(brands.map((brand) => planFirst({ catalogue, database }, brand, context)))).flat(),
  ];
  // The list grows during the loop: slices that depend on a slice are planned after it.
  for (let index = 0; index < slices.length; index++) {
    const slice = slices[index] as Slice;
    if (!slice.includesNext) slices.push(...(await follower.after(slice, true)));
    if (index % SLICES_AT_A_TIME === 0) await nextTurn();
    signal.throwIfAborted();
  }
  const windows = follower.windows();
  slices.push(...expectedRereads(windows, context));
  const older = context.range === null ? await readOlder({ catalogue, database, context }, brands) : [];
  const backfill = backfillCost(older, context);
  return {
    slices,
    backfill,
    requests: slices.reduce((sum, { expected }) => sum + expected, DESCRIPTION_REQUESTS + backfill),
    skippedDays: windows.reduce((sum, { planned }) => sum + planned.whole, 0),
    unreliable: windows.filter(({ planned }) => planned.unreliable).map(({ brand }) => brand.id),
  };
}

// The rereads of a run in which all planned days are read.
function expectedRereads(windows: readonly NextWindow[], context: PlanContext): Slice[] {
  const lists = windows.map(({ resource, brand, days, planned }) => {
    const readAt = new Map(context.covered.days(resource.name, brand.id));
    for (const { from, to } of planned.slices) {
      if (from !== null && to !== null) for (const day of eachDay(from, to)) readAt.set(day, context.now);
    }
    return { resource, brand, days, readAt };
  });
  const limits = { requests: context.rereads, before: context.now - REREAD_AFTER_MS, context };
  return [...planRereads(lists, limits).values()].flat();
}
