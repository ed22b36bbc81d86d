import { existsSync } from 'node:fs';
import { DONE, type Ending, endingOfError } from '../base/ending.ts';
import type { SightlineError } from '../base/errors.ts';
import { inSpan } from '../base/trace.ts';
import { addDays, eachDay } from '../contract/time.ts';
import { readCalibratedConventions } from '../metrics/calibration/findings.ts';
import { mergeConventions, toOverrides } from '../metrics/calibration/overrides.ts';
import { ANSWERS, type BrandVerification, REPORTS, verifyBrand } from '../metrics/verification/verify-brand.ts';
import { layoutOf } from '../publish/snapshot/layout.ts';
import type { SyncSummary } from '../sync/run-sync.ts';
import type { DayRange } from '../sync/slice.ts';
import { readBrandList } from '../warehouse/brand-list.ts';
import {
  distrustDays,
  readVerifiedThrough,
  type Verified,
  writeVerifications,
} from '../warehouse/ledger/verifications.ts';
import { catalogueOf } from '../workspace/catalogues.ts';
import { noData } from '../workspace/newest-replica.ts';
import { withSession } from '../workspace/session.ts';
import { type Context, type Opened, publish, withWarehouse } from '../workspace/workspace.ts';
import { chooseBrandIds } from './choose-brands.ts';
import { type OnProgress, SYNC_RESOURCES, syncOpened } from './sync.ts';

/** Ranges of days that one repair fetches again, at most. The next repair resumes. */
const REPAIR_RANGES_MAX = 200;
/** The first round repairs single days; the second repairs ranges that still differ. */
const REPAIR_ROUNDS_MAX = 2;
/** Differences that are stored per day, and per report over a range. */
const KEPT_MAX = 50;

/** Options of `verifyWorkspace`. */
export interface VerifyRequest {
  /** IDs of brands; null for all. */
  readonly brands: readonly string[] | null;
  /** Days to verify, inclusive; null for all. */
  readonly range: DayRange | null;
  /** Whether to fetch upstream's reports again first. */
  readonly fresh: boolean;
  /** Whether to fetch differing days again and verify once more. */
  readonly repair: boolean;
}

/** A range of days of a brand that was fetched again. */
export interface Repaired extends DayRange {
  readonly brandId: string;
}

/** Verification of a brand. `verifiedThrough` is the last day up to which all days have ever been verified, or null. */
export interface VerifiedBrand extends BrandVerification {
  readonly verifiedThrough: string | null;
  /** Whether any day or range differs in a way that newer data at upstream do not explain. */
  readonly differs: boolean;
}

/** Result of a verification. */
export interface Verification {
  readonly brands: readonly VerifiedBrand[];
  /** Repaired ranges and the requests they took; null if no repair was requested. */
  readonly repair: { readonly ranges: readonly Repaired[]; readonly requests: number } | null;
  /** Error that ended a sync early, or null. */
  readonly error: SightlineError | null;
}

/** Recomputes the metrics of a workspace from its responses, compares them with upstream's reports, and stores the result. */
export function verifyWorkspace(
  context: Context,
  request: VerifyRequest,
  onProgress: OnProgress,
): Promise<Verification> {
  return withSession(context, 'wait', (inside) => verify(inside, request, onProgress));
}

async function verify(context: Context, request: VerifyRequest, onProgress: OnProgress): Promise<Verification> {
  const { config, clock } = context;
  if (!existsSync(layoutOf(config.folder).warehouse)) throw noData(config);
  const catalogue = catalogueOf(config);
  if (request.fresh || request.repair) config.upstream();
  const work = async (opened: Opened): Promise<Verification> => {
    const { brands: wanted, range } = request;
    const errors: SightlineError[] = [];
    const sync = async (runs: Parameters<typeof syncOpened>[3]): Promise<SyncSummary[]> => {
      const summaries = await syncOpened(context, opened, 'verify', runs, onProgress);
      for (const { error } of summaries) if (error !== null) errors.push(error);
      return summaries;
    };
    const known = await opened.warehouse.database.exclusive(({ query }) => readBrandList(query, catalogue));
    const ids = chooseBrandIds(known, wanted) ?? known.map(({ id }) => id);
    if (request.fresh) await sync([{ only: REPORTS, range: null, brands: wanted === null ? null : ids, full: true }]);
    let brands = await verifyBrands(context, opened, ids, range);
    const repaired: Repaired[] = [];
    let requests = 0;
    // Repair days first: a range may still differ although none of its days does, and that shows only afterwards.
    for (let round = 0; request.repair && round < REPAIR_ROUNDS_MAX; round++) {
      const ranges = errors.length === 0 ? rangesToRepair(brands).filter((one) => !isAmong(repaired, one)) : [];
      if (ranges.length === 0) break;
      const { database } = opened.warehouse;
      for (const one of ranges) await distrustDays(database, catalogue.get(ANSWERS), one.brandId, one);
      const summaries = await sync(
        ranges.map(({ brandId, from, to }) => ({
          only: [ANSWERS],
          range: { from, to },
          brands: [brandId],
          full: true,
        })),
      );
      requests += summaries.reduce((sum, summary) => sum + summary.requests, 0);
      repaired.push(...ranges);
      brands = await verifyBrands(context, opened, ids, range);
    }
    await writeVerifications(opened.warehouse.database, brands.map(toVerified), clock.now());
    const through = await opened.warehouse.database.exclusive((session) => readVerifiedThrough(session.query));
    await publish(opened.warehouse, opened.layout, opened.copy);
    const throughOf = (id: string): string | null => through.find(({ brandId }) => brandId === id)?.through ?? null;
    return {
      brands: brands.map((brand) => ({
        ...brand,
        verifiedThrough: throughOf(brand.brandId),
        differs: hasDifferences(brand),
      })),
      repair: request.repair ? { ranges: repaired, requests } : null,
      error: errors[0] ?? null,
    };
  };
  return inSpan('verify', {}, () => withWarehouse(context, SYNC_RESOURCES, work));
}

