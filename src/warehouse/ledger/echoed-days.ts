import { type DayOf, daysIn, inferZone } from '../../contract/plausibility/day-zone.ts';
import { dayOf } from '../../contract/time.ts';
import type { Query, Session } from '../database.ts';
import { literal } from '../schema.ts';
import { type SliceRef, toTimestampText } from './ledger.ts';

/** Returns the function that converts times to days of a resource and brand: in the inferred time zone, or UTC without echoed days. */
export type DaysOf = (resource: string, brandId: string | null) => DayOf;

/** The days of resources without echoed days. */
export const utcDays: DaysOf = () => dayOf;

const ofSlice = 'resource = $1 AND brand_id IS NOT DISTINCT FROM CAST($2 AS UUID)';

/**
 * Stores the last day of a slice, which upstream chose at the time `at`, and the inferred time zone. Keeps one day per quarter hour and
 * month, because offsets are multiples of a quarter hour and summer time depends on the month.
 */
export async function writeEchoedDay(session: Session, { resource, fixed, to }: SliceRef, at: number): Promise<void> {
  const slice = [resource, (fixed['brand_id'] ?? null) as string | null];
  const time = toTimestampText(at);
  await session.run(
    `DELETE FROM sync.echoed_days WHERE ${ofSlice} AND month(echoed_at) = month(CAST($3 AS TIMESTAMP))
       AND hour(echoed_at) = hour(CAST($3 AS TIMESTAMP))
       AND minute(echoed_at) // 15 = minute(CAST($3 AS TIMESTAMP)) // 15`,
    [...slice, time],
  );
  const earlier = await session.query(
    `SELECT CAST(epoch_ms(echoed_at) AS DOUBLE), strftime(day, '%Y-%m-%d') FROM sync.echoed_days WHERE ${ofSlice}
     ORDER BY echoed_at DESC`,
    slice,
  );
  const zone = inferZone([
    { at, day: String(to) },
    ...earlier.map(([echoedAt, day]) => ({ at: Number(echoedAt), day: String(day) })),
  ]);
  await session.run(
    'INSERT INTO sync.echoed_days SELECT $1, CAST($2 AS UUID), CAST($3 AS TIMESTAMP), CAST($4 AS DATE), $5',
    [...slice, time, to, zone],
  );
}

/** Reads the time zones of all resources, of one brand if `brandId` is set. */
export async function readDaysOf(query: Query, brandId: string | null = null): Promise<DaysOf> {
  const rows = await query(
    `SELECT resource, CAST(brand_id AS VARCHAR), arg_max(zone, echoed_at) FROM sync.echoed_days
     ${brandId === null ? '' : `WHERE brand_id = CAST(${literal(brandId)} AS UUID)`} GROUP BY ALL`,
  );
  const byZone = new Map<string, DayOf>();
  const days = new Map<string, DayOf>();
  for (const [resource, brand, name] of rows) {
    const zone = String(name);
    const own = byZone.get(zone) ?? daysIn(zone);
    byZone.set(zone, own);
    days.set(keyOf(String(resource), brand as string | null), own);
  }
  return (resource, brand) => days.get(keyOf(resource, brand)) ?? dayOf;
}

function keyOf(resource: string, brandId: string | null): string {
  return `${resource} ${brandId ?? ''}`;
}
