import { eachDay, earlierDay, laterDay, RANGE_DAYS_MAX } from '../contract/time.ts';
import type { DayRange } from './chain.ts';

/** Part of its least size from which on a window may end. */
const LEAST_FILLED = 0.9;
/** Days, and with few items a day a page's worth of them, that are looked at for an end at which the last page is full. */
const LOOK_AHEAD_DAYS = 8;
/** Part of a window's places that may stay empty without looking further. */
const FULL_ENOUGH = 0.02;

/** A range to be read by pages, with the items expected in it. */
export interface Window extends DayRange {
  readonly items: number;
}

/** What windows are made from. */
export interface WindowOptions {
  /** First and last day to cover. */
  readonly range: DayRange;
  /** Items per day; a day that is not there has none. */
  readonly counts: ReadonlyMap<string, number>;
  /** Days not to cover, because they are covered already or by a chain under way. */
  readonly skip: readonly DayRange[];
  readonly pageItems: number;
  /** Pages a window should at least have, so that its last, partly filled one weighs little. */
  readonly pagesMin: number;
}

/**
 * Tiles a range with windows: without gap or overlap, no longer than the API takes, each of several pages where its days
 * allow, and ended where its last page comes fullest. Windows can be read side by side, which is what keeps the budget
 * busy.
 */
export function packWindows(options: WindowOptions): Window[] {
  const { range, counts, skip } = options;
  const skipped = new Set(
    skip.flatMap(({ from, to }) => [...eachDay(laterDay(from, range.from), earlierDay(to, range.to))]),
  );
  const windows: Window[] = [];
  let days: string[] = [];
  for (const day of eachDay(range.from, range.to)) {
    if (skipped.has(day)) {
      windows.push(...packDays(days, counts, options));
      days = [];
    } else days.push(day);
  }
  return [...windows, ...packDays(days, counts, options)];
}

// Days without a gap between them.
function packDays(
  days: readonly string[],
  counts: ReadonlyMap<string, number>,
  { pageItems, pagesMin }: WindowOptions,
): Window[] {
  const leastItems = pagesMin * pageItems;
  const windows: Window[] = [];
  for (let start = 0; start < days.length; ) {
    let items = 0;
    let ahead = 0;
    let best = { end: start, items: 0, empty: Number.POSITIVE_INFINITY };
    const last = Math.min(days.length, start + RANGE_DAYS_MAX) - 1;
    for (let end = start; end <= last; end++) {
      items += counts.get(days[end] as string) ?? 0;
      if (items < LEAST_FILLED * leastItems && end < last) continue;
      const empty = emptyShare(items, pageItems);
      if (empty < best.empty) best = { end, items, empty };
      ahead += 1;
      if (empty <= FULL_ENOUGH || (ahead > LOOK_AHEAD_DAYS && items > leastItems + pageItems)) break;
    }
    windows.push({ from: days[start] as string, to: days[best.end] as string, items: best.items });
    start = best.end + 1;
  }
  return windows;
}

// Places on the last page that stay empty, of all the pages' places.
function emptyShare(items: number, pageItems: number): number {
  const pages = Math.max(1, Math.ceil(items / pageItems));
  return (pages * pageItems - items) / (pages * pageItems);
}

/**
 * Pages a window should have: enough windows to keep every connection busy a few times over, and not so many that
 * their last pages cost more than a twentieth.
 */
export function pagesPerWindow(items: number, pageItems: number, connections: number): number {
  const pages = Math.ceil(items / pageItems);
  return Math.min(20, Math.max(1, Math.floor(pages / (connections * 4))));
}