// Skips ranges that were fetched again already: a second fetch would return the same data.
function isAmong(repaired: readonly Repaired[], { brandId, from, to }: Repaired): boolean {
  return repaired.some((one) => one.brandId === brandId && one.from <= from && to <= one.to);
}

/** How a verification ended: `partial` if figures differ. */
export function endingOfVerification({ brands, error }: Verification): Ending {
  if (error !== null) return endingOfError(error);
  return brands.some(({ differs }) => differs) ? { ...DONE, status: 'partial' } : DONE;
}

function hasDifferences({ days, ranges }: BrandVerification): boolean {
  return days.some(({ status }) => status === 'differs') || ranges.some(({ status }) => status === 'differs');
}

async function verifyBrands(
  { config }: Context,
  { warehouse }: Opened,
  ids: readonly string[],
  range: DayRange | null,
): Promise<BrandVerification[]> {
  const overrides = toOverrides(config.conventions);
  const { catalogue } = warehouse;
  return warehouse.database.transaction(async ({ query }) => {
    const { conventions: found, learned } = await readCalibratedConventions(query);
    const conventions = mergeConventions(found, overrides);
    const known = new Set([...learned, ...Object.keys(overrides)]);
    const brands: BrandVerification[] = [];
    for (const brandId of ids) {
      brands.push(await verifyBrand({ catalogue, query, conventions, known, brandId, range }));
    }
    return brands;
  });
}

// Merges differing days into ranges. A report over a range without a differing day adds all days of that range.
function rangesToRepair(brands: readonly BrandVerification[]): Repaired[] {
  const ranges = brands.flatMap(({ brandId, days, ranges: reports }): Repaired[] => {
    const wrong = new Set(days.filter(({ status }) => status === 'differs').map(({ day }) => day));
    for (const { status, countsDiffer, from, to } of reports) {
      if (status !== 'differs' || !countsDiffer || [...wrong].some((day) => from <= day && day <= to)) continue;
      for (const day of eachDay(from, to)) wrong.add(day);
    }
    const runs: { from: string; to: string }[] = [];
    for (const day of [...wrong].sort()) {
      const last = runs.at(-1);
      if (last !== undefined && addDays(last.to, 1) === day) last.to = day;
      else runs.push({ from: day, to: day });
    }
    return runs.map((run) => ({ brandId, ...run }));
  });
  return ranges.slice(0, REPAIR_RANGES_MAX);
}

function toVerified({ brandId, days, ranges }: BrandVerification) {
  const [first, last] = [days[0], days.at(-1)];
  const rows = days.flatMap(({ day, status, upstream, stored, differences }): Verified[] => [
    { day, measure: null, subject: status, upstream, stored, agrees: toVerdict(status) },
    ...differences.slice(0, KEPT_MAX).map((difference) => ({ day, ...difference, agrees: toVerdict(status) })),
  ]);
  const overRanges = ranges.flatMap(({ report, from, to, status, compared, differences }): Verified[] => [
    {
      day: null,
      measure: report,
      subject: `${from} to ${to}`,
      upstream: compared,
      stored: compared,
      agrees: toVerdict(status),
    },
    ...differences.slice(0, KEPT_MAX).map(({ measure, subject, upstream, stored }) => ({
      day: null,
      measure: `${report} ${measure}`,
      subject,
      upstream,
      stored,
      agrees: toVerdict(status),
    })),
  ]);
  const span = first === undefined || last === undefined ? null : { from: first.day, to: last.day };
  return { brandId, days: span, rows: [...rows, ...overRanges] };
}

function toVerdict(status: string): boolean | null {
  return status === 'agrees' ? true : status === 'differs' ? false : null;
}
