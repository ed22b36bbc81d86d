import type { Resource } from '../contract/catalogue.ts';
import type { Refusal, Values } from '../contract/rows.ts';
import type { ResourceTable } from '../contract/tables.ts';
import { addDays, laterDay, RANGE_DAYS_MAX } from '../contract/time.ts';

/**
 * Earliest plausible day of an item. AI answer engines, and services that watch them, are younger; what remains are
 * zero values such as 0001-01-01 and 1970-01-01. A resource with older items declares `earliest`.
 */
export const EARLIEST_DAY = '2015-01-01';
/** Days after upstream's current day that an item's time may lie on: time zones are up to 14 hours apart. */
const FUTURE_DAYS_MAX = 1;
/** Ranges of 366 days that are planned at most, counted back from upstream's current day. */
const HISTORY_RANGES_MAX = 20;

/** Ranges of 366 days before the first planned day that a read may begin in. */
const RANGES_BEFORE_MAX = 2;

/** What the items of one page may be dated. */
export interface TimeScope {
  /** The requested days, both included; null for a list that is not asked for by days. */
  readonly range: { readonly from: string; readonly to: string } | null;
  /** Upstream's current day, UTC. */
  readonly today: string;
}

/**
 * Creates the check of a resource's items: why a row is refused, or null. An item of a range must lie in the requested
 * days, by the time that is its table's extent; every other time must lie between the earliest plausible day and the day
 * after `today`. Values are in UTC already. The members of a scope (brands) are never refused: they exist whatever their
 * times say, and `plausibleSince` decides whether the times are believed.
 */
export function createTimeCheck(
  resource: Resource,
  { range, today }: TimeScope,
): (table: ResourceTable, values: Values) => Refusal | null {
  const { earliest, latest } = itemDays(resource, today);
  return (table, values) => {
    if (resource.provides !== undefined) return null;
    for (const { name, path } of timesOf(table)) {
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

/** First and last day that a time of the resource's items may lie on. */
export function itemDays({ earliest = EARLIEST_DAY }: Resource, today: string): { earliest: string; latest: string } {
  return { earliest, latest: addDays(today, FUTURE_DAYS_MAX) };
}

/** The columns of a table that hold a time or a day of an item, with the field each comes from. */
export function timesOf(table: ResourceTable): { readonly name: string; readonly path: string }[] {
  return table.columns.flatMap(({ name, kind, source }) =>
    source.from === 'item' && (kind === 'timestamp' || kind === 'day') ? [{ name, path: source.path.join('.') }] : [],
  );
}

/** The day since which a brand has data, or null if upstream gives none that is plausible. */
export function plausibleSince(since: string | null, today: string): string | null {
  return since !== null && EARLIEST_DAY <= since && since <= addDays(today, FUTURE_DAYS_MAX) ? since : null;
}

/** The first day that plans take into account, whatever rows and records say. */
export function firstPlannedDay(today: string): string {
  return laterDay(EARLIEST_DAY, addDays(today, -HISTORY_RANGES_MAX * RANGE_DAYS_MAX));
}

/** The first day that a range read by an earlier run may begin on: histories end in an empty range before the first day. */
export function firstReadDay(today: string): string {
  return addDays(firstPlannedDay(today), -RANGES_BEFORE_MAX * RANGE_DAYS_MAX);
}

function refusal(table: ResourceTable, path: string, value: unknown, where: string, allowed: string): Refusal {
  const { at } = table.declaration;
  const full = at === 'body' ? path : `${at.list}[].${path}`;
  const reason = `${path} is ${value === null || value === undefined ? 'null' : String(value)}; allowed: ${where}`;
  return { reason, implausible: { path: full, allowed: `within ${allowed}`, value: value ?? null } };
}
