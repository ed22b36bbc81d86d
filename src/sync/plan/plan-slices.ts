import { brandListOf, type Catalogue, childrenOf, detailsOf, type Resource } from '../../contract/catalogue.ts';
import { firstPlannedDay } from '../../contract/plausibility/item-times.ts';
import { addDays, DAY_MS, dayOf, earlierDay, laterDay, RANGE_DAYS_MAX } from '../../contract/time.ts';
import type { ListedBrand } from '../../warehouse/brand-list.ts';
import type { Member } from '../../warehouse/ledger/slice-state.ts';
import { type DayRange, type Slice, type SliceScope, slicesOf } from '../slice.ts';
import { isFresh, lastDay, type PlanContext, PRIORITY } from './plan-context.ts';
import { planWindows } from './plan-windows.ts';

/** Days of a recent report; the API's default. */
const RECENT_DAYS = 30;
/** Time that a page of a list covers that was never read, as an estimate, and at least. */
const PAGE_MS = 90 * DAY_MS;
const PAGE_MS_MIN = 30 * DAY_MS;
/** Interval of full scans of a list that is otherwise only read for new items. */
const FULL_WALK_EVERY_MS = 7 * DAY_MS;
/** Interval of reads of the older ranges of a history. */
const OLDER_RANGES_EVERY_MS = 7 * DAY_MS;

/**
 * Returns the resources in `only` and those they depend on: the list of their scope, the list of a detail, the day
 * counts of a window.
 */
export function withDependencies(catalogue: Catalogue, only: readonly string[] | null): ReadonlySet<string> {
  if (only === null) return new Set(catalogue.resources.map((resource) => resource.name));
  const wanted = new Set<string>();
  const add = (name: string): void => {
    if (wanted.has(name)) return;
    wanted.add(name);
    const resource = catalogue.get(name);
    if (resource.scope === 'brand') add(brandListOf(catalogue).name);
    if (resource.change.kind === 'detail') add(resource.change.of);
    if (resource.parent !== undefined) add(resource.parent.resource);
    if (resource.change.kind === 'window' && resource.change.dayCounts !== undefined)
      add(resource.change.dayCounts.resource);
  };
  for (const name of only) add(name);
  return wanted;
}

/** Whether requests for other resources or totals follow from the rows of a resource. */
export function leadsOn(catalogue: Catalogue, { name, provides, change }: Resource): boolean {
  const isCounting = catalogue.resources.some(
    (other) => other.change.kind === 'window' && other.change.dayCounts?.resource === name,
  );
  const hasTotals = change.kind === 'report' && change.eachDay !== undefined;
  const isParent = childrenOf(catalogue, name).length > 0;
  return provides !== undefined || isCounting || hasTotals || isParent || detailsOf(catalogue, name).length > 0;
}

/** Returns the slices of resources with scope `workspace`. */
export function planWorkspace(catalogue: Catalogue, context: PlanContext): Slice[] {
  return catalogue.resources
    .filter((resource) => resource.scope === 'workspace' && isRoot(resource))
    .flatMap((resource) => {
      const { change } = resource;
      const priority = PRIORITY.workspace;
      if (change.kind !== 'report') return make(context, resource, { reason: 'full list', priority });
      const to = context.range?.to ?? context.today;
      const range = change.span === 'recent' ? recentRange(context) : longestRange(context, to);
      return make(context, resource, { range, reason: 'the newest range', priority });
    });
}

