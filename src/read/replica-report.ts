import { isDeepStrictEqual } from 'node:util';
import type { Catalogue, Resource } from '../contract/catalogue.ts';
import { readQuery } from '../contract/query-parameters.ts';
import { type CalibratedPoint, toPoint } from '../metrics/calibration/calibrated-points.ts';
import { conventionNames } from '../metrics/calibration/descriptions.ts';
import { readStoredFindings } from '../metrics/calibration/findings.ts';
import type { Query } from '../warehouse/database.ts';
import { type DriftRow, readDrift } from '../warehouse/ledger/drift-notes.ts';
import { type RunCost, readRuns } from '../warehouse/ledger/run-costs.ts';
import { readStatus, type WarehouseStatus } from '../warehouse/ledger/warehouse-status.ts';
import { type BrandCalendar, readCalendars } from './calendar.ts';
import { type Covered, coveredBy } from './coverage.ts';
import type { ServedReplica } from './open-replica.ts';
import { toShownTexts } from './shown-text.ts';

const RUNS_MAX = 20;
const EXAMPLES_MAX = 10;
/** Maximum characters read of a quarantined item, more than the page shows. */
const ITEM_CHARACTERS_MAX = 1_000;
/** Maximum number of brands reported individually. */
const BRANDS_MAX = 100;
const HOUR_MS = 3_600_000;

/** Freshness of a resource per brand: when it was read, in seconds since 1970, null if never. */
export interface FreshnessRow {
  readonly resource: string;
  readonly scope: string;
  /** In the order of the brands; a single value for resources of the workspace. */
  readonly readAt: readonly (number | null)[];
  /** Whether a part was never read completely, in the same order, as a string of `1` and `0`. */
  readonly partial: string;
}

/** An item that could not be stored as a row. */
export interface QuarantinedItem {
  readonly resource: string;
  readonly reason: string;
  readonly lastSeenAt: string;
  /** The beginning of the item, as JSON. */
  readonly item: string;
}

/** A point that the specification leaves open, with the value that is used. */
export type ShownPoint = Pick<CalibratedPoint, 'name' | 'about' | 'text' | 'state' | 'compared' | 'agreed'>;

/** The part of the status report that depends only on the replica. */
export interface ReplicaReport {
  /** Same as `data` of `sightline status --json`. */
  readonly status: WarehouseStatus;
  readonly freshness: readonly FreshnessRow[];
  readonly calendars: readonly BrandCalendar[];
  readonly brandsLeftOut: number;
  readonly runs: readonly RunCost[];
  readonly quarantine: readonly QuarantinedItem[];
  readonly drift: readonly DriftRow[];
  /** Empty before the first calibration. */
  readonly points: readonly ShownPoint[];
  /** Requests by minute of sending, minutes since 1970, in the hour before the report. */
  readonly requests: readonly (readonly [minute: number, requests: number])[];
}

/** Reads the report of a replica. `nowMs` determines which days are over, and the last hour. */
export function readReplicaReport(replica: ServedReplica, catalogue: Catalogue, nowMs: number): Promise<ReplicaReport> {
  return replica.replica.work(async (query) => {
    const status = await readStatus(query, catalogue, nowMs);
    const shown = status.brands.slice(0, BRANDS_MAX);
    const brands = shown.map(({ brandId }) => ({ id: brandId, since: replica.brands.get(brandId)?.since ?? null }));
    return toShownTexts({
      status: { ...status, brands: shown },
      freshness: catalogue.resources
        .filter(({ change }) => change.kind !== 'detail')
        .map((resource) => freshnessOf(replica, catalogue, resource, brands, nowMs)),
      calendars: await readCalendars(query, catalogue, brands, nowMs),
      brandsLeftOut: status.brands.length - shown.length,
      runs: await readRuns(query, RUNS_MAX),
      quarantine: await readQuarantine(query),
      drift: await readDrift(query, EXAMPLES_MAX),
      points: await readPoints(replica, query),
      requests: await readRequests(query, nowMs),
    });
  });
}

function freshnessOf(
  replica: ServedReplica,
  catalogue: Catalogue,
  resource: Resource,
  brands: readonly { readonly id: string; readonly since: string | null }[],
  nowMs: number,
): FreshnessRow {
  const scopes = resource.scope === 'brand' ? brands : [{ id: null, since: null }];
  const parts = scopes.map(({ id, since }): Covered => {
    const today = replica.daysOf(resource.name, id)(nowMs);
    const asked = readQuery(resource.query, new URLSearchParams(), today);
    const request = { catalogue, resource, brandId: id, member: null, asked, nowMs, since: since ?? today };
    return coveredBy(replica.coverage, request);
  });
  return {
    resource: resource.name,
    scope: resource.scope,
    readAt: parts.map(({ asOf }) => (asOf === null ? null : Math.round(asOf / 1000))),
    partial: parts.map(({ partial }) => (partial ? '1' : '0')).join(''),
  };
}

async function readPoints({ conventions }: ServedReplica, query: Query): Promise<ShownPoint[]> {
  const stored = await readStoredFindings(query);
  return conventionNames.flatMap((name) => {
    const finding = stored.get(name);
    if (finding === undefined) return [];
    const isConfigured = !isDeepStrictEqual(conventions[name], finding.value);
    const { about, text, state, compared, agreed } = toPoint(name, conventions, finding, isConfigured);
    return [{ name, about, text, state, compared, agreed }];
  });
}

async function readQuarantine(query: Query): Promise<QuarantinedItem[]> {
  const rows = await query(
    `SELECT resource, reason, strftime(last_seen_at, '%Y-%m-%dT%H:%M:%S.%gZ'), left(CAST(item AS VARCHAR), ${ITEM_CHARACTERS_MAX})
     FROM sync.quarantine ORDER BY last_seen_at DESC, id LIMIT ${EXAMPLES_MAX}`,
  );
  return rows.map(([resource, reason, lastSeenAt, item]) => ({
    resource: String(resource),
    reason: String(reason),
    lastSeenAt: String(lastSeenAt),
    item: item === null ? '' : String(item),
  }));
}

async function readRequests(query: Query, nowMs: number): Promise<[number, number][]> {
  const rows = await query(
    `SELECT CAST(epoch_ms(sent_at) // 60000 AS DOUBLE), CAST(count(*) AS DOUBLE) FROM sync.requests
     WHERE sent_at >= make_timestamp_ms(${Math.trunc(nowMs - HOUR_MS)}) GROUP BY 1 ORDER BY 1`,
  );
  return rows.map(([minute, requests]) => [Number(minute), Number(requests)]);
}
