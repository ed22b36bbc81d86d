import { type Catalogue, detailsOf, providerOf, type Resource } from '../contract/catalogue.ts';
import { addDays, dayOf, laterDay, RANGE_DAYS_MAX } from '../contract/time.ts';
import type { ClosedChain, Member, OpenChain } from '../warehouse/state.ts';
import { type Chain, type ChainScope, chainsOf, type DayRange, type ParameterNames } from './chain.ts';
import { packWindows, pagesPerWindow } from './windows.ts';

/** Days of a recent report, the API's own default. */
const RECENT_DAYS = 30;
/** Ranges of 366 days that a history may go back through. */
const HISTORY_RANGES_MAX = 20;
/** How long an unfinished run's work counts: for days that are over, and for what may move at any moment. */
const PAST_DAYS_FRESH_MS = 24 * 3_600_000;
const MOVING_FRESH_MS = 3_600_000;

/** What goes first when the budget is short: what others wait for, then what is long, then what is many. */
const PRIORITY = { workspace: 100, history: 90, list: 80, window: 50, report: 40, detail: 30, day: 20 } as const;

/** Everything a plan depends on besides the catalogue. */
export interface PlanContext {
  /** Upstream's day, UTC. */
  readonly today: string;
  readonly now: number;
  /** Days asked for on the command line, or null for all. */
  readonly range: DayRange | null;
  /** Resources to read; what they depend on is in here too. */
  readonly wanted: ReadonlySet<string>;
  readonly names: ParameterNames;
  readonly connections: number;
  /** Work of the unfinished run that this one continues. */
  readonly closed: readonly ClosedChain[];
  readonly open: readonly OpenChain[];
  /** Chains of which there are pages from whichever run; those that do not go on must be begun anew. */
  readonly begun: ReadonlySet<string>;
}

/** The resources `only` names and those they need: the list of their scope, of their details, their census. */
export function withDependencies(catalogue: Catalogue, only: readonly string[] | null): ReadonlySet<string> {
  if (only === null) return new Set(catalogue.resources.map((resource) => resource.name));
  const wanted = new Set<string>();
  const add = (name: string): void => {
    if (wanted.has(name)) return;
    wanted.add(name);
    const resource = catalogue.get(name);
    if (resource.scope === 'brand') add(providerOf(catalogue, 'brand').name);
    if (resource.change.kind === 'detail') add(resource.change.of);
    if (resource.change.kind === 'window' && resource.change.census !== undefined) add(resource.change.census.resource);
  };
  for (const name of only) add(name);
  return wanted;
}

/** Chains of the workspace itself. */
export function planWorkspace(catalogue: Catalogue, context: PlanContext): Chain[] {
  return catalogue.resources
    .filter((resource) => resource.scope === 'workspace' && resource.change.kind !== 'detail')
    .flatMap((resource) => make(context, resource, { reason: 'the whole list', priority: PRIORITY.workspace }));
}

/** Chains of one brand that depend on nothing but the brand. */
export function planBrand(catalogue: Catalogue, brand: Member, context: PlanContext): Chain[] {
  const brandId = brand.id;
  return catalogue.resources
    .filter((resource) => resource.scope === 'brand')
    .flatMap((resource): Chain[] => {
      const { change } = resource;
      switch (change.kind) {
        case 'walk': {
          // A walk may take many pages; it is read again only where others follow from it.
          const spare = detailsOf(catalogue, resource.name).length === 0;
          return make(context, resource, { brandId, reason: 'every page', priority: PRIORITY.list, spare });
        }
        case 'set':
        case 'value':
          return make(context, resource, { brandId, reason: 'the whole list', priority: PRIORITY.list });
        case 'report':
          return change.span === 'recent'
            ? make(context, resource, {
                brandId,
                range: recentRange(context),
                reason: 'the last 30 days',
                priority: PRIORITY.report,
              })
            : make(context, resource, history(context, brandId, context.range?.to ?? context.today));
        case 'window':
          return change.census === undefined ? planWindows(resource, brand, new Map(), context) : [];
        default:
          return [];
      }
    });
}

/** Chains for the details of a list's rows. */
export function planDetails(
  detail: Resource,
  brandId: string | null,
  members: readonly Member[],
  context: PlanContext,
) {
  return members.flatMap((member) =>
    make(context, detail, {
      ...(detail.scope === 'brand' && brandId !== null ? { brandId } : {}),
      member: member.id,
      reason: 'the detail of a listed row',
      priority: PRIORITY.detail,
      spare: true,
    }),
  );
}

/**
 * The range before `chain`, the oldest of a history. One goes on into the past until a whole range before the
 * newest is empty and begins before the brand did: what upstream says of a brand's age is no proof that nothing is
 * older. `firstDay` is the day of the first row in the range.
 */
export function planOlder(
  resource: Resource,
  chain: Chain,
  brand: Member,
  firstDay: string | null,
  context: PlanContext,
): Chain[] {
  const { from } = chain;
  if (!chain.oldest || from === null || context.range?.from === from) return [];
  const limit = addDays(context.today, -HISTORY_RANGES_MAX * RANGE_DAYS_MAX);
  const isNewest = chain.to === (context.range?.to ?? context.today);
  const wasThere = brand.since !== null && brand.since < from;
  const mayHaveMore = isNewest || wasThere || firstDay !== null;
  if (!mayHaveMore || from <= limit) return [];
  return make(context, resource, history(context, brand.id, addDays(from, -1))).filter((older) =>
    sameVariant(older, chain),
  );
}

