import type { Catalogue, Resource } from '../contract/catalogue.ts';
import type { DayOf } from '../contract/plausibility/day-zone.ts';
import type { Query as CheckedQuery } from '../contract/query-parameters.ts';
import { eachDay } from '../contract/time.ts';
import { changeRanges } from '../metrics/numbers/report-request.ts';
import { looksBack, sourcesOf } from '../metrics/numbers/reports.ts';
import type { Query } from '../warehouse/database.ts';
import type { DaysOf } from '../warehouse/ledger/echoed-days.ts';
import { readEmptyDays } from '../warehouse/ledger/empty-days.ts';
import { MISSING } from '../warehouse/ledger/ledger.ts';
import {
  type BrandTotals,
  readTotals,
  totalsOf,
  totalsResources,
  totalsWithin,
} from '../warehouse/ledger/reported-totals.ts';

/** When the data behind a response were last read completely, and whether any part was never read completely. */
export interface Covered {
  /** Epoch milliseconds of the oldest part; null if no part was read. */
  readonly asOf: number | null;
  readonly partial: boolean;
}

/** Which data have been read completely, and when. Times are upstream's. */
export interface Coverage {
  /** A full list or singleton of the workspace or of a brand, or the list with these values of path parameters and of `each`. */
  list(resource: Resource, brandId: string | null, chosen?: Readonly<Record<string, string>>): Covered;
  /** Whether the last read found that upstream does not have the list (404). */
  isMissing(resource: Resource, brandId: string | null, chosen: Readonly<Record<string, string>>): boolean;
  /** The detail of one row of a list. */
  detail(resource: Resource, brandId: string | null, id: string): Covered;
  /**
   * The days of a range, starting at `since`, the first day with data. A day that was still open when it was fetched,
   * but is over now, counts as partial.
   */
  days(resource: Resource, brandId: string | null, range: CoveredRange, nowMs: number): Covered;
  /** Whether the totals of a range are known, for a report with totals by range. */
  totals(resource: Resource, brandId: string | null, range: CoveredRange, nowMs: number): boolean;
}

/** An inclusive range of days, and the first day with data, or null if that is not known. */
export interface CoveredRange {
  readonly from: string;
  readonly to: string;
  readonly since: string | null;
}

interface ClosedSlice {
  readonly id: string;
  readonly from: string | null;
  readonly to: string | null;
  readonly closedAt: number;
  readonly isMissing?: true;
}

/** Reads the coverage of all slices. `days` are the days of each resource and brand. */
export async function readCoverage(query: Query, catalogue: Catalogue, days: DaysOf): Promise<Coverage> {
  const rows = await query(
    // Days whose stored data agree with upstream's day counts also count as read.
    `SELECT slice, resource, CAST(brand_id AS VARCHAR), CAST(range_from AS VARCHAR), CAST(range_to AS VARCHAR),
       epoch_ms(closed_at) AS at_ms, state FROM sync.coverage
     UNION ALL SELECT 'day counts', resource, CAST(brand_id AS VARCHAR), CAST(day AS VARCHAR), CAST(day AS VARCHAR),
       epoch_ms(checked_at), NULL FROM sync.audits WHERE agreed
     ORDER BY at_ms`,
  );
  const slices = new Map<string, ClosedSlice[]>();
  for (const [id, resource, brandId, from, to, closedAt, state] of rows) {
    const key = keyOf(String(resource), brandId as string | null);
    const list = slices.get(key) ?? [];
    slices.set(key, list);
    const isMissing = state === MISSING ? { isMissing: true as const } : {};
    const range = { from: from as string | null, to: to as string | null };
    list.push({ id: String(id), ...range, closedAt: Number(closedAt), ...isMissing });
  }
  for (const resource of catalogue.resources) {
    for (const [brandId, empty] of await readEmptyDays(query, catalogue, resource)) {
      const own = slices.get(keyOf(resource.name, brandId)) ?? [];
      slices.set(keyOf(resource.name, brandId), own);
      const read = new Set(own.flatMap(({ from, to }) => (from === null || to === null ? [] : [...eachDay(from, to)])));
      for (const [day, closedAt] of empty)
        if (!read.has(day)) own.push({ id: 'day counts', from: day, to: day, closedAt });
    }
  }
  const of = (resource: Resource, brandId: string | null): ClosedSlice[] =>
    slices.get(keyOf(resource.name, resource.scope === 'brand' ? brandId : null)) ?? [];
  const totals = new Map<string, ReadonlyMap<string, BrandTotals>>();
  for (const resource of totalsResources(catalogue)) totals.set(resource.name, await readTotals(query, resource));
  const dayMaps = new Map<string, Map<string, number>>();
  const daysOf = (resource: Resource, brandId: string | null): Map<string, number> => {
    const key = keyOf(resource.name, brandId);
    const known = dayMaps.get(key) ?? toDays(of(resource, brandId));
    dayMaps.set(key, known);
    return known;
  };
  return {
    list: (resource, brandId, chosen = {}) => newest(chosenIn(of(resource, brandId), chosen)),
    isMissing: (resource, brandId, chosen) => chosenIn(of(resource, brandId), chosen).at(-1)?.isMissing === true,
    detail: (resource, brandId, id) => {
      const own = newest(of(resource, brandId).filter((slice) => slice.id.endsWith(`id=${id}`)));
      if (own.asOf === null || resource.change.kind !== 'detail') return own;
      // A detail is fetched again when its row in the list changes, so a newer list confirms the detail.
      const list = newest(slices.get(keyOf(resource.change.of, resource.scope === 'brand' ? brandId : null)) ?? []);
      return { ...own, asOf: Math.max(own.asOf, list.asOf ?? 0) };
    },
    days: (resource, brandId, range, nowMs) =>
      coveredDays(daysOf(resource, brandId), range, days(resource.name, brandId), nowMs),
    totals: (resource, brandId, range, nowMs) => {
      const known = totals.get(resource.name)?.get(brandId ?? '');
      if (totalsOf(resource) === null) return true;
      return known !== undefined && totalsWithin(known, range, range.since, nowMs) !== null;
    },
  };
}

