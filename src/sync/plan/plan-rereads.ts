import type { Resource } from '../../contract/catalogue.ts';
import { addDays } from '../../contract/time.ts';
import type { ListedBrand } from '../../warehouse/brand-list.ts';
import type { Slice } from '../slice.ts';
import type { PlanContext } from './plan-context.ts';
import { type CountedDays, planDays } from './plan-windows.ts';

/** Minimum age of the last read of a re-read day. Two syncs of one day do not re-read the same days. */
export const REREAD_AFTER_MS = 20 * 3_600_000;
/** Half of the requests are for this number of days before today, because upstream edits recent items most often. */
const RECENT_DAYS = 14;
const REASON = 'least recently read, may have been edited';

/** The days of a brand's list, and the time of the last read of each day in epoch milliseconds. */
export interface ReadDays {
  readonly resource: Resource;
  readonly brand: ListedBrand;
  readonly days: CountedDays['days'];
  readonly readAt: ReadonlyMap<string, number>;
}

/** Limits of rereads. */
export interface RereadOptions {
  /** Requests, at most. */
  readonly requests: number;
  /** Only days read before this time, in epoch milliseconds. */
  readonly before: number;
  readonly context: PlanContext;
}

interface Candidate {
  readonly list: ReadDays;
  readonly day: string;
  /** Pages that the items of the day fill. */
  readonly pages: number;
  readonly readAt: number;
}

/**
 * Plans to re-read the least recently read days, because an edit that changes no day count is visible only in the items. Half of the
 * requests are for the last 14 days. If two days were read at the same time, the later day comes first.
 */
export function planRereads(
  lists: readonly ReadDays[],
  { requests, before, context }: RereadOptions,
): ReadonlyMap<ReadDays, readonly Slice[]> {
  const candidates = lists.flatMap((list) => candidatesOf(list, before)).toSorted(byLastRead);
  const recent = candidates.filter(({ day }) => day >= addDays(context.today, -RECENT_DAYS));
  const first = takeWithin(recent, Math.ceil(requests / 2), context);
  // If no day fits into half of the requests, use all of them.
  const chosen = first.length > 0 ? first : takeWithin(recent, requests, context);
  const others = candidates.filter((candidate) => !chosen.includes(candidate));
  return slicesOf([...chosen, ...takeWithin(others, requests, context, chosen)], context);
}

function candidatesOf(list: ReadDays, before: number): Candidate[] {
  const pageItems = list.resource.query['limit']?.max ?? 1;
  return list.days.flatMap(({ day, upstream }) => {
    const readAt = list.readAt.get(day) ?? 0;
    return upstream > 0 && readAt < before ? [{ list, day, pages: upstream / pageItems, readAt }] : [];
  });
}

function byLastRead(a: Candidate, b: Candidate): number {
  return a.readAt - b.readAt || (a.day > b.day ? -1 : 1);
}

// Takes candidates in order as long as they cost no more than `requests` together with those chosen before.
function takeWithin(
  candidates: readonly Candidate[],
  requests: number,
  context: PlanContext,
  before: readonly Candidate[] = [],
): Candidate[] {
  const taken: Candidate[] = [];
  let pages = before.reduce((sum, candidate) => sum + candidate.pages, 0);
  for (const candidate of candidates) {
    pages += candidate.pages;
    if (pages > requests) break;
    taken.push(candidate);
  }
  // Each window ends with a partly filled page, so the slices may cost more than the sum of the pages.
  while (taken.length > 0 && costOf(slicesOf([...before, ...taken], context)) > requests) taken.pop();
  return taken;
}

function slicesOf(chosen: readonly Candidate[], context: PlanContext): Map<ReadDays, readonly Slice[]> {
  const lists = new Set(chosen.map(({ list }) => list));
  return new Map(
    [...lists].map((list) => {
      const days = chosen.flatMap((candidate) => (candidate.list === list ? [candidate.day] : []));
      return [list, planDays(list.resource, list.brand, days, list, { reason: REASON, context })];
    }),
  );
}

/** Expected requests of planned rereads. */
export function costOf(rereads: ReadonlyMap<ReadDays, readonly Slice[]>): number {
  return [...rereads.values()].flat().reduce((sum, { expected }) => sum + expected, 0);
}
