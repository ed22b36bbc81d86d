import { z } from 'zod';
import type { Catalogue } from '../../contract/catalogue.ts';
import { amount, day, number, range, time, type ValueOf } from '../../contract/operation/json-parts.ts';
import { RETRIES_MAX } from '../../contract/plausibility/completeness.ts';
import { addDays, DAY_MS, eachDay, earlierDay, laterDay } from '../../contract/time.ts';
import { readBrandList } from '../brand-list.ts';
import type { Query } from '../database.ts';
import { literal } from '../schema.ts';
import { comparisonSummary, readComparison } from './comparisons.ts';
import { readDrift } from './drift-notes.ts';
import { readEmptyDays } from './empty-days.ts';
import { dataFreshness, readFreshness } from './freshness.ts';
import { readDataVersion } from './ledger.ts';
import {
  BACKFILL_REQUESTS_MAX,
  type BrandTotals,
  RECENT_TOTALS_DAYS,
  readTotals,
  totalsResources,
} from './reported-totals.ts';
import { unconfirmedDeletion, readUnconfirmedDeletions } from './unconfirmed-deletions.ts';
import { readVerifiedThrough } from './verifications.ts';

/** Limit of listed gaps per resource; `gapDays` counts all of them. */
const GAPS_MAX = 20;
/** Limit of listed drift rows. */
const DRIFT_MAX = 100;
/** Limit of listed days that differ. */
const DIFFERING_MAX = 500;

const runStatus = z.object({
  runId: z.string(),
  status: z.string(),
  startedAt: time,
  endedAt: time.nullable(),
  durationMs: amount.nullable(),
  requests: number,
  error: z.string().nullable(),
});

const resourceStatus = z.object({
  resource: z.string(),
  readAt: time.nullable().describe('time of the last complete read'),
  gaps: z
    .array(z.object({ brandId: z.string(), ...range.shape }))
    .describe('ranges of days that were never read completely, newest first, at most 20; `gapDays` counts all'),
  gapDays: number,
  gapBrands: z.array(z.object({ brandId: z.string(), days: number })).describe('brands with gaps'),
  oldestRead: z
    .object({ brandId: z.string(), day, at: time })
    .nullable()
    .describe('the least recently read day that has items; null if the list is not read by days'),
  unfinished: number.describe('slices that were started but not finished'),
  generic: z.literal(true).optional().describe('set if its declaration was inferred'),
});

const brandStatus = z.object({
  brandId: z.string(),
  name: z.string().nullable(),
  verifiedThrough: day.nullable(),
  verifiedAt: time.nullable(),
  differingDays: number,
});

const driftStatus = z.object({
  resource: z.string(),
  path: z.string(),
  kind: z.string(),
  detail: z.string().nullable(),
  count: number,
  firstSeenAt: time,
  isNew: z.boolean().describe('whether it was first seen during or after the last complete run'),
});

const keyHealth = z.object({
  state: z.enum(['accepted', 'refused', 'unknown']).describe("by upstream's last response"),
  lastRefusal: z
    .object({ status: z.int(), at: time })
    .nullable()
    .describe('the last response that refused the key, even if the key was accepted later'),
});

const differingDay = z.object({
  resource: z.string(),
  brandId: z.string(),
  day,
  counted: number.describe("upstream's count"),
  stored: number,
  tries: number.describe('runs that read the day without resolving the difference'),
  isPermanent: z.boolean().describe("whether the difference counts as upstream's own, because the retries are used up"),
  nextRetryAt: time.nullable().describe('earliest time of the next retry; null if the next sync reads the day'),
});

/** Status of a warehouse. */
export const warehouseStatus = z.object({
  dataVersion: number.describe('grows with every change of the data'),
  lastRun: runStatus.nullable().describe('the last sync; null if there was none'),
  freshness: dataFreshness,
  resources: z.array(resourceStatus),
  brands: z.array(brandStatus),
  quarantined: number,
  drift: z.array(driftStatus).describe("differences between upstream's responses and the declarations"),
  unlearned: z
    .array(z.object({ name: z.string(), note: z.string().nullable() }))
    .describe('conventions that no known value explains'),
  key: keyHealth,
  comparison: comparisonSummary.nullable().describe('the last comparison of responses with upstream'),
  differing: z
    .array(differingDay)
    .describe("days that differ from upstream's day counts after they were read, oldest first"),
  unconfirmedDeletions: z.array(unconfirmedDeletion).describe('mass deletions that await confirmation'),
  backfill: z
    .array(z.object({ resource: z.string(), days: number, requestsPerSync: number }))
    .describe('days older than the last 30 with unknown totals; syncs fill them in the background'),
});

