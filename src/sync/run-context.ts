import type { ResourceSelection } from '../base/config/config.ts';
import type { Catalogue, Resource } from '../contract/catalogue.ts';
import { firstReadDay } from '../contract/plausibility/item-times.ts';
import { SETTLE_DAYS } from '../contract/plausibility/range-totals.ts';
import { FUTURE_MS_MAX } from '../contract/plausibility/run-clock.ts';
import { dayOf } from '../contract/time.ts';
import { type DaysOf, readDaysOf } from '../warehouse/ledger/echoed-days.ts';
import {
  type ClosedSlice,
  type OpenSlice,
  readBegunSlices,
  readClosedSlices,
  readOpenSlices,
} from '../warehouse/ledger/slice-state.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { coveredBy, type PlanContext } from './plan/plan-context.ts';
import { withDependencies } from './plan/plan-slices.ts';
import { createSelection } from './select-endpoints.ts';
import type { SyncOptions } from './sync-options.ts';

/** The resources, and the number of slices read in parallel. */
interface ContextParts {
  /** Endpoints to read; default: all. */
  readonly selection?: ResourceSelection;
  readonly catalogue: Catalogue;
  readonly connections: number;
}

/** Reads the state of earlier runs at the time `now`. `passId` is the pass to resume, if any. */
export async function readContext(
  parts: ContextParts & { readonly warehouse: Warehouse },
  options: SyncOptions,
  passId: string | null,
  now: number,
): Promise<PlanContext> {
  const { database } = parts.warehouse;
  const closed = await readClosedSlices(database, { passId, lasting: lastingResources(parts.catalogue) });
  // Ignore reads of impossible days or with a future time. A run removes them; a plan does not change the warehouse.
  const daysOf = await database.exclusive(({ query }) => readDaysOf(query));
  const first = firstReadDay(dayOf(now));
  const slices = closed.filter(
    ({ resource, brandId, from, to, closedAt }) =>
      closedAt <= now + FUTURE_MS_MAX &&
      (from === null || from >= first) &&
      (to === null || to <= daysOf(resource, brandId)(now)),
  );
  const open = passId === null ? [] : await readOpenSlices(database, passId);
  const begun = await readBegunSlices(database);
  return createContext(parts, options, { now, daysOf, passId, slices, open, begun });
}

/** The time, and the slices of earlier runs. */
interface Known {
  readonly now: number;
  readonly daysOf: DaysOf;
  readonly passId: string | null;
  readonly slices: readonly ClosedSlice[];
  readonly open: readonly OpenSlice[];
  readonly begun: ReadonlySet<string>;
}

/** Creates the context of a plan from the state of earlier runs. */
export function createContext(
  { catalogue, connections, selection }: ContextParts,
  { range, full, only, brands, acceptDeletions, probe, rereads, allowance }: SyncOptions,
  { now, daysOf, passId, slices, open, begun }: Known,
): PlanContext {
  const isComplete = only === null && brands === null && range === null && full !== true && probe !== true;
  return {
    range,
    full: full === true,
    acceptDeletions: acceptDeletions === true,
    probe: probe === true,
    // A run with a limit reads them with the requests that are left.
    rereads: isComplete && allowance === undefined ? (rereads ?? 0) : 0,
    settleDays: SETTLE_DAYS,
    wanted: selected(catalogue, withDependencies(catalogue, only), selection),
    connections,
    now,
    today: dayOf(now),
    daysOf,
    names: new Map(),
    covered: coveredBy(slices),
    closed: slices.filter((slice) => slice.passId === passId),
    read: new Set(slices.flatMap((slice) => (slice.passId === passId ? [] : (slice.brandId ?? [])))),
    open,
    begun,
  };
}

// Everything needs the list of the brands.
function selected(
  catalogue: Catalogue,
  wanted: ReadonlySet<string>,
  selection: ResourceSelection | undefined,
): ReadonlySet<string> {
  const selects = createSelection(selection);
  const isSelected = ({ name, path, generic, provides }: Resource): boolean =>
    provides !== undefined || selects({ name, path, generic: generic === true });
  return new Set([...wanted].filter((name) => isSelected(catalogue.get(name))));
}

// Windows and paged scans are planned from all earlier reads. For other resources only recent reads matter.
function lastingResources({ resources }: Catalogue): string[] {
  return resources.filter(({ change }) => change.kind === 'window' || change.kind === 'walk').map(({ name }) => name);
}
