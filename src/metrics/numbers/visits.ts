import { isRecord, parseExactJson } from '../../base/json.ts';
import type { ResolvedTotals } from '../../contract/plausibility/range-totals.ts';
import { type ResourceTable, WHOLE_ITEM } from '../../contract/tables.ts';
import { eachDay } from '../../contract/time.ts';
import { createBindings, liveConditions, rangeCondition } from '../../warehouse/conditions.ts';
import { readTotals, totalsWithin } from '../../warehouse/ledger/reported-totals.ts';
import { quoted } from '../../warehouse/schema.ts';
import { siteShare } from './definitions.ts';
import { type SortValue, sortedBy } from './order.ts';
import { beforeSorting, type Report, type ReportRequest } from './report-request.ts';

/** Decimal places beyond which a sum of amounts is floating-point noise. */
const DECIMALS_MAX = 9;

/**
 * Returns visits by day and source, and their totals. Site sessions are the sum of the days that upstream reported, or the
 * reported total of the range where days are missing; of the known days if neither covers the range.
 */
export async function reportVisits(request: ReportRequest): Promise<Report> {
  const { conventions, asked } = request;
  const { days, site } = await beforeSorting(request, async (given) => ({
    days: await readDays(given),
    site: await readSite(given),
  }));
  const { source } = asked.values;
  const filtered = days.filter((row) => source === undefined || row['source'] === source);
  const summed = conventions.trafficTotals === 'all' ? days : filtered;
  const rows = sortedBy(filtered, conventions.visitOrder, (row, key) => row[key] as SortValue);
  const total = (field: string): number => exactSum(summed.map((row) => Number(row[field] ?? 0)));
  const aiSessions = total('sessions');
  const { connected, property, currency } = site;
  const totals = {
    aiSessions,
    keyEvents: total('keyEvents'),
    revenue: total('revenue'),
    siteSessions: site.sessions,
    shareOfSite: siteShare(conventions, aiSessions, site.sessions),
  };
  // Without a connected property there is nothing to sum; return the totals as upstream reported them.
  const isEmpty = !connected && days.length === 0;
  return {
    beside: { from: asked.from, to: asked.to, connected, property, currency, totals: isEmpty ? site.last : totals },
    rows,
  };
}

async function readDays({ catalogue, query, brand, asked }: ReportRequest): Promise<Record<string, unknown>[]> {
  const table = catalogue.get('traffic').derived.find(({ name }) => name === 'traffic_daily') as ResourceTable;
  const bindings = createBindings();
  const conditions = [...liveConditions('t', brand.id, bindings), rangeCondition('t.date', asked, bindings)];
  const rows = await query(
    `SELECT t.${quoted(WHOLE_ITEM)} FROM ${quoted(table.name)} t WHERE ${conditions.join(' AND ')} ORDER BY t.date, t.source`,
    bindings.values,
  );
  return rows.map(([item]) => parseExactJson(String(item)) as Record<string, unknown>);
}

interface Site {
  readonly connected: boolean;
  readonly property: string | null;
  readonly currency: string | null;
  readonly sessions: number;
  /** The totals of the newest reported range, by name; null if upstream sent null instead of them. */
  readonly last: Readonly<Record<string, unknown>> | null;
}

/** The totals and their columns. */
const TOTALS = [
  ['aiSessions', 'ai_sessions'],
  ['keyEvents', 'key_events'],
  ['revenue', 'revenue'],
  ['siteSessions', 'site_sessions'],
  ['shareOfSite', 'share_of_site'],
] as const;

// Upstream reports site sessions once per range, not per source.
async function readSite({ catalogue, query, brand, asked, resource, nowMs }: ReportRequest): Promise<Site> {
  const bindings = createBindings();
  const live = liveConditions('t', brand.id, bindings).join(' AND ');
  const newest = (column: string): string => `arg_max_null(t.${column}, (t.range_to, t._synced_at))`;
  const columns = ['connected', 'property', 'currency', WHOLE_ITEM, ...TOTALS.map(([, column]) => column)].map(newest);
  const [row = []] = await query(`SELECT ${columns.join(', ')} FROM traffic_totals t WHERE ${live}`, bindings.values);
  const [connected, property, currency, item, ...totals] = row;
  const last = Object.fromEntries(
    TOTALS.map(([name], index) => [name, connected === null ? 0 : (totals[index] ?? null)]),
  );
  const known = (await readTotals(query, catalogue.get(resource.name), brand.id, true)).get(brand.id);
  const within = known === undefined ? null : totalsWithin(known, asked, brand.since, nowMs);
  const sessions = within?.[0] ?? sumOfDays(known?.resolved, asked.from, asked.to);
  return {
    connected: connected === true,
    property: (property ?? null) as string | null,
    currency: (currency ?? null) as string | null,
    sessions,
    last: Object.values(last).every((value) => value === null) ? sentTotals(item) : last,
  };
}

// An object of nulls and null are stored alike in the columns.
function sentTotals(item: unknown): Site['last'] {
  const stored = typeof item === 'string' ? parseExactJson(item) : null;
  const totals = isRecord(stored) ? stored['totals'] : null;
  return isRecord(totals) ? totals : null;
}

function sumOfDays(resolved: ResolvedTotals | undefined, from: string, to: string): number {
  return [...eachDay(from, to)].reduce((sum, day) => sum + (resolved?.day(day)?.values[0] ?? 0), 0);
}

// A sum has at most as many decimal places as its addends.
function exactSum(values: readonly number[]): number {
  const decimals = Math.max(0, ...values.map((value) => String(value).split('.')[1]?.length ?? 0));
  const sum = values.reduce((total, value) => total + value, 0);
  return Number(sum.toFixed(Math.min(decimals, DECIMALS_MAX)));
}
