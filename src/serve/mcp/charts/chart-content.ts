import type { ContentBlock } from '@modelcontextprotocol/server';
import { SightlineError } from '../../../base/errors.ts';
import { METRICS_PARAMETERS, runMetrics } from '../../../query/metrics/run-metrics.ts';
import { listOf, onceOf, resolveScope } from '../../../query/metrics/scope-request.ts';
import type { MetricsSource, TableResult } from '../../../query/metrics/table-result.ts';
import { loadReportApp } from '../../../web/report/report-app.ts';
import { svgToPng } from '../../../web/report/svg-to-png.ts';
import { chartSpecOf, type ResultChart } from './chart-spec.ts';

/** Beginning of the URIs of charts. */
export const CHART_URI = 'sightline://chart';
export const SVG_TYPE = 'image/svg+xml';

/** The template of the URIs of charts: the arguments of `query_metrics`, lists separated by commas. */
export function chartTemplate(hasWorkspaces: boolean): string {
  return `${CHART_URI}${hasWorkspaces ? '/{workspace}' : ''}{?${METRICS_PARAMETERS.join(',')}}`;
}

/**
 * Returns the workspace and the parameters of a chart's URI; null for other URIs. The workspace is null if the URI has none.
 *
 * @example
 * readChartUri('sightline://chart?metrics=visibility&grain=week')
 */
export function readChartUri(uri: string): { workspace: string | null; parameters: URLSearchParams } | null {
  if (!uri.startsWith(CHART_URI) || !URL.canParse(uri)) return null;
  const { host, pathname, searchParams } = new URL(uri);
  if (host !== 'chart' || pathname.slice(1).includes('/')) return null;
  const workspace = decodeURIComponent(pathname.slice(1));
  return { workspace: workspace === '' ? null : workspace, parameters: searchParams };
}

/**
 * Draws the chart of a request as SVG.
 *
 * @throws SightlineError `invalid_parameter`; `not_found` if the request has no values
 */
export async function chartOf(source: MetricsSource, parameters: URLSearchParams): Promise<string> {
  const given = new URLSearchParams(parameters);
  if (!given.has('compare_to')) given.set('compare_to', 'none');
  const chart = await specOf(source, given, await runMetrics(source, given));
  if (chart === null) throw new SightlineError('not_found', 'the chart has no values; change the days or the filters');
  return drawn(chart);
}

/** Image and link of a chart in a tool's result, and sentences about the chart. */
export interface ChartContent {
  readonly more: readonly ContentBlock[];
  readonly remarks: readonly string[];
}

/** Draws the chart of a result as an image, and links to its SVG. Returns only the link if the package for images is not installed. */
export async function chartContent(
  source: MetricsSource,
  given: URLSearchParams,
  result: TableResult,
  workspace: string | null,
): Promise<ChartContent> {
  const chart = await specOf(source, given, result);
  if (chart === null) return { more: [], remarks: ['The chart was not drawn, because the result has no values.'] };
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
  return chartSpecOf({ result, groupBy: listOf(given, 'group_by'), grain: onceOf(given, 'grain'), brand });
}

async function drawn({ spec }: ResultChart): Promise<string> {
  return (await loadReportApp()).renderChart(spec);
}

// The URI contains the days of the result, so that the chart stays the same when newer days are read.
function uriOf(given: URLSearchParams, { from, to }: TableResult, workspace: string | null): string {
  const parameters = new URLSearchParams(given);
  parameters.delete('compare_to');
  if (from !== null) parameters.set('from', from);
  if (to !== null) parameters.set('to', to);
  return `${CHART_URI}${workspace === null ? '' : `/${encodeURIComponent(workspace)}`}?${parameters}`;
}
