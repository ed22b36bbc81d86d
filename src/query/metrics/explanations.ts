import { type ExplainedChange, explainChange } from '../../analytics/explain/explain-change.ts';
import { explainedMetrics, isExplained } from '../../analytics/explain/explained-metrics.ts';
import { CHANGE_KINDS, historyQueries } from '../../analytics/explain/history-queries.ts';
import { findOpportunities, OPPORTUNITY_QUERIES, type Opportunity } from '../../analytics/explain/opportunities.ts';
import { type History, whatChanged } from '../../analytics/explain/what-changed.ts';
import type { DayRange, Scope } from '../../analytics/model/scope-sql.ts';
import { REPEATED_MENTIONS } from '../../analytics/numbers/aggregate.ts';
import { DAY_MS, toTimestamp } from '../../contract/time.ts';
import type { Query } from '../../warehouse/database.ts';
import {
  CHANGES_PARAMETERS,
  EXPLAIN_PARAMETERS,
  OPPORTUNITIES_LISTED,
  OPPORTUNITIES_MAX,
  OPPORTUNITIES_PARAMETERS,
  SINCE,
} from './explanation-parameters.ts';
import { freshnessOf } from './scope-freshness.ts';
import {
  calendarDayOf,
  checkParameters,
  invalidParameter,
  limitOf,
  listOf,
  onceOf,
  oneBrand,
  readBrands,
  readScope,
} from './scope-request.ts';
import type { MetricsSource, TableResult } from './table-result.ts';

/** When the data were read, and whether they are complete. */
type Freshness = Pick<TableResult, 'asOf' | 'completeTo' | 'partial'>;

/** The explanation of a change, with the freshness of its data. */
export type ChangeExplanation = ExplainedChange & Freshness;

/** The opportunities of a brand in a range of days, with the freshness of their data. */
export interface BrandOpportunities extends Freshness {
  readonly brandId: string;
  readonly from: string;
  readonly to: string;
  readonly opportunities: readonly Opportunity[];
  /** Number of all opportunities; `opportunities` has at most `limit`. */
  readonly total: number;
}

/**
 * Explains the change of a metric of one brand. Parameters: `metric`, the filters of a scope, and `before_from` with `before_to`, which
 * replace the period of `compare_to`.
 *
 * @throws SightlineError `invalid_parameter` with the parameter, its value and what is allowed
 * @example
 * await explainMetric(source, new URLSearchParams('metric=visibility&brand=Acme&from=2026-11-01&to=2026-11-14'));
 */
export async function explainMetric(source: MetricsSource, given: URLSearchParams): Promise<ChangeExplanation> {
  checkParameters(given, EXPLAIN_PARAMETERS);
  const metric = onceOf(given, 'metric') ?? '';
  const known = Object.keys(explainedMetrics);
  if (!isExplained(metric)) throw invalidParameter('metric', metric, known.join(', '), known);
  const { replica, signal } = source;
  return replica.replica.work(async (query) => {
    const scope = await readScope(source, query, given);
    const brandId = await oneBrand(query, scope, given);
    const before = readBefore(given, scope) ?? scope.before;
    if (before === null) throw invalidParameter('compare_to', 'none', 'previous, year');
    if (before.to >= scope.from && before.from <= scope.to) {
      throw invalidParameter('compare_to', 'year', 'previous, or year with a range of at most a year');
    }
    const compared = { ...scope, before, brandId };
    const explained = await explainChange(counted(query, source, null), {
      metric,
      scope: compared,
      labels: replica.conventions.labels,
      mayRepeat: replica.shapes.get(REPEATED_MENTIONS.resource, REPEATED_MENTIONS.form) !== null,
    });
    return { ...explained, ...freshness(source, compared) };
  }, signal);
}

/**
 * Lists the changes since a time. Parameters: `since` (a day, a time in ISO 8601, or a number of days; default: `7d`), `brand` and
 * `kind`. A caller that is limited to brands gets no changes of the whole workspace, such as drift.
 *
 * @throws SightlineError `invalid_parameter`
 */
