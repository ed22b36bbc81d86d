import { eachDay, earlierDay, laterDay, RANGE_DAYS_MAX } from '../../contract/time.ts';
import type { DayRange } from '../slice.ts';

/** Share of its minimum size from which a window may end. */
const LEAST_FILLED = 0.9;
/**
 * Number of days searched for an end with a full last page; if days have few items, at least a page's worth of days.
 */
const LOOK_AHEAD_DAYS = 8;
/** Share of unused places in a window that ends the search. */
const FULL_ENOUGH = 0.02;

/** A range to read page by page, with the expected number of items. */
export interface Window extends DayRange {
  readonly items: number;
}

/** Options of `packWindows`. */
export interface WindowOptions {
  /** First and last day to cover. */
  readonly range: DayRange;
  /** Items per day; missing days have none. */
  readonly counts: ReadonlyMap<string, number>;
  /** Days to skip, because they are up to date or part of an unfinished slice. */
  readonly skip: readonly DayRange[];
  readonly pageItems: number;
  /** Minimum pages per window, so that a partly filled last page matters little. */
  readonly pagesMin: number;
}

/**
 * Splits a range into windows without gaps or overlaps. A window is no longer than the API allows, has at least
 * `pagesMin` pages if its days allow, and ends on the day that fills its last page best. Parallel windows keep the
 * budget busy.
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

// Packs consecutive days.
function packDays(
  days: readonly string[],
  counts: ReadonlyMap<string, number>,
  { pageItems, pagesMin }: WindowOptions,
): Window[] {
  const leastItems = pagesMin * pageItems;
  const windows: Window[] = [];
  for (let start = 0; start < days.length;) {
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

// Share of the pages' places that stay empty.
function emptyShare(items: number, pageItems: number): number {
  const pages = Math.max(1, Math.ceil(items / pageItems));
  return (pages * pageItems - items) / (pages * pageItems);
}

/**
 * Returns the minimum pages per window. The result gives every connection several windows, and limits the cost of
 * partly filled last pages to a twentieth.
 */
export function pagesPerWindow(items: number, pageItems: number, connections: number): number {
  const pages = Math.ceil(items / pageItems);
  return Math.min(20, Math.max(1, Math.floor(pages / (connections * 4))));
}
