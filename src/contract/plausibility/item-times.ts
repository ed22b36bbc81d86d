import type { Resource } from '../catalogue.ts';
import type { Refusal, Values } from '../rows.ts';
import type { ResourceTable } from '../tables.ts';
import { addDays, laterDay, RANGE_DAYS_MAX } from '../time.ts';

/**
 * Earliest plausible day of an item. AI engines are younger, so earlier days are zero values such as 0001-01-01 and
 * 1970-01-01. A resource with older items declares `earliest`.
 */
export const EARLIEST_DAY = '2015-01-01';
/** Maximum days between upstream's current day and a later item, because time zones are up to 14 hours ahead of UTC. */
const FUTURE_DAYS_MAX = 1;
/** Maximum number of planned 366-day ranges, counted back from upstream's current day. */
const HISTORY_RANGES_MAX = 20;

/** Number of 366-day ranges before the first planned day in which a read may begin. */
const RANGES_BEFORE_MAX = 2;

/** Allowed days of the items of one page. */
export interface TimeScope {
  /** Requested days, inclusive; null if the request has no days. */
  readonly range: { readonly from: string; readonly to: string } | null;
  /** Upstream's current day, UTC. */
  readonly today: string;
}

/**
 * Creates the time check of a resource's rows. The time that is the table's extent must lie within the requested days; all
 * other times must lie between the earliest plausible day and the day after `today`. Values must be in UTC. Members of a scope
 * (brands) are never rejected, because they exist even if their times are wrong; see `plausibleSince`.
 */
export function createTimeCheck(
  resource: Resource,
  { range, today }: TimeScope,
): (table: ResourceTable, values: Values) => Refusal | null {
  const { earliest, latest } = itemDays(resource, today);
  // Each row of a page is checked.
  const times = new Map<ResourceTable, readonly TimeColumn[]>();
  return (table, values) => {
    // Nothing is known of the times of an inferred resource, and no plan depends on them.
    if (resource.provides !== undefined || resource.generic === true) return null;
    const columns = times.get(table) ?? timesOf(table);
    times.set(table, columns);
    for (const { name, path } of columns) {
      const isExtent = range !== null && table.extent.kind === 'time' && table.extent.field === name;
      const value = values[name];
      if (value === null || value === undefined) {
        if (!isExtent) continue;
        return refusal(table, path, value, `the requested days ${range.from} to ${range.to}`, 'the requested days');
      }
      const day = String(value).slice(0, 10);
      if (isExtent ? range.from <= day && day <= range.to : earliest <= day && day <= latest) continue;
      return isExtent
        ? refusal(table, path, value, `the requested days ${range.from} to ${range.to}`, 'the requested days')
        : refusal(table, path, value, `${earliest} to ${latest}`, `${earliest} to the day after today`);
    }
    return null;
  };
}

/** Returns the first and last plausible day of the resource's items. */
export function itemDays({ earliest = EARLIEST_DAY }: Resource, today: string): { earliest: string; latest: string } {
  return { earliest, latest: addDays(today, FUTURE_DAYS_MAX) };
}

/** Returns the time and day columns of a table with the path of the field of each. */
export function timesOf(table: ResourceTable): readonly TimeColumn[] {
  return table.columns.flatMap(({ name, kind, source }) =>
    source.from === 'item' && (kind === 'timestamp' || kind === 'day') ? [{ name, path: source.path.join('.') }] : [],
  );
}

/** A time or day column, and the path of its field. */
interface TimeColumn {
  readonly name: string;
  readonly path: string;
}

/** Returns the first day with data of a brand, or null if it is missing or implausible. */
export function plausibleSince(since: string | null, today: string): string | null {
  return since !== null && EARLIEST_DAY <= since && since <= addDays(today, FUTURE_DAYS_MAX) ? since : null;
}

/** Returns the earliest day that a plan may contain. */
export function firstPlannedDay(today: string): string {
  return laterDay(EARLIEST_DAY, addDays(today, -HISTORY_RANGES_MAX * RANGE_DAYS_MAX));
}

/**
 * Returns the earliest plausible start of a stored range. It is before the first planned day, because the read of a history
 * ends with an empty range.
 */
export function firstReadDay(today: string): string {
  return addDays(firstPlannedDay(today), -RANGES_BEFORE_MAX * RANGE_DAYS_MAX);
}

function refusal(table: ResourceTable, path: string, value: unknown, days: string, allowed: string): Refusal {
  const { at } = table.declaration;
  const full = at === 'body' ? path : `${at.list}[].${path}`;
  const reason = `${path} is ${value === null || value === undefined ? 'null' : String(value)}; allowed: ${days}`;
  return { reason, implausible: { path: full, allowed: `within ${allowed}`, value: value ?? null } };
}
