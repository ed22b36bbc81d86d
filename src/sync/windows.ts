import { addDays, daysInRange, RANGE_DAYS_MAX } from '../contract/time.ts';
import type { DayRange } from './chain.ts';

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
 * Tiles a range with windows: without gap or overlap, no longer than the API takes, and each of several full pages
 * where its days allow. Windows can be read side by side, which is what keeps the budget busy.
 */
export function packWindows(options: WindowOptions): Window[] {
  const { range, counts, skip, pageItems, pagesMin } = options;
  const windows: Window[] = [];
  let from: string | null = null;
  let items = 0;
  const close = (to: string): void => {
    if (from !== null) windows.push({ from, to, items });
    from = null;
    items = 0;
  };
  const days = daysInRange(range.from, range.to);
  for (let index = 0; index < days; index++) {
    const day = addDays(range.from, index);
    if (skip.some((covered) => covered.from <= day && day <= covered.to)) {
      close(addDays(day, -1));
      continue;
    }
    from ??= day;
    items += counts.get(day) ?? 0;
    if (items >= pagesMin * pageItems || daysInRange(from, day) >= RANGE_DAYS_MAX) close(day);
  }
  close(range.to);
  return windows;
}

/**
 * Pages a window should have: enough windows to keep every connection busy a few times over, and not so many that
 * their last pages cost more than a twentieth.
 */
export function pagesPerWindow(items: number, pageItems: number, connections: number): number {
  const pages = Math.ceil(items / pageItems);
  return Math.min(20, Math.max(1, Math.floor(pages / (connections * 4))));
}
