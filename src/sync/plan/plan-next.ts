import { type Catalogue, childrenOf, type Resource } from '../../contract/catalogue.ts';
import { firstPlannedDay } from '../../contract/plausibility/item-times.ts';
import type { ResourceTable } from '../../contract/tables.ts';
import { readCalibratedConventions } from '../../metrics/calibration/findings.ts';
import { compareDayCounts } from '../../metrics/verification/verify-counts.ts';
import type { ListedBrand } from '../../warehouse/brand-list.ts';
import type { Database } from '../../warehouse/database.ts';
import { type Audit, type Comparison, readAudits } from '../../warehouse/ledger/audits.ts';
import { readTotals, totalsOf } from '../../warehouse/ledger/reported-totals.ts';
import { hasRows, readMembers, readParents } from '../../warehouse/ledger/slice-state.ts';
import type { Slice } from '../slice.ts';
import type { PlanContext } from './plan-context.ts';
import { followingDetails, mayHaveOlder, planChildren, planDetails, planOlder } from './plan-slices.ts';
import { planTotals, recentTotals } from './plan-totals.ts';
import { type PlannedWindows, planWindows } from './plan-windows.ts';

/**
 * Plans the slices that depend on a finished one: details after their list, windows after their day counts, older
 * ranges after a history, totals of days after the range that contains them.
 */
export interface NextPlanner {
  /** Sets the brands of the run. */
  brands(members: readonly ListedBrand[]): void;
  /** Returns the slices to read that follow `slice`; `wasRead` is whether it was read completely. */
  after(slice: Slice, wasRead: boolean): Promise<Slice[]>;
  /** Returns the windows planned so far. */
  windows(): readonly NextWindow[];
}

/** The windows of a brand's resource, and the slices of its day counts. */
export interface NextWindow {
  readonly resource: Resource;
  readonly brand: ListedBrand;
  readonly planned: PlannedWindows;
  /** The days with upstream's counts or stored rows when the windows were planned. */
  readonly days: readonly Comparison[];
  /** Slices that read the day counts. */
  readonly countSlices: readonly Slice[];
  /** Whether all slices of the day counts were read. */
  readonly isCounted: boolean;
}

/** Creates the planner, which passes rows of the warehouse to the pure plan functions. */
export function createNextPlanner(
  { catalogue, database }: { catalogue: Catalogue; database: Database },
  context: PlanContext,
): NextPlanner {
  const brands = new Map<string, ListedBrand>();
  const windowed = new Map<string, NextWindow>();
  const totals = createTotalsPlanner(database, context);
  const counting = new Map<string, { readonly slices: Slice[]; isRead: boolean }>();

  const details = async (resource: Resource, slice: Slice): Promise<Slice[]> => {
    const [table] = resource.derived;
    const id = table?.declaration.key[0];
    const following = followingDetails(catalogue, resource, context);
    if (id === undefined || following.length === 0) return [];
    const members = await readMembers(database, resource, slice.brandId, { id, detail: true });
    const chosen = resource.provides === undefined ? members : members.filter((member) => brands.has(member.id));
    return following.flatMap((detail) => planDetails(detail, slice.brandId, chosen, context));
  };

  // If the day counts cannot be read, plan the windows without them.
  const windows = async (
    resource: Resource,
    slice: Slice,
    brand: ListedBrand,
    { older, wasRead }: { readonly older: readonly Slice[]; readonly wasRead: boolean },
  ): Promise<Slice[]> => {
    const slices: Slice[] = [];
    for (const counted of catalogue.resources) {
      if (counted.change.kind !== 'window' || counted.change.dayCounts?.resource !== resource.name) continue;
      const { dayCounts } = counted.change;
      const isDayCounts = Object.entries(dayCounts.where).every(([column, value]) => slice.fixed[column] === value);
      const once = `${counted.name} ${brand.id}`;
      if (!isDayCounts || windowed.has(once) || !context.wanted.has(counted.name)) continue;
      const read = counting.get(once) ?? { slices: [], isRead: true };
      counting.set(once, read);
      read.slices.push(slice);
      read.isRead &&= wasRead;
      if (older.length > 0) continue;
      const { days, audits, uncounted } = await countDays({ catalogue, database }, counted, brand, context.today);
      // Day counts of 0 are valid only if they were read in this run.
      const isCounted = days.some(({ upstream }) => upstream > 0) || (read.isRead && days.length > 0);
      const planned = planWindows(counted, brand, isCounted ? { days, audits, uncounted } : null, context);
      windowed.set(once, { resource: counted, brand, planned, days, countSlices: read.slices, isCounted: read.isRead });
      slices.push(...planned.slices);
    }
    return slices;
  };

  const history = async (resource: Resource, slice: Slice, brand: ListedBrand, wasRead: boolean): Promise<Slice[]> => {
    const { change } = resource;
    if (change.kind !== 'report' || change.span !== 'history' || slice.from === null || slice.to === null) return [];
    if (!slice.oldest) return [];
    const table = resource.derived.find((candidate) => candidate.extent.kind === 'time') as ResourceTable | undefined;
    if (table === undefined || table.extent.kind !== 'time') return [];
    const range = { from: slice.from, to: slice.to };
    // If upstream rejects a range, it rejects earlier ranges too.
    const dependsOnRows = wasRead && mayHaveOlder(slice, brand, context) === 'ifRows';
    const isFilled = dependsOnRows && (await hasRows(database, table.name, table.extent.field, brand.id, range));
    const older = wasRead ? planOlder(resource, slice, brand, isFilled, context) : [];
    return [...older, ...(await windows(resource, slice, brand, { older, wasRead }))];
  };

  return {
    brands: (members) => {
      for (const member of members) brands.set(member.id, member);
    },
    after: async (slice, wasRead) => {
      const resource = catalogue.get(slice.resource);
      const brand = slice.brandId === null ? undefined : brands.get(slice.brandId);
      return [
        ...(await details(resource, slice)),
        ...(wasRead ? await planBelow({ catalogue, database }, resource, slice, context) : []),
        ...(brand === undefined ? [] : await history(resource, slice, brand, wasRead)),
        ...(brand === undefined ? [] : await totals(resource, slice, brand, wasRead)),
      ];
    },
    windows: () => [...windowed.values()],
  };
}

