import type { Catalogue } from '../contract/catalogue.ts';
import { DAY_MS, RANGE_DAYS_MAX } from '../contract/time.ts';
import type { Query } from '../warehouse/database.ts';
import { type EmptyDays, readEmptyDays } from '../warehouse/ledger/empty-days.ts';
import { literal } from '../warehouse/schema.ts';

/** States of a day and their letters; a point marks a day outside the calendar. */
export const DAY_STATES = {
  verified: 'v',
  complete: 'c',
  partial: 'p',
  differs: 'd',
  missing: 'm',
} as const;

/** The days of one brand, by month. */
export interface BrandCalendar {
  readonly brandId: string;
  /** One letter per day, starting with the first of the month; the newest month last. */
  readonly months: readonly { readonly month: string; readonly days: string }[];
  /** Number of days per state. */
  readonly counts: Readonly<Record<keyof typeof DAY_STATES, number>>;
}

/** A brand and the first day with data, or null if not known. */
export interface CalendarBrand {
  readonly id: string;
  readonly since: string | null;
}

/**
 * Returns the state of each day of each brand, for at most the last 366 days. A day is `complete` if it was read after its
 * end, `partial` if before; `verified` if its numbers agree with upstream's, `differs` if not. Only resources with day
 * counts are considered.
 */
export async function readCalendars(
  query: Query,
  catalogue: Catalogue,
  brands: readonly CalendarBrand[],
  nowMs: number,
): Promise<BrandCalendar[]> {
  const counted = catalogue.resources.filter(
    ({ change }) => change.kind === 'window' && change.dayCounts !== undefined,
  );
  const known = await readLetters(
    query,
    counted.map(({ name }) => name),
    numberOf(nowMs) - RANGE_DAYS_MAX,
  );
  const empty = await Promise.all(counted.map((resource) => readEmptyDays(query, catalogue, resource)));
  return brands.map((brand) => calendarOf(brand, withEmpty(known.get(brand.id) ?? new Map(), brand, empty), nowMs));
}

// A day that upstream reports as empty has nothing to read. Days before the first one are not part of the calendar.
function withEmpty(letters: Letters, { id, since }: CalendarBrand, empty: readonly EmptyDays[]): Letters {
  const first = Math.min(...letters.keys(), since === null ? Number.POSITIVE_INFINITY : numberOf(Date.parse(since)));
  const days = new Map(letters);
  for (const day of empty[0]?.get(id)?.keys() ?? []) {
    const number = numberOf(Date.parse(day));
    const isUnread = (letters.get(number) ?? DAY_STATES.missing) === DAY_STATES.missing;
    const isEmpty = empty.every((resource) => resource.get(id)?.has(day) === true);
    if (number >= first && isUnread && isEmpty) days.set(number, DAY_STATES.complete);
  }
  return days;
}

/** State letters by day, counted from 1970. */
type Letters = ReadonlyMap<number, string>;

// The last comparison of a day decides, from any command. A day whose count agrees also counts as read.
async function readLetters(query: Query, resources: readonly string[], after: number): Promise<Map<string, Letters>> {
  if (resources.length === 0) return new Map();
  const named = resources.map(literal).join(', ');
  const { verified, complete, partial, differs, missing } = DAY_STATES;
  const rows = await query(
    `WITH covered AS (
       SELECT brand_id, CAST(unnest(generate_series(CAST(range_from AS TIMESTAMP), CAST(range_to AS TIMESTAMP), INTERVAL 1 DAY)) AS DATE) AS day,
         closed_at FROM sync.coverage WHERE resource IN (${named}) AND range_from IS NOT NULL AND range_to IS NOT NULL),
     reads AS (SELECT brand_id, day, max(closed_at) AS closed_at FROM covered GROUP BY ALL),
     compared AS (
       SELECT brand_id, day, agreed, false AS recounted, checked_at FROM sync.audits WHERE resource IN (${named})
       UNION ALL SELECT brand_id, day, agrees, true, verified_at FROM sync.verifications
         WHERE measure = 'day' AND day IS NOT NULL AND agrees IS NOT NULL),
     comparisons AS (
       SELECT brand_id, day, arg_max(agreed, checked_at) AS agrees, bool_or(recounted) AS recounted,
         max(checked_at) FILTER (agreed) AS agreed_at FROM compared GROUP BY ALL),
     known AS (
       SELECT brand_id, day, agrees, coalesce(recounted, false) AS recounted, greatest(closed_at, agreed_at) AS read_at
       FROM reads FULL JOIN comparisons USING (brand_id, day))
     SELECT CAST(brand_id AS VARCHAR), string_agg(concat(day - DATE '1970-01-01', CASE
         WHEN agrees = false THEN '${differs}' WHEN read_at IS NULL THEN '${missing}'
         WHEN read_at < day + INTERVAL 1 DAY THEN '${partial}' WHEN recounted AND agrees THEN '${verified}'
         ELSE '${complete}' END), ' ')
     FROM known WHERE day > DATE '1970-01-01' + ${after} GROUP BY brand_id`,
  );
  return new Map(
    rows.map(([brandId, text]) => [
      String(brandId),
      new Map(
        String(text)
          .split(' ')
          .map((entry) => [Number(entry.slice(0, -1)), entry.slice(-1)]),
      ),
    ]),
  );
}

function calendarOf({ id, since }: CalendarBrand, known: Letters, nowMs: number): BrandCalendar {
  const today = numberOf(nowMs);
  const counts = { verified: 0, complete: 0, partial: 0, differs: 0, missing: 0 };
  const months: { month: string; days: string }[] = [];
  const names = Object.entries(DAY_STATES) as [keyof typeof counts, string][];
  const states = new Map(names.map(([state, letter]) => [letter, state]));
  const begun = [...known.keys(), ...(since === null ? [] : [numberOf(Date.parse(since))])];
  const first = begun.reduce((least, day) => Math.min(least, day), Number.POSITIVE_INFINITY);
  for (let day = Math.max(first, today - RANGE_DAYS_MAX + 1); day <= today; day++) {
    const at = new Date(day * DAY_MS);
    const date = at.getUTCDate();
    if (date === 1 || months.length === 0)
      months.push({ month: at.toISOString().slice(0, 7), days: '.'.repeat(date - 1) });
    const letter = letterOf(day, today, known.get(day));
    const last = months.at(-1);
    if (last !== undefined) last.days += letter;
    const state = states.get(letter);
    if (state !== undefined) counts[state] += 1;
  }
  return { brandId: id, months, counts };
}

// Today cannot be missing or complete before it has ended.
function letterOf(day: number, today: number, known: string | undefined): string {
  if (day < today) return known ?? DAY_STATES.missing;
  return known === undefined ? '.' : DAY_STATES.partial;
}

function numberOf(epochMs: number): number {
  return Math.floor(epochMs / DAY_MS);
}