/** Status of a warehouse. */
export type WarehouseStatus = ValueOf<typeof warehouseStatus>;
/** Status of a resource. */
export type ResourceStatus = ValueOf<typeof resourceStatus>;
/** Verification of a brand. */
export type BrandStatus = ValueOf<typeof brandStatus>;
type DifferingDay = ValueOf<typeof differingDay>;

/** Reads the status of a warehouse or replica. `nowMs` decides which days are over. */
export async function readStatus(query: Query, catalogue: Catalogue, nowMs: number): Promise<WarehouseStatus> {
  return {
    dataVersion: await readDataVersion(query),
    lastRun: await readLastRun(query),
    freshness: await readFreshness(query, catalogue),
    resources: await readResources(query, catalogue, nowMs),
    brands: await readBrands(query, catalogue),
    quarantined: Number((await query('SELECT CAST(count(*) AS INTEGER) FROM sync.quarantine'))[0]?.[0] ?? 0),
    drift: await readNewDrift(query),
    unlearned: await readUnlearned(query),
    key: await readKeyHealth(query),
    comparison: await readComparison(query),
    differing: await readDiffering(query, nowMs),
    unconfirmedDeletions: await readUnconfirmedDeletions(query),
    backfill: await readBackfill(query, catalogue, nowMs),
  };
}

/** Reads the time of the last request or run, which changes only with the data (ISO 8601, UTC); null if there is none. */
export async function readLastActivity(query: Query): Promise<string | null> {
  const [row] = await query(
    `SELECT strftime(max(time), '%Y-%m-%dT%H:%M:%S.%gZ') FROM (SELECT coalesce(ended_at, started_at) AS time FROM sync.runs
     UNION ALL SELECT max(sent_at) FROM sync.requests)`,
  );
  return (row?.[0] ?? null) as string | null;
}

async function readBackfill(query: Query, catalogue: Catalogue, nowMs: number): Promise<WarehouseStatus['backfill']> {
  const brands = await readBrandList(query, catalogue);
  const left: WarehouseStatus['backfill'][number][] = [];
  for (const resource of totalsResources(catalogue)) {
    const totals = await readTotals(query, resource);
    const days = brands.reduce((sum, { id, since }) => sum + countUnknown(totals.get(id), since, nowMs), 0);
    if (days > 0) left.push({ resource: resource.name, days, requestsPerSync: BACKFILL_REQUESTS_MAX });
  }
  return left;
}

function countUnknown(totals: BrandTotals | undefined, since: string | null, nowMs: number): number {
  if (totals === undefined) return 0;
  const from = laterDay(totals.first, since ?? totals.first);
  const to = addDays(totals.days(nowMs), -RECENT_TOTALS_DAYS);
  return [...eachDay(from, to)].filter((day) => totals.resolved.day(day) === undefined).length;
}

async function readDiffering(query: Query, nowMs: number): Promise<DifferingDay[]> {
  const rows = await query(
    `SELECT resource, CAST(brand_id AS VARCHAR), strftime(day, '%Y-%m-%d'), CAST(upstream AS DOUBLE),
       CAST(stored AS DOUBLE), CAST(tries AS DOUBLE), CAST(epoch_ms(retry_at) AS DOUBLE) FROM sync.audits
     WHERE tries > 0 ORDER BY ALL LIMIT ${DIFFERING_MAX}`,
  );
  return rows.map(([resource, brandId, day, counted, stored, tries, retryAt]) => ({
    resource: String(resource),
    brandId: String(brandId),
    day: String(day),
    counted: Number(counted),
    stored: Number(stored),
    tries: Number(tries),
    isPermanent: Number(tries) >= RETRIES_MAX,
    nextRetryAt: Number(retryAt ?? 0) <= nowMs ? null : new Date(Number(retryAt)).toISOString(),
  }));
}