/** Returns the slices of one brand that depend on nothing but the brand. */
export function planBrand(catalogue: Catalogue, brand: ListedBrand, context: PlanContext): Slice[] {
  const brandId = brand.id;
  return catalogue.resources
    .filter((resource) => resource.scope === 'brand' && isRoot(resource))
    .flatMap((resource): Slice[] => {
      const { change } = resource;
      switch (change.kind) {
        case 'walk': {
          const walk = make(context, resource, { brandId, reason: 'all pages', priority: PRIORITY.list });
          return walk.map((slice) => shortened(withPages(slice, resource, context), change.settled === true, context));
        }
        case 'set':
        case 'value':
          return make(context, resource, {
            brandId,
            reason: 'full list',
            priority: leadsOn(catalogue, resource) ? PRIORITY.history : PRIORITY.list,
          });
        case 'report':
          return change.span === 'recent'
            ? make(context, resource, {
                brandId,
                range: recentRange(context),
                reason: 'the last 30 days',
                priority: PRIORITY.report,
              })
            : make(context, resource, newestHistory(context, resource, brandId));
        case 'window':
          return change.dayCounts === undefined ? [...planWindows(resource, brand, null, context).slices] : [];
        default:
          return [];
      }
    });
}

/** Returns the slices for the details of a list's rows. */
export function planDetails(
  detail: Resource,
  brandId: string | null,
  members: readonly Member[],
  context: PlanContext,
) {
  return members
    .filter(({ detailed }) => context.full || !detailed)
    .flatMap((member) =>
      make(context, detail, {
        ...(detail.scope === 'brand' && brandId !== null ? { brandId } : {}),
        member: member.id,
        reason: 'detail of a new or changed row',
        priority: PRIORITY.detail,
      }),
    );
}

/** Returns the slices of the lists below the rows of another list; `rows` are the path parameters from each row. */
export function planChildren(
  child: Resource,
  brandId: string | null,
  rows: readonly Readonly<Record<string, string>>[],
  context: PlanContext,
): Slice[] {
  return rows.flatMap((parent) =>
    make(context, child, {
      ...(child.scope === 'brand' && brandId !== null ? { brandId } : {}),
      parent,
      reason: `a row of ${child.parent?.resource}`,
      priority: PRIORITY.detail,
    }),
  );
}

/**
 * Returns the range before `slice`, if `slice` is the oldest of a history. Older ranges are read until a complete range
 * before the newest one is empty and starts before the brand was created; the creation date alone does not prove that
 * there is no older data. `hasRows`: the slice's range has live rows.
 */
export function planOlder(
  resource: Resource,
  slice: Slice,
  brand: ListedBrand,
  hasRows: boolean,
  context: PlanContext,
): Slice[] {
  const { from } = slice;
  const may = mayHaveOlder(slice, brand, context);
  if (from === null || may === 'no' || (may === 'ifRows' && !hasRows)) return [];
  const scope = { ...history(context, brand.id, addDays(from, -1)), priority: PRIORITY.older };
  return make(context, resource, scope).filter((older) => sameVariant(older, slice));
}

/** Decides if older ranges are read after a slice: `yes`, `no`, or only if the slice's range has rows (`ifRows`). */
export function mayHaveOlder(slice: Slice, brand: ListedBrand, context: PlanContext): 'no' | 'yes' | 'ifRows' {
  const { from } = slice;
  if (!slice.oldest || from === null || context.range?.from === from) return 'no';
  if (from <= firstPlannedDay(context.today) || wereReadLately(slice, context)) return 'no';
  const isNewest = slice.to === lastDay(context, context.daysOf(slice.resource, slice.brandId));
  const wasThere = brand.since !== null && brand.since < from;
  return isNewest || wasThere ? 'yes' : 'ifRows';
}

/** Returns where a slice resumes, after its last committed page; null unless the checkpoint is recent enough. */
export function resumePoint(slice: Slice, context: PlanContext): { cursor: string; pages: number } | null {
  const open = context.open.find((candidate) => candidate.id === slice.id);
  if (open === undefined || open.next === null || !isFresh(open, open.at, context)) return null;
  return { cursor: open.next, pages: open.pages };
}

/** Returns the detail resources to read after a list. */
export function followingDetails(catalogue: Catalogue, resource: Resource, context: PlanContext): Resource[] {
  return detailsOf(catalogue, resource.name).filter((detail) => context.wanted.has(detail.name));
}