/** The parts of a request that determine its coverage. */
export interface CoveredRequest {
  readonly catalogue: Catalogue;
  readonly resource: Resource;
  readonly brandId: string | null;
  readonly member: string | null;
  /** Path parameters from the row of another list; default: none. */
  readonly parent?: Readonly<Record<string, string>>;
  readonly asked: CheckedQuery;
  /** First day with data of the brand; null if not known. */
  readonly since: string | null;
  readonly nowMs: number;
}

/** Returns the coverage of all data behind the response to a request. */
export function coveredBy(coverage: Coverage, request: CoveredRequest): Covered {
  const { catalogue, resource, brandId, member, asked, since, nowMs } = request;
  if (member !== null) return coverage.detail(resource, resource.scope === 'brand' ? brandId : null, member);
  const { computes } = resource;
  const own = computes === undefined ? [resource] : sourcesOf(computes).map((name) => catalogue.get(name));
  const filters = Object.entries(resource.query).flatMap(([name, { filter }]) =>
    filter?.by === 'list' && asked.values[name] !== undefined ? [catalogue.get(filter.resource)] : [],
  );
  const from =
    computes !== undefined && looksBack(computes)
      ? changeRanges(asked, { changePeriod: 'adjacent' }).before.from
      : asked.from;
  const range = { from, to: asked.to, since };
  const covered = worstOf(
    [...own, ...filters].map((source) =>
      source.change.kind === 'window' || source.change.kind === 'report'
        ? coverage.days(source, brandId, range, nowMs)
        : coverage.list(source, brandId, source === resource ? chosenOf(request) : undefined),
    ),
  );
  return {
    ...covered,
    partial: covered.partial || !own.every((source) => coverage.totals(source, brandId, range, nowMs)),
  };
}

/** Returns the values that select one of the lists of a resource: path parameters, and the value of `each`. */
export function chosenOf({
  resource: { each },
  parent = {},
  asked,
}: Pick<CoveredRequest, 'resource' | 'parent' | 'asked'>): Readonly<Record<string, string>> {
  const value = each === undefined ? undefined : asked.values[each.parameter];
  return each === undefined || value === undefined ? parent : { ...parent, [each.column]: String(value) };
}

function chosenIn(slices: readonly ClosedSlice[], chosen: Readonly<Record<string, string>>): ClosedSlice[] {
  const parts = Object.entries(chosen).map(([name, value]) => ` ${name}=${value}`);
  return slices.filter(({ id }) => parts.every((part) => `${id} `.includes(`${part} `)));
}

/** Combines several parts: the oldest time, and partial if any part is. */
export function worstOf(parts: readonly Covered[]): Covered {
  const times = parts.flatMap(({ asOf }) => asOf ?? []);
  return {
    asOf: times.length === 0 ? null : Math.min(...times),
    partial: parts.some(({ partial }) => partial),
  };
}

function keyOf(resource: string, brandId: string | null): string {
  return `${resource} ${brandId ?? ''}`;
}

function newest(slices: readonly ClosedSlice[]): Covered {
  const asOf = slices.reduce<number | null>((latest, { closedAt }) => Math.max(latest ?? closedAt, closedAt), null);
  return { asOf, partial: asOf === null };
}

// Slices are ordered by closing time, so the latest slice determines the time of its days. Empty days, which no slice has, come last.
function toDays(slices: readonly ClosedSlice[]): Map<string, number> {
  const days = new Map<string, number>();
  for (const { from, to, closedAt } of slices) {
    if (from === null || to === null) continue;
    for (const day of eachDay(from, to)) days.set(day, closedAt);
  }
  return days;
}

function coveredDays(
  days: ReadonlyMap<string, number>,
  { from, to, since }: CoveredRange,
  dayAt: DayOf,
  nowMs: number,
): Covered {
  const today = dayAt(nowMs);
  let asOf: number | null = null;
  let partial = false;
  const first = since !== null && since > from ? since : from;
  for (const day of eachDay(first, to)) {
    if (day > today) break;
    const closedAt = days.get(day);
    if (closedAt === undefined || (day < today && dayAt(Math.min(closedAt, nowMs)) <= day)) partial = true;
    if (closedAt !== undefined) asOf = Math.min(asOf ?? closedAt, closedAt);
  }
  // A range before the first day with data is as current as the newest day.
  if (asOf === null && !partial && days.size > 0) asOf = Math.max(...days.values());
  return { asOf, partial };
}