async function readLastRun(query: Query): Promise<WarehouseStatus['lastRun']> {
  const [row] = await query(
    `SELECT CAST(r.run_id AS VARCHAR), r.status, ${iso('r.started_at')}, ${iso('r.ended_at')},
       CAST(epoch_ms(r.ended_at) - epoch_ms(r.started_at) AS DOUBLE), CAST(coalesce(r.requests,
         (SELECT count(*) FROM sync.requests q WHERE q.run_id = r.run_id)) AS INTEGER), r.error
     FROM sync.runs r WHERE r.kind = 'sync' ORDER BY r.started_at DESC, r.rowid DESC LIMIT 1`,
  );
  if (row === undefined) return null;
  const [runId, status, startedAt, endedAt, durationMs, requests, error] = row;
  return {
    runId: String(runId),
    status: String(status),
    startedAt: String(startedAt),
    endedAt: endedAt as string | null,
    durationMs: durationMs === null ? null : Number(durationMs),
    requests: Number(requests),
    error: error as string | null,
  };
}

async function readResources(query: Query, catalogue: Catalogue, nowMs: number): Promise<ResourceStatus[]> {
  const rows = await query(`SELECT resource, ${iso('max(closed_at)')} FROM sync.coverage GROUP BY resource`);
  const readAt = new Map(rows.map(([resource, at]) => [String(resource), String(at)]));
  const begun = await query(
    'SELECT resource, CAST(count(DISTINCT slice) AS INTEGER) FROM sync.checkpoints GROUP BY resource',
  );
  const unfinished = new Map(begun.map(([resource, slices]) => [String(resource), Number(slices)]));
  const statuses: ResourceStatus[] = [];
  for (const { name, change, generic } of catalogue.resources) {
    const gaps = change.kind === 'window' ? await readGaps(query, catalogue, name, nowMs) : [];
    const gapDays = gaps.reduce((sum, { days }) => sum + days, 0);
    const byBrand = new Map<string, number>();
    for (const { brandId, days } of gaps) byBrand.set(brandId, (byBrand.get(brandId) ?? 0) + days);
    const gapBrands = [...byBrand].map(([brandId, days]) => ({ brandId, days }));
    const listed = gaps.slice(0, GAPS_MAX).map(({ brandId, from, to }) => ({ brandId, from, to }));
    const slices = unfinished.get(name) ?? 0;
    statuses.push({
      resource: name,
      readAt: readAt.get(name) ?? null,
      gaps: listed,
      gapDays,
      gapBrands,
      oldestRead: change.kind === 'window' ? await readOldestRead(query, name) : null,
      unfinished: slices,
      ...(generic === undefined ? {} : { generic }),
    });
  }
  return statuses;
}

async function readOldestRead(query: Query, resource: string): Promise<ResourceStatus['oldestRead']> {
  const [row] = await query(
    `WITH read AS (
       SELECT a.brand_id, a.day, max(c.closed_at) AS closed_at FROM sync.audits a
       JOIN sync.coverage c ON c.resource = a.resource AND c.brand_id = a.brand_id AND a.day BETWEEN c.range_from AND c.range_to
       WHERE a.resource = ${literal(resource)} AND a.upstream > 0 GROUP BY ALL)
     SELECT CAST(brand_id AS VARCHAR), strftime(day, '%Y-%m-%d'), ${iso('closed_at')} FROM read ORDER BY closed_at, day LIMIT 1`,
  );
  return row === undefined ? null : { brandId: String(row[0]), day: String(row[1]), at: String(row[2]) };
}

interface Gap {
  readonly brandId: string;
  from: string;
  readonly to: string;
  days: number;
}

