import { z } from 'zod';
import { defineOperation } from '../../contract/operation/operation.ts';
import { invalidParameter, splitList } from '../../contract/operation/read-input.ts';
import { shownDays } from '../../contract/time.ts';
import { type DimensionName, dimensionName } from '../../metrics/model/dimensions.ts';
import { GRAINS, METRICS, type Measure, measures } from '../../metrics/model/measures.ts';
import { type MetricsRequest, metricsColumns, metricsSql } from '../../metrics/model/metrics-sql.ts';
import { freshnessOf } from './scope-freshness.ts';
import { readScope, scopeInput } from './scope-request.ts';
import { type MetricsSource, tableResult } from './table-result.ts';

/** Maximum number of rows of a result. */
export const ROWS_MAX = 10_000;

const metricsInput = z.object({
  metrics: z.array(z.enum(measures.map(({ name }) => name))).describe('Measures, such as visibility.'),
  group_by: z.array(dimensionName).default([]).describe('Dimensions.'),
  grain: z.enum(GRAINS).optional().describe('Default: one row for the range.'),
  ...scopeInput,
  order: z.array(z.string()).default([]).describe('Columns; `-` before a descending one.'),
  limit: z.int().min(1).max(ROWS_MAX).default(ROWS_MAX).describe('Most rows.'),
});

/** Computes measures by groups. */
export const runMetrics = defineOperation({
  name: 'query_metrics',
  path: '/data/metrics',
  title: 'Query metrics',
  about:
    'Measures by groups and periods, for all brands at once, with sample size n, 95 % interval and, if compared, the tested change. Use it for every number, trend, ranking and comparison.',
  input: metricsInput,
  output: tableResult,
  run: async (source: MetricsSource, input) => {
    const { replica, signal } = source;
    return replica.replica.work(async (query, read) => {
      const request = await readMetricsRequest(source, query, input);
      const columns = metricsColumns(request);
      const sql = metricsSql(request);
      const { rows } = await read(sql);
      const families = [...new Set(request.measures.map(({ family }) => family))];
      return {
        name: METRICS,
        about: aboutOf(request, replica.brands),
        columns,
        rows: rows.slice(0, request.limit),
        sql: sql.replace(/\nLIMIT \d+$/, `\nLIMIT ${request.limit}`),
        ...freshnessOf(source, request.scope, families),
        truncated: rows.length > request.limit,
      };
    }, signal);
  },
});

async function readMetricsRequest(
  source: MetricsSource,
  query: Parameters<typeof readScope>[1],
  input: z.infer<typeof metricsInput>,
): Promise<MetricsRequest> {
  const { group_by: groupBy, grain = null, limit } = input;
  const asked = input.metrics.map((name) => measures.find((measure) => measure.name === name) as Measure);
  for (const measure of asked) refuseGroups(measure, groupBy);
  const scope = await readScope(source, query, input);
  if (groupBy.includes('entity') && !groupBy.includes('brand') && scope.brands.length > 1) {
    throw invalidParameter('group_by', 'entity', 'entity with one brand, or with the dimension brand');
  }
  for (const measure of asked) refuseFilters(measure, input);
  const request = {
    measures: asked,
    groupBy,
    grain,
    scope,
    labels: source.replica.conventions.labels,
    mayRepeat: source.replica.mayRepeat,
  };
  const columns = metricsColumns(request).map(({ name }) => name);
  return { ...request, order: readOrder(input.order, columns), limit };
}

function refuseGroups({ name, dimensions: allowed }: Measure, groupBy: readonly DimensionName[]): void {
  const other = groupBy.find((dimension) => !allowed.includes(dimension));
  if (other !== undefined) throw invalidParameter('group_by', other, `${allowed.join(', ')} (for ${name})`);
}

function refuseFilters(
  { name, isFiltered, dimensions: allowed, requires }: Measure,
  { group_by: groupBy, ...input }: z.infer<typeof metricsInput>,
): void {
  if (requires !== undefined && !requires.some((dimension) => groupBy.includes(dimension))) {
    throw invalidParameter('group_by', groupBy.join(), `${requires.join(' or ')} (for ${name})`);
  }
  if (isFiltered) return;
  const { engine, topic, tag, branded, prompt, competitor } = input;
  const filters = Object.entries({ engine, topic, tag, branded, prompt, competitor });
  const [filter, given] = filters.find(([, value]) => value !== undefined && value.length > 0) ?? [];
  if (filter !== undefined) {
    const reason = `no value, because ${name} is only known by ${allowed.join(' and ')}`;
    throw invalidParameter(filter, String(given), reason);
  }
}

function readOrder(given: readonly string[], columns: readonly string[]): MetricsRequest['order'] {
  return splitList(given).map((text) => {
    const column = text.replace(/^-/, '');
    if (!columns.includes(column)) throw invalidParameter('order', text, columns.join(', '), columns);
    return { column, descending: text.startsWith('-') };
  });
}

function aboutOf(
  { measures: asked, groupBy, grain, scope }: MetricsRequest,
  listed: ReadonlyMap<string, { readonly name: string | null }>,
): string {
  const by = [...groupBy, ...(grain === null ? [] : [grain])];
  const { before, from, to } = scope;
  const [id = '', ...others] = scope.brands;
  const brand = others.length === 0 ? (listed.get(id)?.name ?? id) : `${scope.brands.length} brands`;
  const compared = before === null ? '' : `, compared with ${shownDays(before.from, before.to)}`;
  return `${asked.map(({ label }) => label).join(', ')} of ${brand}${by.length === 0 ? '' : ` by ${by.join(', ')}`}, ${shownDays(from, to)}${compared}.`;
}
