import type { WarehouseTable } from '../../contract/catalogue.ts';
import { literal, quoted } from '../../warehouse/schema.ts';

/** Time that a row covers: a moment, a day, a week from Monday, a month, or a range of days. */
type PeriodUnit = 'moment' | 'day' | 'week' | 'month' | 'range';

/** How a table's rows are assigned to days. */
export interface Period {
  /** Column with the moment, or with the first day of the period. */
  readonly column: string;
  readonly unit: PeriodUnit;
  /** SQL expressions of the first and the last day, both included. */
  readonly first: string;
  readonly last: string;
}

/** Selected days as YYYY-MM-DD, both included; null is unbounded. */
export interface DayRange {
  readonly from: string | null;
  readonly to: string | null;
}

/** DATE columns of views that contain the day or the first day of the period of a row. The first that exists counts. */
const UNITS: Readonly<Record<string, PeriodUnit>> = { day: 'day', date: 'day', week: 'week', month: 'month' };
/** Columns of tables whose rows have numbers for a range of days. */
const RANGE = ['range_from', 'range_to'] as const;

/**
 * Returns the period of a table's rows, or null if they have none: the declared time, the only day in the key, or the range of
 * days. For a view it is a DATE column with a known name.
 */
export function periodOf(
  columns: readonly { readonly name: string; readonly type: string }[],
  table: WarehouseTable | undefined,
): Period | null {
  if (table === undefined) {
    const days = columns.filter(({ type }) => type === 'DATE').map(({ name }) => name);
    const named = Object.keys(UNITS).find((name) => days.includes(name));
    return named === undefined ? null : createPeriod(named, UNITS[named] as PeriodUnit);
  }
  if (table.time !== undefined) return createPeriod(table.time, 'moment');
  const days = table.columns.filter(({ name, kind, source }) => {
    return kind === 'day' && table.key.includes(name) && source.from !== 'request';
  });
  const [day] = days;
  if (days.length === 1 && day !== undefined) return createPeriod(day.name, 'day');
  return RANGE.every((name) => columns.some((column) => column.name === name)) ? createPeriod(RANGE[0], 'range') : null;
}

function createPeriod(column: string, unit: PeriodUnit): Period {
  const first = `CAST(${quoted(column)} AS DATE)`;
  const last = {
    moment: first,
    day: first,
    week: `${first} + 6`,
    month: `last_day(${first})`,
    range: quoted(RANGE[1]),
  };
  return { column, unit, first, last: last[unit] };
}

/** Returns the SQL conditions of rows whose period has a day in the range. */
export function overlaps({ first, last }: Period, { from, to }: DayRange): string[] {
  return [
    ...(from === null ? [] : [`${last} >= CAST(${literal(from)} AS DATE)`]),
    ...(to === null ? [] : [`${first} <= CAST(${literal(to)} AS DATE)`]),
  ];
}

/** Returns the SQL condition of rows whose period has a day outside the range. */
export function exceeds({ first, last }: Period, { from, to }: DayRange): string {
  const sides = [
    ...(from === null ? [] : [`${first} < CAST(${literal(from)} AS DATE)`]),
    ...(to === null ? [] : [`${last} > CAST(${literal(to)} AS DATE)`]),
  ];
  return sides.length === 0 ? 'false' : `(${sides.join(' OR ')})`;
}