// Whether a resource is read without a row of another list.
function isRoot({ change, parent }: Resource): boolean {
  return change.kind !== 'detail' && parent === undefined;
}

function make(context: PlanContext, resource: Resource, scope: SliceScope): Slice[] {
  return context.wanted.has(resource.name) ? slicesOf(resource, scope, context.names) : [];
}

// Expects as many pages as the last read had.
function withPages(slice: Slice, resource: Resource, { covered }: PlanContext): Slice {
  const pages = Math.max(1, Math.ceil((covered.closed(slice.id)?.rows ?? 0) / (resource.query['limit']?.max ?? 1)));
  return { ...slice, expected: pages, least: pages, most: pages };
}

/** Estimates the pages of a list that was never read from the first day with data; null if that is not known. */
export function withFirstPages(slice: Slice, { change }: Resource, first: string | null, context: PlanContext): Slice {
  if (change.kind !== 'walk' || context.covered.closed(slice.id) !== undefined) return slice;
  const ageMs = Math.max(0, context.now - Date.parse(first ?? dayOf(context.now)));
  return { ...slice, expected: 1 + Math.floor(ageMs / PAGE_MS), least: 1, most: 1 + Math.ceil(ageMs / PAGE_MS_MIN) };
}

// Limits the read of a settled list to new items, except for a periodic full scan.
function shortened(slice: Slice, settled: boolean, context: PlanContext): Slice {
  const before = context.covered.closed(slice.id);
  if (!settled) return slice;
  const walkedAt = Number(before?.state ?? Number.NaN);
  const isDue = context.full || !(walkedAt <= context.now && context.now - walkedAt < FULL_WALK_EVERY_MS);
  return isDue
    ? { ...slice, state: String(context.now) }
    : { ...slice, expected: 1, least: 1, most: 1, untilKnown: true, reason: 'new items', state: before?.state ?? null };
}

// Range boundaries move every day, so compare days and not slice ids.
function wereReadLately({ from, resource, brandId }: Slice, { covered, now, full }: PlanContext): boolean {
  if (full || from === null || brandId === null) return false;
  const readAt = covered.days(resource, brandId).get(addDays(from, -OLDER_RANGES_EVERY_MS / DAY_MS - 1));
  return readAt !== undefined && readAt <= now && now - readAt < OLDER_RANGES_EVERY_MS;
}

function recentRange({ range, today }: PlanContext): DayRange {
  const to = range?.to ?? today;
  const from = range?.from ?? addDays(to, 1 - RECENT_DAYS);
  return { from: laterDay(from, addDays(to, 1 - RANGE_DAYS_MAX)), to };
}

function longestRange({ range }: PlanContext, to: string): DayRange {
  return { from: earlierDay(to, laterDay(addDays(to, 1 - RANGE_DAYS_MAX), range?.from ?? '')), to };
}

// A range that ends today is requested without its last day if the days echo their zone. It may end a day earlier or later than
// planned.
function newestHistory(context: PlanContext, { name, zone }: Resource, brandId: string): SliceScope {
  const to = lastDay(context, context.daysOf(name, brandId));
  const scope = history(context, brandId, to);
  const from = laterDay(scope.range.from, addDays(to, 2 - RANGE_DAYS_MAX));
  const endsToday = context.range === null || context.range.to === context.today;
  if (zone !== 'echoed' || !endsToday || from >= context.today) return scope;
  return { ...scope, range: { from, to }, isOpen: true };
}

function history(context: PlanContext, brandId: string, to: string): SliceScope & { readonly range: DayRange } {
  return {
    brandId,
    range: longestRange(context, to),
    reason: 'full history',
    priority: PRIORITY.history,
    oldest: true,
  };
}

function sameVariant(a: Slice, b: Slice): boolean {
  const variant = ({ fixed }: Slice): string =>
    JSON.stringify(Object.entries(fixed).filter(([name]) => name !== 'range_from' && name !== 'range_to'));
  return variant(a) === variant(b);
}