/** A chain for each day of a report from its first day with a row on. */
export function planDays(resource: Resource, chain: Chain, firstDay: string | null, context: PlanContext): Chain[] {
  if (firstDay === null || chain.to === null || chain.brandId === null) return [];
  const chains: Chain[] = [];
  for (let day = firstDay; day <= chain.to; day = addDays(day, 1)) {
    const range = { from: day, to: day };
    chains.push(
      ...make(context, resource, {
        brandId: chain.brandId,
        range,
        reason: 'totals of the day',
        priority: PRIORITY.day,
        spare: true,
      }),
    );
  }
  return chains;
}

/** Windows over the whole history of a brand, from what its census counts per day. */
export function planWindows(
  resource: Resource,
  brand: Member,
  counts: ReadonlyMap<string, number>,
  context: PlanContext,
): Chain[] {
  const brandId = brand.id;
  const first = [...counts.keys(), ...(brand.since === null ? [] : [brand.since])].sort()[0];
  const to = context.range?.to ?? context.today;
  const from = context.range?.from ?? (first !== undefined && first < to ? first : to);
  const rangesOf = (chains: readonly { chain: ClosedChain | OpenChain; at: number }[]): DayRange[] =>
    chains.flatMap(({ chain, at }) => {
      const mine = chain.resource === resource.name && chain.brandId === brandId && isFresh(chain, at, context);
      return mine && chain.from !== null && chain.to !== null ? [{ from: chain.from, to: chain.to }] : [];
    });
  const closed = rangesOf(context.closed.map((chain) => ({ chain, at: chain.closedAt })));
  const open = rangesOf(context.open.map((chain) => ({ chain, at: chain.at })));
  const pageItems = resource.query['limit']?.max ?? 1;
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  const windows = packWindows({
    range: { from, to },
    counts,
    skip: [...closed, ...open],
    pageItems,
    pagesMin: pagesPerWindow(total, pageItems, context.connections),
  });
  const [oldest] = windows;
  // What lies before the first known day costs nothing to ask for with it, and whatever is there is not missed.
  if (oldest !== undefined && oldest.from === from && context.range === null) {
    windows[0] = { ...oldest, from: addDays(oldest.to, 1 - RANGE_DAYS_MAX) };
  }
  const resumed = open.map((range) => ({ ...range, items: 0, reason: 'goes on where the last run stopped' }));
  return [...windows.map((window) => ({ ...window, reason: 'not read yet in this pass' })), ...resumed].flatMap(
    (window) =>
      chainsOf(
        resource,
        {
          brandId,
          range: { from: window.from, to: window.to },
          expected: Math.ceil(window.items / pageItems),
          reason: window.reason,
          priority: PRIORITY.window,
        },
        context.names,
      ),
  );
}

/** Where a chain goes on: the page after the last committed one, when that is recent enough to still fit. */
export function resumePoint(chain: Chain, context: PlanContext): { cursor: string; pages: number } | null {
  const open = context.open.find((candidate) => candidate.id === chain.id);
  if (open === undefined || open.next === null || !isFresh(open, open.at, context)) return null;
  return { cursor: open.next, pages: open.pages };
}

/** The list's resources whose details follow when it is closed. */
export function followingDetails(catalogue: Catalogue, resource: Resource, context: PlanContext): Resource[] {
  return detailsOf(catalogue, resource.name).filter((detail) => context.wanted.has(detail.name));
}

function make(context: PlanContext, resource: Resource, scope: ChainScope): Chain[] {
  if (!context.wanted.has(resource.name)) return [];
  return chainsOf(resource, scope, context.names).filter(
    (chain) => scope.spare !== true || !wasReadJustNow(chain, context),
  );
}

// What is one request, or leads to other chains, is read again; what is many is not.
function wasReadJustNow(chain: Chain, context: PlanContext): boolean {
  const closed = context.closed.find((candidate) => candidate.id === chain.id);
  return closed !== undefined && context.now - closed.closedAt < MOVING_FRESH_MS;
}

function isFresh(chain: { to: string | null }, at: number, context: PlanContext): boolean {
  const past = chain.to !== null && chain.to < dayOf(at);
  return context.now - at < (past ? PAST_DAYS_FRESH_MS : MOVING_FRESH_MS);
}

function recentRange({ range, today }: PlanContext): DayRange {
  const to = range?.to ?? today;
  const from = range?.from ?? addDays(to, 1 - RECENT_DAYS);
  return { from: laterDay(from, addDays(to, 1 - RANGE_DAYS_MAX)), to };
}

function history(context: PlanContext, brandId: string, to: string): ChainScope {
  const from = laterDay(addDays(to, 1 - RANGE_DAYS_MAX), context.range?.from ?? '');
  return { brandId, range: { from, to }, reason: 'the whole history', priority: PRIORITY.history, oldest: true };
}

function sameVariant(a: Chain, b: Chain): boolean {
  const variant = ({ fixed }: Chain): string =>
    JSON.stringify(Object.entries(fixed).filter(([name]) => name !== 'range_from' && name !== 'range_to'));
  return variant(a) === variant(b);
}
