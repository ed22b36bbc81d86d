import type { Resource } from '../../contract/catalogue.ts';
import { addDays } from '../../contract/time.ts';
import type { Member } from '../../warehouse/ledger/slice-state.ts';
import type { Slice } from '../slice.ts';
import type { PlanContext } from './plan-context.ts';
import { type CountedDays, planDays } from './plan-windows.ts';

/** A day is read again if its last read is at least this old, so that two syncs of one day do not read it twice. */
export const REREAD_AFTER_MS = 20 * 3_600_000;
/** Days before today that get half of the requests, because upstream edits recent items most often. */
const RECENT_DAYS = 14;
const REASON = 'read longest ago, may have been edited';

/** The days of a list of a brand, with the last read of each in epoch milliseconds. */
export interface ReadDays {
  readonly resource: Resource;
  readonly brand: Member;
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
 * Plans to read again the days whose last read is oldest: an edit that changes no day count shows only in the items. Half of the
 * requests are for the last 14 days. Of days read at the same time, later ones come first.
 */
export function planRereads(
  lists: readonly ReadDays[],
  { requests, before, context }: RereadOptions,
): ReadonlyMap<ReadDays, readonly Slice[]> {
  const candidates = lists.flatMap((list) => candidatesOf(list, before)).toSorted(byLastRead);
  const recent = candidates.filter(({ day }) => day >= addDays(context.today, -RECENT_DAYS));
  const first = takeWithin(recent, Math.ceil(requests / 2), context);
  // The limit of the half leaves out days that fill more pages.
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
  // The last page of a window is not full.
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