// Plans the lists below the rows that a slice has read.
async function planBelow(
  { catalogue, database }: { catalogue: Catalogue; database: Database },
  resource: Resource,
  { fixed, brandId }: Slice,
  context: PlanContext,
): Promise<Slice[]> {
  const slices: Slice[] = [];
  for (const child of childrenOf(catalogue, resource.name).filter(({ name }) => context.wanted.has(name))) {
    const rows = await readParents(database, resource, child, fixed);
    slices.push(...planChildren(child, brandId, rows, context));
  }
  return slices;
}

// Plans requests for totals of days in rounds: after a response with totals, unless the brand waits for another one. Each round reads
// the totals once. After a failed request, it plans no more for the brand; the next run does.
function createTotalsPlanner(database: Database, context: PlanContext) {
  const runs = new Map<string, { readonly asked: Set<string>; readonly open: Set<string>; hasFailed: boolean }>();
  return async (resource: Resource, slice: Slice, brand: ListedBrand, wasRead: boolean): Promise<Slice[]> => {
    if (totalsOf(resource) === null || context.probe === true) return [];
    const key = `${resource.name} ${brand.id}`;
    const run = runs.get(key) ?? { asked: new Set<string>(), open: new Set<string>(), hasFailed: false };
    runs.set(key, run);
    run.open.delete(slice.id);
    run.hasFailed ||= !wasRead;
    const isWaiting = (): boolean => run.hasFailed || run.open.size > 0;
    if (isWaiting()) return [];
    const read = await database.exclusive(({ query }) => readTotals(query, resource, brand.id));
    const known = read.get(brand.id);
    // Another response may have planned a round during the read.
    if (known === undefined || isWaiting()) return [];
    const state = { resource, brand, totals: known, asked: run.asked };
    const slices = planTotals(state, recentTotals(state, context), context);
    for (const { id } of slices) {
      run.asked.add(id);
      run.open.add(id);
    }
    return slices;
  };
}

/**
 * Compares upstream's day counts of a brand with the stored rows, on every day that has counts or rows. `audits` are the results
 * of earlier comparisons; `uncounted` are the engines whose responses were not compared.
 */
export async function countDays(
  { catalogue, database }: { catalogue: Catalogue; database: Database },
  counted: Resource,
  brand: ListedBrand,
  today: string,
): Promise<{ days: Comparison[]; audits: ReadonlyMap<string, Audit>; uncounted: readonly string[] }> {
  const audits = await readAudits(database, counted.name, brand.id);
  return database.exclusive(async ({ query }) => {
    const { days, uncounted } = await compareDayCounts(query, {
      catalogue,
      brandId: brand.id,
      from: firstPlannedDay(today),
      to: today,
      ...(await readCalibratedConventions(query)),
      audits,
    });
    return { days, audits, uncounted };
  });
}
