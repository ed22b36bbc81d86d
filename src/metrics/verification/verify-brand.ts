import type { Catalogue } from '../../contract/catalogue.ts';
import { addDays, dayOf, eachDay, earlierDay, laterDay } from '../../contract/time.ts';
import type { Query } from '../../warehouse/database.ts';
import { readShapes } from '../../warehouse/ledger/shapes.ts';
import type { Conventions } from '../calibration/conventions.ts';
import { mayRepeatMentions } from '../numbers/aggregate.ts';
import { readReportedBrand } from '../numbers/brand.ts';
import { createComparison } from './comparison.ts';
import { readUncountedEngines } from './verify-counts.ts';
import { type DayReads, type DayVerification, readDaysOfUnknownWeight, verifyDays } from './verify-days.ts';
import { RANGE_REPORTS, type RangeVerification, type ReportRead, verifyRanges } from './verify-ranges.ts';

/** Resources that upstream computes from responses, and the lists that these refer to. */
export const REPORTS: readonly string[] = [
  'metrics_daily',
  ...RANGE_REPORTS,
  'competitors',
  'prompts',
  'prompt_groups',
];

/** The resource that everything is recounted from. */
export const ANSWERS = 'responses';

/** Options for verifying a brand. */
export interface VerifyOptions {
  readonly catalogue: Catalogue;
  readonly query: Query;
  readonly conventions: Conventions;
  /** Names of conventions that are calibrated or configured. Numbers of other conventions are not compared. */
  readonly known: ReadonlySet<string>;
  readonly brandId: string;
  /** Days to verify, both included; null for all. */
  readonly range: { readonly from: string; readonly to: string } | null;
}

/** The verification of one brand. */
export interface BrandVerification {
  readonly brandId: string;
  readonly name: string | null;
  readonly days: readonly DayVerification[];
  readonly ranges: readonly RangeVerification[];
}

/** Days verified per batch; a batch fits into memory for any brand. */
const DAYS_AT_A_TIME = 366;
/** Maximum number of days to verify, counted back from the newest. */
const DAYS_MAX = 366 * 30;

/**
 * Recounts a brand's responses by day, engine and entity, by prompt, by group and by cited domain, and compares the
 * results with upstream's last synced reports.
 */
export async function verifyBrand(options: VerifyOptions): Promise<BrandVerification> {
  const { catalogue, query, conventions, known, brandId } = options;
  const brand = await readReportedBrand(query, catalogue, brandId, null, conventions);
  const mayRepeat = mayRepeatMentions(await readShapes(query));
  const uncounted = await readUncountedEngines(query, catalogue, brandId);
  const compared = { catalogue, query, brand, comparison: createComparison(conventions, known) };
  const scope = { ...compared, mayRepeat, uncounted, unlabelled: await readDaysOfUnknownWeight(compared) };
  const reads = await readDayReads(query, brandId);
  const days: DayVerification[] = [];
  for (const range of await chunks(options, reads)) days.push(...(await verifyDays(scope, reads, range)));
  const ranges = await verifyRanges(scope, await readReports(options), days, reads.answers);
  return { brandId, name: brand.name, days, ranges };
}

async function chunks({ query, brandId, range }: VerifyOptions, reads: DayReads) {
  const [row] = await query(
    `SELECT strftime(least(a.low, m.low), '%Y-%m-%d'), strftime(greatest(a.high, m.high), '%Y-%m-%d') FROM
       (SELECT CAST(min(created_at) AS DATE) AS low, CAST(max(created_at) AS DATE) AS high FROM responses
        WHERE brand_id = CAST($1 AS UUID) AND _deleted_at IS NULL) a,
       (SELECT min(date) AS low, max(date) AS high FROM metrics_daily
        WHERE brand_id = CAST($1 AS UUID) AND _deleted_at IS NULL) m`,
    [brandId],
  );
  if (typeof row?.[0] !== 'string' || typeof row[1] !== 'string' || reads.reports.size === 0) return [];
  const last = range === null ? row[1] : earlierDay(range.to, row[1]);
  const least = laterDay(row[0], addDays(last, 1 - DAYS_MAX));
  const first = range === null ? least : laterDay(range.from, least);
  const ranges: { from: string; to: string }[] = [];
  for (const from of eachDay(first, last, DAYS_AT_A_TIME)) {
    ranges.push({ from, to: earlierDay(last, addDays(from, DAYS_AT_A_TIME - 1)) });
  }
  return ranges;
}

async function readDayReads(query: Query, brandId: string): Promise<DayReads> {
  const read = async (resource: string): Promise<Map<string, number>> => {
    // Rows over all engines add nothing to the rows per engine.
    const rows = await query(
      `SELECT strftime(range_from, '%Y-%m-%d'), strftime(range_to, '%Y-%m-%d'), epoch_ms(closed_at) FROM sync.coverage
       WHERE resource = $1 AND brand_id = CAST($2 AS UUID) AND range_from IS NOT NULL AND range_to IS NOT NULL
         AND NOT contains(slice, 'row_mode=none') ORDER BY closed_at`,
      [resource, brandId],
    );
    const days = new Map<string, number>();
    for (const [from, to, closedAt] of rows as [string, string, number][]) {
      const last = earlierDay(to, dayOf(closedAt));
      for (const day of eachDay(laterDay(from, addDays(last, -DAYS_MAX)), last)) {
        days.set(day, Number(closedAt));
      }
    }
    return days;
  };
  return { reports: await read('metrics_daily'), answers: await read(ANSWERS) };
}

// Returns the newest range of each report; with `range`, the newest one within it.
async function readReports({ query, brandId, range }: VerifyOptions): Promise<ReportRead[]> {
  const within = range === null ? '' : 'AND range_from >= CAST($3 AS DATE) AND range_to <= CAST($4 AS DATE)';
  const rows = await query(
    `SELECT resource, strftime(range_from, '%Y-%m-%d'), strftime(range_to, '%Y-%m-%d'), epoch_ms(closed_at) FROM sync.coverage
     WHERE brand_id = CAST($1 AS UUID) AND list_contains(CAST($2 AS VARCHAR[]), resource)
       AND range_from IS NOT NULL AND range_to IS NOT NULL ${within}
     QUALIFY row_number() OVER (PARTITION BY resource ORDER BY closed_at DESC, slice) = 1`,
    [brandId, RANGE_REPORTS, ...(range === null ? [] : [range.from, range.to])],
  );
  return rows.map(([resource, from, to, readAt]) => ({
    resource: String(resource),
    from: String(from),
    to: String(to),
    readAt: Number(readAt),
  }));
}
