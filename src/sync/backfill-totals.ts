import type { Catalogue } from '../contract/catalogue.ts';
import { addDays, daysInRange, laterDay } from '../contract/time.ts';
import type { ListedBrand } from '../warehouse/brand-list.ts';
import type { Database } from '../warehouse/database.ts';
import { BACKFILL_REQUESTS_MAX, readTotals, totalsResources } from '../warehouse/ledger/reported-totals.ts';
import type { PlanContext } from './plan/plan-context.ts';
import { costOf, olderTotals, planTotals, recentTotals, type TotalsState } from './plan/plan-totals.ts';
import type { DayRange, Slice } from './slice.ts';

/** A range of this many days without rows is probably empty, so its total alone is worth a request. */
const EMPTY_DAYS_MIN = 4;

/** Dependencies of a backfill. */
export interface BackfillParts {
  readonly catalogue: Catalogue;
  readonly database: Database;
  readonly context: PlanContext;
  /** Request limit of this backfill. */
  readonly requestsMax: number;
  /** Reads slices from their first page to their end. Returns whether all were read. */
  read(slices: readonly Slice[]): Promise<boolean>;
}

/** Requests unknown totals of days before the last 30, newest first, up to the limit. The next run resumes. */
export async function backfillTotals(parts: BackfillParts, brands: readonly ListedBrand[]): Promise<void> {
  const { catalogue, database, context, requestsMax, read } = parts;
  const asked = new Set<string>();
  let left = requestsMax;
  if (left <= 0) return;
  const statesOf = (): Promise<TotalsState[]> => readOlder({ catalogue, database, context }, brands, asked);
  let states = await statesOf();
  for (let chunk = nextChunk(states, context, left); chunk !== null;) {
    const { key, range } = chunk;
    const state = states.find((candidate) => keyOf(candidate) === key);
    const slices = (state === undefined ? [] : planTotals(state, range, context, true)).slice(0, left);
    if (slices.length === 0) {
      const next = nextChunk(states, context, left);
      // The rest of the chunk cannot be resolved in this run.
      if (next === null || (next.key === key && next.range.to >= range.to)) return;
      chunk = next;
      continue;
    }
    for (const { id } of slices) asked.add(id);
    left -= slices.length;
    if (!(await read(slices)) || left === 0) return;
    states = await statesOf();
  }
}

/** Returns the days whose totals only the background fills, by resource and brand. */
export async function readOlder(
  { catalogue, database, context }: Pick<BackfillParts, 'catalogue' | 'database' | 'context'>,
  brands: readonly ListedBrand[],
  asked: ReadonlySet<string> = new Set(),
): Promise<TotalsState[]> {
  const states: TotalsState[] = [];
  for (const resource of totalsResources(catalogue)) {
    if (!context.wanted.has(resource.name)) continue;
    const read = await database.exclusive(({ query }) => readTotals(query, resource));
    for (const brand of brands) {
      const totals = read.get(brand.id);
      if (totals !== undefined) states.push({ resource, brand, totals, asked });
    }
  }
  return states;
}

/** Estimated requests of a run's backfill. */
export function backfillCost(states: readonly TotalsState[], context: PlanContext): number {
  const costs = states.flatMap((state) =>
    olderTotals(state, recentTotals(state, context), context).map((gap) => costOf(gap, state.totals)),
  );
  return Math.min(
    BACKFILL_REQUESTS_MAX,
    costs.reduce((sum, cost) => sum + cost, 0),
  );
}

// The newest days that `left` requests can resolve: the total of a range of n days, of its halves, and n - 2 days.
function nextChunk(
  states: readonly TotalsState[],
  context: PlanContext,
  left: number,
): { key: string; range: DayRange } | null {
  const gaps = states.flatMap((state) =>
    olderTotals(state, recentTotals(state, context), context).map((gap) => ({ state, gap })),
  );
  const [newest] = gaps.toSorted((a, b) => (a.gap.to > b.gap.to ? -1 : 1));
  if (newest === undefined) return null;
  const { state, gap } = newest;
  const isEmpty = !state.totals.rowDays.some((day) => gap.from <= day && day <= gap.to);
  if (isEmpty && daysInRange(gap.from, gap.to) >= EMPTY_DAYS_MIN) return { key: keyOf(state), range: gap };
  const from = laterDay(gap.from, addDays(gap.to, 1 - Math.max(1, left - 1)));
  return { key: keyOf(state), range: { from, to: gap.to } };
}

function keyOf({ resource, brand }: TotalsState): string {
  return `${resource.name} ${brand.id}`;
}
