import {
  type ReadResourceResult,
  type Resource as ResourceEntry,
  ResourceNotFoundError,
  type ResourceTemplateType,
} from '@modelcontextprotocol/server';
import { nearestName } from '../../base/choose-name.ts';
import { tableName } from '../../operations/sql/sql-schema.ts';
import type { Freshness, Service } from '../../read/service.ts';
import type { SqlTable } from '../../web/page-data/sql-data.ts';
import { CHART_URI, chartOf, chartTemplate, readChartUri, SVG_TYPE } from './charts/chart-content.ts';
import { describeIndex, type Entry, TABLE_URI, TOOL_URI, tableText } from './endpoints/data-dictionary.ts';
import { toProtocolError } from './protocol-error.ts';
import type { Served } from './served.ts';
import { type Caller, type Calling, chosenWorkspace, readTables, requireScope, sourceOf } from './tool-calls.ts';

/** Resources that clients can read, besides the parts of the data dictionary. */
export const DICTIONARY_URI = 'sightline://dictionary';
export const FRESHNESS_URI = 'sightline://freshness';

/** The templates of resources. */
export function resourceTemplates({ workspaces }: Served): ResourceTemplateType[] {
  const markdown = { mimeType: 'text/markdown' };
  const templates = [
    {
      uriTemplate: `${TOOL_URI}{name}`,
      name: 'tool',
      description: "Fields of a tool's result, with their meaning.",
      ...markdown,
    },
    {
      uriTemplate: `${TABLE_URI}{name}`,
      name: 'table',
      description: 'Columns of a table or view, with their meaning.',
      ...markdown,
    },
  ];
  const chart = {
    uriTemplate: chartTemplate(workspaces !== null),
    name: 'chart',
    description: 'Chart of the first metric of a `query_metrics` call with these arguments, with intervals and n.',
    mimeType: SVG_TYPE,
  };
  if (workspaces === null) return [...templates, chart];
  const description = 'Time of the last sync of a workspace, and freshness and completeness of each resource.';
  const freshness = { uriTemplate: `${FRESHNESS_URI}/{workspace}`, name: 'freshness', description };
  return [...templates, chart, { ...freshness, mimeType: 'application/json' }];
}

/** The list of resources. */
export function resourceEntries({ workspaces }: Served, dictionary: ReadonlyMap<string, Entry>): ResourceEntry[] {
  const parts = [...dictionary].map(([uri, { name, about }]) => {
    return { uri, name, description: about, mimeType: 'text/markdown' };
  });
  const index = {
    uri: DICTIONARY_URI,
    name: 'dictionary',
    title: 'Data dictionary',
    description: 'Lists the tools and the tables.',
    mimeType: 'text/markdown',
  };
  const freshness = (workspaces ?? [null]).map((name) => ({
    uri: name === null ? FRESHNESS_URI : `${FRESHNESS_URI}/${name}`,
    name: name === null ? 'freshness' : `freshness of ${name}`,
    description: 'Time of the last sync, and freshness and completeness of each resource.',
    mimeType: 'application/json',
  }));
  return [index, ...freshness, ...parts];
}

/**
 * Reads a resource.
 *
 * @throws ResourceNotFoundError for an unknown URI, and ProtocolError for wrong arguments of a chart
 */
export async function readResource(
  calling: Calling,
  dictionary: ReadonlyMap<string, Entry>,
  uri: string,
  caller: Caller,
): Promise<ReadResourceResult> {
  const { served } = calling;
  const text = (of: string, mimeType = 'text/markdown'): ReadResourceResult => ({
    contents: [{ uri, mimeType, text: of }],
  });
  if (uri === DICTIONARY_URI) return text(describeIndex(dictionary));
  const entry = dictionary.get(uri);
  if (entry !== undefined) return text(entry.text());
  const tables = uri.startsWith(TABLE_URI) ? await readTables(calling, caller) : [];
  const found = tables.find((table) => uri === `${TABLE_URI}${tableName(table)}`);
  if (found !== undefined) return text(tableText(found));
  const chart = readChartUri(uri);
  if (chart !== null && (served.workspaces !== null || chart.workspace === null))
    return text(await drawChart(calling, chart, caller.signal), SVG_TYPE);
  const workspace = uri.startsWith(`${FRESHNESS_URI}/`) ? uri.slice(FRESHNESS_URI.length + 1) : null;
  const isFreshness =
    served.workspaces === null ? uri === FRESHNESS_URI : workspace !== null && served.workspaces.includes(workspace);
  if (!isFreshness) {
    const ofWorkspace = served.workspaces === null ? '' : '/{workspace}';
    const known = `${DICTIONARY_URI}, ${FRESHNESS_URI}${ofWorkspace}, ${CHART_URI}${ofWorkspace}?metrics=...`;
    throw new ResourceNotFoundError(
      uri,
      `Unknown resource: ${uri}; known: ${known}, ${TOOL_URI}{name}, ${TABLE_URI}{name}${suggestionFor(uri, dictionary, tables)}`,
    );
  }
  const shown = await served.use(workspace, async ({ service }) => toReadable(service, await service.freshness()));
  return text(JSON.stringify(shown, null, 2), 'application/json');
}

async function drawChart(
  { served, options }: Calling,
  chart: NonNullable<ReturnType<typeof readChartUri>>,
  signal: AbortSignal,
): Promise<string> {
  try {
    requireScope('metrics', options);
    const named = chosenWorkspace(served, chart.workspace);
    return await served.use(named, async (open) => chartOf(await sourceOf(served, open, signal), chart.parameters));
  } catch (thrown) {
    throw toProtocolError(thrown, signal, options.onError);
  }
}

// Compares the names without the common beginning of the URIs, which would make all of them similar.
function suggestionFor(uri: string, dictionary: ReadonlyMap<string, Entry>, tables: readonly SqlTable[]): string {
  const start = [TOOL_URI, TABLE_URI].find((one) => uri.startsWith(one));
  if (start === undefined) return '';
  const known = [...dictionary.keys()].flatMap((one) => (one.startsWith(start) ? [one.slice(start.length)] : []));
  const names = [...known, ...tables.map(tableName)];
  const near = nearestName(uri.slice(start.length), names);
  return near === null ? '' : `; did you mean ${start}${near}?`;
}

// Uses ISO dates and tool names, which models understand better than milliseconds and resource names.
function toReadable({ catalogue }: Service, freshness: Freshness): object {
  const toTime = (epochMs: number | null): string | null => (epochMs === null ? null : new Date(epochMs).toISOString());
  const resources = freshness.resources.map(({ name, asOf, partial }) => {
    return { name, tool: catalogue.get(name).tool, asOf: toTime(asOf), partial };
  });
  return { ...freshness, syncedAt: toTime(freshness.syncedAt), resources };
}