// Covers the days from a brand's first day to the last day that is over. A day that was read before its end counts as
// missing.
async function readGaps(query: Query, catalogue: Catalogue, resource: string, nowMs: number): Promise<Gap[]> {
  const rows = await query(
    `SELECT CAST(brand_id AS VARCHAR), strftime(range_from, '%Y-%m-%d'), strftime(range_to, '%Y-%m-%d'),
       CAST(epoch_ms(closed_at) AS DOUBLE) FROM sync.coverage WHERE resource = '${resource}' AND range_from IS NOT NULL
       AND range_to IS NOT NULL`,
  );
  const days = new Map<string, Set<string>>();
  for (const [brandId, from, to, closedAt] of rows as [string, string, string, number][]) {
    const known = days.get(brandId) ?? new Set<string>();
    days.set(brandId, known);
    const lastFullDay = new Date(closedAt - DAY_MS).toISOString().slice(0, 10);
    for (const day of eachDay(from, earlierDay(to, lastFullDay))) known.add(day);
  }
  const empty = await readEmptyDays(query, catalogue, catalogue.get(resource));
  const last = new Date(nowMs - DAY_MS).toISOString().slice(0, 10);
  const gaps: Gap[] = [];
  for (const { id, since } of await readBrandList(query, catalogue)) {
    const known = days.get(id) ?? new Set<string>();
    const first = [...known, ...(since === null ? [] : [since])].sort()[0];
    if (first === undefined) continue;
    for (let day = last, inGap = false; day >= first; day = addDays(day, -1)) {
      const isKnown = known.has(day) || empty.get(id)?.has(day) === true;
      const open = inGap ? gaps.at(-1) : undefined;
      if (isKnown) inGap = false;
      else if (open === undefined) inGap = gaps.push({ brandId: id, from: day, to: day, days: 1 }) > 0;
      else {
        open.from = day;
        open.days += 1;
      }
    }
  }
  return gaps;
}

async function readBrands(query: Query, catalogue: Catalogue): Promise<BrandStatus[]> {
  const verified = new Map((await readVerifiedThrough(query)).map((brand) => [brand.brandId, brand]));
  return (await readBrandList(query, catalogue)).map(({ id, name }) => {
    const found = verified.get(id);
    return {
      brandId: id,
      name,
      verifiedThrough: found?.through ?? null,
      verifiedAt: found === undefined ? null : new Date(found.verifiedAt).toISOString(),
      differingDays: found?.differing ?? 0,
    };
  });
}

// Upstream's clock has whole seconds, so round the start of the run down.
async function readNewDrift(query: Query): Promise<WarehouseStatus['drift']> {
  const [row] = await query(
    "SELECT CAST(epoch_ms(date_trunc('second', max(started_at))) AS DOUBLE) FROM sync.runs WHERE status = 'complete' AND kind = 'sync'",
  );
  const since = row?.[0] === null || row?.[0] === undefined ? 0 : Number(row[0]);
  return (await readDrift(query, DRIFT_MAX)).map(({ resource, path, kind, detail, count, firstSeenAt }) => ({
    resource,
    path,
    kind,
    detail,
    count,
    firstSeenAt: new Date(firstSeenAt).toISOString(),
    isNew: firstSeenAt >= since,
  }));
}

// A default without any row to compare with is not a failed calibration.
async function readUnlearned(query: Query) {
  const rows = await query('SELECT name, note FROM sync.calibration WHERE contradicted ORDER BY name');
  return rows.map(([name, note]) => ({ name: String(name), note: note as string | null }));
}

async function readKeyHealth(query: Query): Promise<WarehouseStatus['key']> {
  const [row] = await query(
    `SELECT CAST(arg_max(status, sent_at) FILTER (status = 401) AS INTEGER),
       ${iso('max(sent_at) FILTER (status = 401)')}, arg_max(status, sent_at) FILTER (status IS NOT NULL) = 401
     FROM sync.requests`,
  );
  const [status, at, isRefused] = row ?? [];
  const lastRefusal = typeof at === 'string' ? { status: Number(status), at } : null;
  if (isRefused === null || isRefused === undefined) return { state: 'unknown', lastRefusal };
  return { state: isRefused === true ? 'refused' : 'accepted', lastRefusal };
}

function iso(moment: string): string {
  return `strftime(${moment}, '%Y-%m-%dT%H:%M:%S.%gZ')`;
}