export async function listChanges(source: MetricsSource, given: URLSearchParams): Promise<History> {
  checkParameters(given, CHANGES_PARAMETERS);
  const sinceMs = readSince(onceOf(given, 'since') ?? SINCE, source.nowMs);
  const kinds = listOf(given, 'kind').map((text) => {
    const kind = CHANGE_KINDS.find((known) => known === text);
    if (kind === undefined) throw invalidParameter('kind', text, CHANGE_KINDS.join(', '), CHANGE_KINDS);
    return kind;
  });
  const { replica, brands: allowed, signal } = source;
  const ofBrandsOnly = allowed !== undefined || replica.allowedBrands !== null;
  return replica.replica.work(async (query) => {
    const brandIds = await readBrands(source, query, given);
    return whatChanged(counted(query, source, historyQueries.length), brandIds, sinceMs, { kinds, ofBrandsOnly });
  }, signal);
}

/**
 * Lists the opportunities of one brand. Parameters: `brand`, `from`, `to` and `limit` (default 20, at most 200).
 *
 * @throws SightlineError `invalid_parameter`
 */
export async function listOpportunities(source: MetricsSource, given: URLSearchParams): Promise<BrandOpportunities> {
  checkParameters(given, OPPORTUNITIES_PARAMETERS);
  const limit = limitOf(given, OPPORTUNITIES_MAX) ?? OPPORTUNITIES_LISTED;
  return source.replica.replica.work(async (query) => {
    const scope = { ...(await readScope(source, query, given)), before: null };
    const brandId = await oneBrand(query, scope, given);
    const { from, to } = scope;
    const found = await findOpportunities(counted(query, source, OPPORTUNITY_QUERIES), brandId, { from, to });
    return {
      brandId,
      from,
      to,
      opportunities: found.slice(0, limit),
      total: found.length,
      ...freshness(source, scope),
    };
  }, source.signal);
}

// Reports each query that has ended.
function counted(query: Query, { report }: MetricsSource, total: number | null): Query {
  if (report === undefined) return query;
  let done = 0;
  return async (...given) => {
    const rows = await query(...given);
    done += 1;
    report(`Query ${done}${total === null ? '' : ` of ${total}`} has ended.`, done, total);
    return rows;
  };
}

function freshness(source: MetricsSource, scope: Scope): Freshness {
  const { asOf, completeTo, partial } = freshnessOf(source, scope);
  return { asOf, completeTo, partial };
}

function readBefore(given: URLSearchParams, after: DayRange): DayRange | null {
  const from = calendarDayOf(given, 'before_from');
  const to = calendarDayOf(given, 'before_to');
  if (from === null && to === null) return null;
  if (from === null) throw invalidParameter('before_from', '', 'a calendar day, if before_to is given');
  if (to === null) throw invalidParameter('before_to', '', 'a calendar day, if before_from is given');
  if (from > to) throw invalidParameter('before_from', from, `${to}, the last day of that period, or an earlier one`);
  // The tests assume that no response is in both periods.
  if (from <= after.to && to >= after.from) {
    const [name, day] = from < after.from ? (['before_to', to] as const) : (['before_from', from] as const);
    throw invalidParameter(name, day, `a day before ${after.from}, or a period after ${after.to}`);
  }
  return { from, to };
}

function readSince(text: string, nowMs: number): number {
  const days = /^(\d{1,4})d$/.exec(text);
  if (days !== null) return nowMs - Number(days[1]) * DAY_MS;
  const moment = toTimestamp(text);
  if (moment !== null) {
    const sinceMs = Date.parse(`${moment.slice(0, 23).replace(' ', 'T')}Z`);
    if (sinceMs <= nowMs) return sinceMs;
    throw invalidParameter('since', text, `a time up to now (${new Date(nowMs).toISOString()})`);
  }
  throw invalidParameter('since', text, 'a day, a time such as 2026-11-20T02:15:00Z, or a number of days such as 7d');
}
