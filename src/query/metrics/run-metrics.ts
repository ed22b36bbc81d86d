import { type DimensionName, dimensions } from '../../analytics/model/dimensions.ts';
import { GRAINS, METRICS, type Measure, measures } from '../../analytics/model/measures.ts';
import { type MetricsRequest, metricsColumns, metricsSql } from '../../analytics/model/metrics-sql.ts';
import { REPEATED_MENTIONS } from '../../analytics/numbers/aggregate.ts';
import { freshnessOf } from './scope-freshness.ts';
import {
  checkParameters,
  choiceOf,
  invalidParameter,
  limitOf,
  listOf,
  readScope,
  SCOPE_PARAMETERS,
} from './scope-request.ts';
import type { MetricsSource, TableResult } from './table-result.ts';

/** Maximum number of rows of a result. */
export const ROWS_MAX = 10_000;

/** Names of the parameters of runMetrics. */
export const METRICS_PARAMETERS = [METRICS, 'group_by', 'grain', ...SCOPE_PARAMETERS, 'order', 'limit'] as const;

/**
 * Computes measures by groups, with intervals and tested changes. Parameters: `metrics`, `group_by` (both repeatable or separated by
 * commas), `grain`, the filters of a scope, `order` (columns, `-` before a descending one) and `limit`.
 *
 * @throws SightlineError `invalid_parameter` with the parameter, its value, what is allowed and the nearest name
 * @example
 * await runMetrics(source, new URLSearchParams('brand=Acme&metrics=visibility,position&group_by=engine&grain=week'));
 */
export async function runMetrics(source: MetricsSource, given: URLSearchParams): Promise<TableResult> {
  const { replica, signal } = source;
  return replica.replica.work(async (query, read) => {
    const request = await readMetricsRequest(source, query, given);
    const columns = metricsColumns(request);
    const sql = metricsSql(request);
    const { rows } = await read(sql);
    const families = [...new Set(request.measures.map(({ family }) => family))];
    return {
      name: METRICS,
      about: aboutOf(request),
      columns,
      rows: rows.slice(0, request.limit),
      sql: sql.replace(/\nLIMIT \d+$/, `\nLIMIT ${request.limit}`),
      ...freshnessOf(source, request.scope, families),
      truncated: rows.length > request.limit,
    };
  }, signal);
}

async function readMetricsRequest(
  source: MetricsSource,
  query: Parameters<typeof readScope>[1],
  given: URLSearchParams,
): Promise<MetricsRequest> {
  checkParameters(given, METRICS_PARAMETERS);
  const asked = readMeasures(given);
  const groupBy = readGroupBy(given, asked);
  const grain = choiceOf(given, 'grain', GRAINS);
  const scope = await readScope(source, query, given);
  if (groupBy.includes('entity') && !groupBy.includes('brand') && scope.brands.length > 1) {
    throw invalidParameter('group_by', 'entity', 'entity with one brand, or with the dimension brand');
  }
  for (const measure of asked) refuseFilters(measure, given);
  const request = {
    measures: asked,
    groupBy,
    grain,
    scope,
    labels: source.replica.conventions.labels,
    mayRepeat: source.replica.shapes.get(REPEATED_MENTIONS.resource, REPEATED_MENTIONS.form) !== null,
  };
  const columns = metricsColumns(request).map(({ name }) => name);
  return { ...request, order: readOrder(given, columns), limit: limitOf(given, ROWS_MAX) ?? ROWS_MAX };
}

function readMeasures(given: URLSearchParams): Measure[] {
  const names = measures.map(({ name }) => name);
  const asked = listOf(given, METRICS);
  if (asked.length === 0) throw invalidParameter(METRICS, '', names.join(', '));
  return asked.map((name) => {
    const found = measures.find((measure) => measure.name === name);
    if (found === undefined) throw invalidParameter(METRICS, name, names.join(', '), names);
    return found;
  });
}

function readGroupBy(given: URLSearchParams, asked: readonly Measure[]): DimensionName[] {
  const groupBy = listOf(given, 'group_by');
  const names = dimensions.map(({ name }) => name);
  return groupBy.map((text) => {
    const name = names.find((known) => known === text);
    if (name === undefined) throw invalidParameter('group_by', text, names.join(', '), names);
    const without = asked.find((measure) => !measure.dimensions.includes(name));
    if (without !== undefined) {
      throw invalidParameter('group_by', text, `${without.dimensions.join(', ')} (for ${without.name})`);
    }
    return name;
  });
}

function refuseFilters({ name, isFiltered, dimensions: allowed, requires }: Measure, given: URLSearchParams): void {
  if (requires !== undefined && !requires.some((dimension) => listOf(given, 'group_by').includes(dimension))) {
    throw invalidParameter('group_by', listOf(given, 'group_by').join(), `${requires.join(' or ')} (for ${name})`);
  }
  if (isFiltered) return;
  const filter = ['engine', 'topic', 'tag', 'branded', 'prompt', 'competitor'].find((parameter) =>
    given.has(parameter),
  );
  if (filter !== undefined) {
    throw invalidParameter(
      filter,
      given.getAll(filter).join(),
      `no value, because ${name} is only known by ${allowed.join(' and ')}`,
    );
  }
}

function readOrder(given: URLSearchParams, columns: readonly string[]): MetricsRequest['order'] {
  return listOf(given, 'order').map((text) => {
    const column = text.replace(/^-/, '');
    if (!columns.includes(column)) throw invalidParameter('order', text, columns.join(', '), columns);
    return { column, descending: text.startsWith('-') };
  });
}

function aboutOf({ measures: asked, groupBy, grain, scope }: MetricsRequest): string {
  const by = [...groupBy, ...(grain === null ? [] : [grain])];
  const compared = scope.before === null ? '' : `, compared with ${scope.before.from} to ${scope.before.to}`;
  return `${asked.map(({ label }) => label).join(', ')}${by.length === 0 ? '' : ` by ${by.join(', ')}`}, ${scope.from} to ${scope.to}${compared}.`;
}
