import type { Catalogue, Resource } from '../../contract/catalogue.ts';
import type { DayOf } from '../../contract/plausibility/day-zone.ts';
import { type ReportedTotals, type ResolvedTotals, resolveTotals } from '../../contract/plausibility/range-totals.ts';
import type { RangeTotals } from '../../contract/resource.ts';
import { earlierDay, laterDay } from '../../contract/time.ts';
import type { Query } from '../database.ts';
import { literal, quoted } from '../schema.ts';
import { readDaysOf } from './echoed-days.ts';

/** Days up to today whose totals every sync completes. Older days are filled in the background. */
export const RECENT_TOTALS_DAYS = 30;
/** Requests for totals of older days, per sync. */
export const BACKFILL_REQUESTS_MAX = 24;

/** The totals of one brand, and the days with rows of the report. */
export interface BrandTotals {
  readonly resolved: ResolvedTotals;
  /** Days with rows, in order. */
  readonly rowDays: readonly string[];
  /** First day of all ranges that were ever read. */
  readonly first: string;
  /** Days of the report. */
  readonly days: DayOf;
}

/** Returns the reports with totals by range. */
export function totalsResources({ resources }: Pick<Catalogue, 'resources'>): Resource[] {
  return resources.filter((resource) => totalsOf(resource) !== null);
}

/** Returns the totals by range that a report declares, or null. */
export function totalsOf({ change }: Pick<Resource, 'change'>): RangeTotals | null {
  return change.kind === 'report' ? (change.eachDay ?? null) : null;
}

/**
 * Reads and resolves the totals of a report, by brand; of one brand if `brandId` is set. Other resources have none. With `isServed` totals
 * without coverage are included, such as those of a restored snapshot; a sync has to read them again.
 */
export async function readTotals(
  query: Query,
  resource: Resource,
  brandId: string | null = null,
  isServed = false,
): Promise<ReadonlyMap<string, BrandTotals>> {
  const totals = totalsOf(resource);
  if (totals === null) return new Map();
  const scope = brandId === null ? '' : `AND t.brand_id = CAST(${literal(brandId)} AS UUID)`;
  const columns = totals.adds.map((column) => `CAST(t.${quoted(column)} AS DOUBLE)`);
  // The time of a read is that of its slice: an unchanged row keeps the time of its first read.
  const reads = await query(
    `SELECT CAST(t.brand_id AS VARCHAR), strftime(t.range_from, '%Y-%m-%d'), strftime(t.range_to, '%Y-%m-%d'),
       CAST(epoch_ms(coalesce(c.closed_at, t._synced_at)) AS DOUBLE) AS read_at, ${columns.join(', ')}
     FROM ${quoted(totals.table)} t ${isServed ? 'LEFT ' : ''}JOIN sync.coverage c ON c.resource = ${literal(resource.name)}
       AND c.brand_id = t.brand_id AND c.range_from = t.range_from AND c.range_to = t.range_to
     WHERE t._deleted_at IS NULL ${scope} ORDER BY read_at, t.range_to`,
  );
  const rowDays = await readRowDays(query, resource, scope);
  const daysOf = await readDaysOf(query, brandId);
  const reported = new Map<string, ReportedTotals[]>();
  for (const [brand, from, to, readAt, ...values] of reads) {
    const list = reported.get(String(brand)) ?? [];
    reported.set(String(brand), list);
    const numbers = values.map((value) => (value === null ? null : Number(value)));
    list.push({ from: String(from), to: String(to), readAt: Number(readAt), values: numbers });
  }
  return new Map(
    [...reported].map(([brand, list]) => {
      const days = rowDays.get(brand) ?? [];
      const hasRows = (from: string, to: string): boolean => days.some((day) => from <= day && day <= to);
      const [first = ''] = list.map(({ from }) => from).sort();
      const resolved = resolveTotals(list, { hasRows });
      return [brand, { resolved, rowDays: days, first, days: daysOf(resource.name, brand) }];
    }),
  );
}

/** Totals of a range; days before `since` and after the day at `nowMs` have none. Null if the range is not known completely. */
export function totalsWithin(
  { resolved, days }: BrandTotals,
  { from, to }: { readonly from: string; readonly to: string },
  since: string | null,
  nowMs: number,
): readonly (number | null)[] | null {
  const whole = resolved.range(from, to);
  const [first, last] = [laterDay(from, since ?? from), earlierDay(to, days(nowMs))];
  return whole ?? (first > last ? [] : resolved.range(first, last));
}

async function readRowDays(query: Query, { derived }: Resource, scope: string): Promise<Map<string, string[]>> {
  const days = new Map<string, string[]>();
  for (const { name, extent } of derived) {
    if (extent.kind !== 'time') continue;
    const rows = await query(
      `SELECT DISTINCT CAST(t.brand_id AS VARCHAR), strftime(t.${quoted(extent.field)}, '%Y-%m-%d') AS day FROM ${quoted(name)} t
       WHERE t._deleted_at IS NULL ${scope} ORDER BY day`,
    );
    for (const [brand, day] of rows) {
      const own = days.get(String(brand)) ?? [];
      days.set(String(brand), own);
      own.push(String(day));
    }
  }
  return days;
}
