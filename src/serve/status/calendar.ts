import type { Catalogue } from '../../contract/catalogue.ts';
import { addDays, DAY_MS, dayOf, laterDay, RANGE_DAYS_MAX } from '../../contract/time.ts';
import type { Query } from '../../warehouse/database.ts';
import { literal } from '../../warehouse/schema.ts';

/** What a day of a brand can be, each with the letter that stands for it; a point stands for a day that does not count. */
export const DAY_STATES = {
  verified: 'v',
  whole: 'w',
  partial: 'p',
  differs: 'd',
  missing: 'm',
} as const;

/** The days of one brand, by month. */
export interface BrandCalendar {
  readonly brandId: string;
  /** A letter for each day of the month from its first; the newest month last. */
  readonly months: readonly { readonly month: string; readonly days: string }[];
  /** How many days there are of each state. */
  readonly counts: Readonly<Record<keyof typeof DAY_STATES, number>>;
}

/** A brand, and the day from which it has data, where that is known. */
export interface CalendarBrand {
  readonly id: string;
  readonly since: string | null;
}

/** What is known of a day: when it was read, and what came of holding it against upstream's numbers; epoch milliseconds. */
interface Known {
  readAt: number | null;
  verifiedAt: number | null;
  agrees: boolean | null;
}

/**
 * What is known of every day of each brand, over the last 366 days at most. A day is whole when it was read after its
 * end, partial when before, verified when its numbers agree with upstream's, and differs when they do not. Of upstream's
 * lists it is those whose days upstream counts itself.
 */
export async function readCalendars(
  query: Query,
  catalogue: Catalogue,
  brands: readonly CalendarBrand[],
  nowMs: number,
): Promise<BrandCalendar[]> {
  const counted = catalogue.resources.filter(({ change }) => change.kind === 'window' && change.census !== undefined);
  const known = await readKnown(
    query,
    counted.map(({ name }) => name),
  );
  return brands.map((brand) => calendarOf(brand, known.get(brand.id) ?? new Map(), nowMs));
}

async function readKnown(query: Query, resources: readonly string[]): Promise<Map<string, Map<string, Known>>> {
  const brands = new Map<string, Map<string, Known>>();
  if (resources.length === 0) return brands;
  const at = (brandId: unknown, day: string): Known => {
    const days = brands.get(String(brandId)) ?? new Map<string, Known>();
    brands.set(String(brandId), days);
    const known = days.get(day) ?? { readAt: null, verifiedAt: null, agrees: null };
    days.set(day, known);
    return known;
  };
  const named = resources.map(literal).join(', ');
  const ranges = await query(
    `SELECT CAST(brand_id AS VARCHAR), strftime(range_from, '%Y-%m-%d'), strftime(range_to, '%Y-%m-%d'),
       CAST(epoch_ms(closed_at) AS DOUBLE) FROM sync.coverage
     WHERE resource IN (${named}) AND range_from IS NOT NULL AND range_to IS NOT NULL`,
  );
  for (const [brandId, from, to, closedAt] of ranges as [string, string, string, number][]) {
    for (let day = from; day <= to; day = addDays(day, 1)) {
      const known = at(brandId, day);
      known.readAt = Math.max(known.readAt ?? 0, closedAt);
    }
  }
  // The last comparison of a day has the say, whichever command made it.
  const compared = await query(
    `SELECT CAST(brand_id AS VARCHAR), strftime(day, '%Y-%m-%d'), agreed, false, CAST(epoch_ms(checked_at) AS DOUBLE) AS compared_at
       FROM sync.audits WHERE resource IN (${named})
     UNION ALL SELECT CAST(brand_id AS VARCHAR), strftime(day, '%Y-%m-%d'), agrees, true, CAST(epoch_ms(verified_at) AS DOUBLE)
       FROM sync.verifications WHERE measure = 'day' AND day IS NOT NULL AND agrees IS NOT NULL
     ORDER BY compared_at`,
  );
  for (const [brandId, day, agrees, isVerification, checkedAt] of compared as [
    string,
    string,
    boolean,
    boolean,
    number,
  ][]) {
    const known = at(brandId, day);
    known.agrees = agrees;
    if (isVerification) known.verifiedAt = checkedAt;
    // A day whose count agrees is as good as read.
    if (agrees) known.readAt = Math.max(known.readAt ?? 0, checkedAt);
  }
  return brands;
}

function calendarOf({ id, since }: CalendarBrand, known: ReadonlyMap<string, Known>, nowMs: number): BrandCalendar {
  const today = dayOf(nowMs);
  const first = [...known.keys(), ...(since === null ? [] : [since])].sort()[0];
  const counts = { verified: 0, whole: 0, partial: 0, differs: 0, missing: 0 };
  const months: { month: string; days: string }[] = [];
  const names = Object.entries(DAY_STATES) as [keyof typeof counts, string][];
  if (first === undefined) return { brandId: id, months, counts };
  const from = laterDay(first, addDays(today, 1 - RANGE_DAYS_MAX));
  for (let day = from; day <= today; day = addDays(day, 1)) {
    const month = day.slice(0, 7);
    if (months.at(-1)?.month !== month) months.push({ month, days: '.'.repeat(Number(day.slice(8)) - 1) });
    const letter = stateOf(day, known.get(day), nowMs);
    const last = months.at(-1);
    if (last !== undefined) last.days += letter;
    const state = names.find(([, written]) => written === letter)?.[0];
    if (state !== undefined) counts[state] += 1;
  }
  return { brandId: id, months, counts };
}

function stateOf(day: string, known: Known | undefined, nowMs: number): string {
  const endMs = Date.parse(`${day}T00:00:00Z`) + DAY_MS;
  const readAt = known?.readAt ?? null;
  // Of today nothing can be missing yet.
  if (endMs > nowMs) return readAt === null ? '.' : DAY_STATES.partial;
  if (known?.agrees === false) return DAY_STATES.differs;
  if (readAt === null) return DAY_STATES.missing;
  if (readAt < endMs) return DAY_STATES.partial;
  return known?.verifiedAt != null && known.agrees === true ? DAY_STATES.verified : DAY_STATES.whole;
}
