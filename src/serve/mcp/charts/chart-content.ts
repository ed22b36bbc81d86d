import type { ContentBlock } from '@modelcontextprotocol/server';
import { SightlineError } from '../../../base/errors.ts';
import { onceOf, readInput } from '../../../contract/operation/read-input.ts';
import { runMetrics } from '../../../read/metrics/run-metrics.ts';
import { resolveScope } from '../../../read/metrics/scope-request.ts';
import type { MetricsSource, TableResult } from '../../../read/metrics/table-result.ts';
import { loadReportApp } from '../../../web/report/report-app.ts';
import { svgToPng } from '../../../web/report/svg-to-png.ts';
import { chartSpecOf, type ResultChart } from './chart-spec.ts';

/** Beginning of the URIs of charts. */
export const CHART_URI = 'sightline://chart';
export const SVG_TYPE = 'image/svg+xml';

/** The template of the URIs of charts: the arguments of `query_metrics`, lists separated by commas. */
export function chartTemplate(hasWorkspaces: boolean): string {
  return `${CHART_URI}${hasWorkspaces ? '/{workspace}' : ''}{?${Object.keys(runMetrics.members).join(',')}}`;
}

/**
 * Returns the workspace and the parameters of a chart's URI; null for other URIs, and for escapes that are not UTF-8. The workspace is
 * null if the URI has none.
 *
 * @example
 * readChartUri('sightline://chart?metrics=visibility&grain=week')
 */
export function readChartUri(uri: string): { workspace: string | null; parameters: URLSearchParams } | null {
  if (!uri.startsWith(CHART_URI) || !URL.canParse(uri)) return null;
  const { host, pathname, searchParams } = new URL(uri);
  if (host !== 'chart' || pathname.slice(1).includes('/')) return null;
  try {
    const workspace = decodeURIComponent(pathname.slice(1));
    return { workspace: workspace === '' ? null : workspace, parameters: searchParams };
  } catch (thrown) {
    if (thrown instanceof URIError) return null;
    throw thrown;
  }
}

/**
 * Draws the chart of a request as SVG.
 *
 * @throws SightlineError `invalid_parameter`; `not_found` if the request has no values
 */
export async function chartOf(source: MetricsSource, given: URLSearchParams): Promise<string> {
  const chart = await specOf(source, given, await runMetrics(source, chartParameters(given)));
  if (chart === null) {
    const hint = 'Change the days or the filters.';
    throw new SightlineError('not_found', 'the chart has no values', { hint });
  }
  return drawn(chart);
}

/** Image and link of a chart in a tool's result, and sentences about the chart. */
export interface ChartContent {
  readonly more: readonly ContentBlock[];
  readonly remarks: readonly string[];
}

/**
 * Draws the chart of a call as an image, and links to its SVG. Without the package for images there is only the link. If the limit of the
 * call has cut the result, all rows of the chart are read.
 */
export async function chartContent(
  source: MetricsSource,
  given: URLSearchParams,
  result: TableResult,
  workspace: string | null,
): Promise<ChartContent> {
  const complete = result.truncated ? await runMetrics(source, chartParameters(given)) : result;
  const chart = await specOf(source, given, complete);
  if (chart === null) return { more: [], remarks: ['The result has no values, so there is no chart.'] };
  const link: ContentBlock = {
    type: 'resource_link',
    uri: uriOf(given, result, workspace),
    name: 'chart',
    title: chart.spec.title,
    mimeType: SVG_TYPE,
  };
  try {
    const data = Buffer.from(await svgToPng(await drawn(chart))).toString('base64');
    return { more: [{ type: 'image', data, mimeType: 'image/png' }, link], remarks: chart.remarks };
  } catch (thrown) {
    if (!(thrown instanceof SightlineError) || thrown.code !== 'usage') throw thrown;
    return { more: [link], remarks: [...chart.remarks, `${thrown.message}. The chart is linked as SVG.`] };
  }
}

async function specOf(source: MetricsSource, given: URLSearchParams, result: TableResult): Promise<ResultChart | null> {
  const { brands } = await resolveScope(source, given);
  const [only = ''] = brands;
  const brand = brands.length === 1 ? (source.replica.brands.get(only)?.name ?? only) : null;
  const {
    group_by: groupBy,
    grain,
    limit,
  } = readInput(runMetrics.members, given) as {
    readonly group_by: readonly string[];
    readonly grain?: string;
    readonly limit: number;
  };
  return chartSpecOf({ result, groupBy, grain: grain ?? null, brand, limit });
}

// All rows that the chart needs: lines are in the order of time, which is the default, and bars in the order of the call.
function chartParameters(given: URLSearchParams): URLSearchParams {
  const parameters = new URLSearchParams(given);
  parameters.delete('limit');
  if (onceOf(given, 'grain') !== null) parameters.delete('order');
  // The order of bars may name a column of the comparison.
  if (!parameters.has('order') || !parameters.has('compare_to')) parameters.set('compare_to', 'none');
  return parameters;
}

async function drawn({ spec }: ResultChart): Promise<string> {
  return (await loadReportApp()).renderChart(spec);
}

// The URI contains the days of the result, so that the chart stays the same when newer days are read.
function uriOf(given: URLSearchParams, { from, to }: TableResult, workspace: string | null): string {
  const parameters = chartParameters(given);
  if (parameters.get('compare_to') === 'none') parameters.delete('compare_to');
  const limit = given.get('limit');
  // The limit of bars is part of their chart.
  if (limit !== null && onceOf(given, 'grain') === null) parameters.set('limit', limit);
  if (from !== null) parameters.set('from', from);
  if (to !== null) parameters.set('to', to);
  return `${CHART_URI}${workspace === null ? '' : `/${encodeURIComponent(workspace)}`}?${parameters}`;
}
