import type { Catalogue, Resource } from '../../contract/catalogue.ts';
import type { ResourceTable } from '../../contract/tables.ts';
import { columnAt } from '../conditions.ts';
import type { Query } from '../database.ts';
import { literal, quoted } from '../schema.ts';

/** Older reads of day counts are not needed: every sync reads the last year, and older years once a week. */
const RECENT = 'INTERVAL 8 DAY';

/** Days by brand, with the time at which upstream last reported them as empty, in epoch milliseconds. */
export type EmptyDays = ReadonlyMap<string, ReadonlyMap<string, number>>;

/** Reads the days of which upstream's day counts report no items, read after the day's end, and no rows are stored. */
export async function readEmptyDays(
  query: Query,
  catalogue: Catalogue,
  { change, derived }: Resource,
): Promise<EmptyDays> {
  if (change.kind !== 'window' || change.dayCounts === undefined) return new Map();
  const { resource, table, day, count, where } = change.dayCounts;
  const counts = catalogue.get(resource).derived.find(({ name }) => name === table) as ResourceTable;
  const [dayColumn, countColumn] = [day, count].map((field) => quoted(columnAt(counts, field)?.name ?? field));
  const chosen = Object.entries(where).map(([column, value]) => `AND ${quoted(column)} = ${literal(value)}`);
  // The counts are those of one variant of the report, and the id of its slices ends with the variant's values.
  const ofVariant = Object.entries(where).map(
    ([column, value]) => `AND list_contains(string_split(slice, ' '), ${literal(`${column}=${value}`)})`,
  );
  const [list] = derived as [ResourceTable];
  const time = list.extent.kind === 'time' ? quoted(list.extent.field) : 'NULL';
  const rows = await query(
    `WITH slices AS (SELECT brand_id, range_from, range_to, closed_at FROM sync.coverage
         WHERE resource = ${literal(resource)} AND range_from IS NOT NULL ${ofVariant.join(' ')}
           AND closed_at > (SELECT max(closed_at) FROM sync.coverage) - ${RECENT}),
       counted AS (SELECT brand_id, CAST(unnest(generate_series(CAST(range_from AS TIMESTAMP), CAST(range_to AS TIMESTAMP),
           INTERVAL 1 DAY)) AS DATE) AS day, closed_at FROM slices),
       reads AS (SELECT brand_id, day, max(closed_at) AS closed_at FROM counted GROUP BY ALL),
       uncounted AS MATERIALIZED (FROM reads ANTI JOIN (SELECT brand_id, ${dayColumn} AS day FROM ${quoted(table)}
           WHERE _deleted_at IS NULL AND ${countColumn} > 0 ${chosen.join(' ')}) USING (brand_id, day)
         WHERE closed_at >= day + INTERVAL 1 DAY)
     SELECT CAST(brand_id AS VARCHAR), strftime(day, '%Y-%m-%d'), CAST(epoch_ms(closed_at) AS DOUBLE) FROM uncounted
     ANTI JOIN (SELECT brand_id, CAST(${time} AS DATE) AS day FROM ${quoted(list.name)} WHERE _deleted_at IS NULL
         AND ${time} >= (SELECT min(day) FROM uncounted) AND ${time} < (SELECT max(day) + 1 FROM uncounted))
       USING (brand_id, day)`,
  );
  const empty = new Map<string, Map<string, number>>();
  for (const [brandId, date, readAt] of rows) {
    const days = empty.get(String(brandId)) ?? new Map<string, number>();
    empty.set(String(brandId), days);
    days.set(String(date), Number(readAt));
  }
  return empty;
}
