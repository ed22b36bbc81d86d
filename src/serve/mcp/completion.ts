import {
  type CompleteRequestParams,
  type CompleteResult,
  ProtocolError,
  ProtocolErrorCode,
} from '@modelcontextprotocol/server';
import { type DimensionName, dimensions } from '../../analytics/model/dimensions.ts';
import { GRAINS, measures } from '../../analytics/model/measures.ts';
import type { Named } from '../../base/choose-name.ts';
import { SightlineError } from '../../base/errors.ts';
import { tableName } from '../../operations/sql/sql-schema.ts';
import { dimensionValues } from '../../query/metrics/dimension-values.ts';
import { ROWS_MAX } from '../../query/metrics/run-metrics.ts';
import { COMPARISONS } from '../../query/metrics/scope-request.ts';
import type { MetricsSource } from '../../query/metrics/table-result.ts';
import { chosenWorkspace, mayUse, sourceOf } from './caller.ts';
import { CHART_URI } from './charts/chart-content.ts';
import { TABLE_URI, TOOL_URI } from './endpoints/data-dictionary.ts';
import { resourceTemplates } from './mcp-resources.ts';
import { findPrompt } from './prompts/get-prompt.ts';
import { alertsOf, brandsOf, chooseArgument, competitorsOf } from './prompts/prompt-names.ts';
import { toProtocolError } from './protocol-error.ts';
import { type Caller, type Calling, readTables } from './tool-calls.ts';

/** Maximum number of values of a response, which the protocol defines. */
const VALUES_MAX = 100;

/** Values of the arguments of charts that do not depend on the data. */
const CHART_VALUES: Readonly<Record<string, readonly string[]>> = {
  metrics: measures.map(({ name }) => name),
  group_by: dimensions.map(({ name }) => name),
  grain: GRAINS,
  compare_to: COMPARISONS,
};

/** Dimensions whose values are names of the data, by the argument of charts that filters by them. */
const CHART_DIMENSIONS: Readonly<Record<string, DimensionName>> = {
  brand: 'brand',
  engine: 'engine',
  topic: 'topic',
  tag: 'tag',
  competitor: 'entity',
};

/**
 * Completes an argument of a prompt or of a resource template. Values that begin with the text come first, then those that contain it.
 * Names from the data are limited to the brands of the caller. Returns an empty list for arguments such as days.
 *
 * @throws ProtocolError `InvalidParams` for an unknown prompt, template or argument
 */
export async function complete(
  calling: Calling,
  { ref, argument, context }: CompleteRequestParams,
  caller: Caller,
): Promise<CompleteResult> {
  const { signal } = caller;
  const given = context?.arguments ?? {};
  try {
    const values =
      ref.type === 'ref/prompt'
        ? await promptValues(calling, ref.name, argument.name, given, signal)
        : await templateValues(calling, ref.uri, argument, given, caller);
    return { completion: matching(values, argument.value) };
  } catch (thrown) {
    throw toProtocolError(thrown, signal, calling.options.onError);
  }
}

function matching(values: readonly string[], given: string): CompleteResult['completion'] {
  const text = given.trim().toLowerCase();
  const places = values.map((value) => ({ value, place: value.toLowerCase().indexOf(text) }));
  const found = [...places.filter(({ place }) => place === 0), ...places.filter(({ place }) => place > 0)];
  return {
    values: found.slice(0, VALUES_MAX).map(({ value }) => value),
    total: found.length,
    hasMore: found.length > VALUES_MAX,
  };
}

async function promptValues(
  { served, options }: Calling,
  prompt: string,
  argument: string,
  given: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const declared = Object.keys(findPrompt(prompt).arguments);
  const known = [...(served.workspaces === null ? [] : ['workspace']), ...declared];
  if (!known.includes(argument)) throw unknownArgument(prompt, argument, known);
  if (argument === 'workspace') return served.workspaces ?? [];
  if (argument === 'to' || !mayUse('metrics', options)) return [];
  // The names depend on the workspace, which is not selected yet.
  if (served.workspaces !== null && (given['workspace'] ?? '') === '') return [];
  const workspace = chosenWorkspace(served, given['workspace'] ?? null);
  return served.use(workspace, async (open) => {
    const source = await sourceOf(served, open, signal);
    return shownNames(await namesOf(source, argument, given['brand'] ?? ''));
  });
}

async function namesOf(source: MetricsSource, argument: string, brand: string): Promise<readonly Named[]> {
  const brands = brandsOf(source);
  if (argument === 'brand') return brands;
  const chosen = brands.length === 1 ? brands[0] : brand === '' ? undefined : chooseArgument('brand', brand, brands);
  if (chosen === undefined) return [];
  return argument === 'competitor' ? competitorsOf(source, chosen.id) : alertsOf(source, chosen.id);
}

// Returns the id of an item whose name is not unique, because the name would not select it.
function shownNames(items: readonly Named[]): string[] {
  const counts = new Map<string | null, number>();
  for (const { name } of items) counts.set(name, (counts.get(name) ?? 0) + 1);
  return items.map(({ id, name }) => (name !== null && counts.get(name) === 1 ? name : id));
}

async function templateValues(
  calling: Calling,
  uri: string,
  { name: argument, value }: CompleteRequestParams['argument'],
  given: Readonly<Record<string, string>>,
  caller: Caller,
): Promise<readonly string[]> {
  const { served, derive } = calling;
  const template = resourceTemplates(served).find(({ uriTemplate }) => uriTemplate === uri);
  if (template === undefined) {
    const known = resourceTemplates(served).map(({ uriTemplate }) => uriTemplate);
    const message = `Unknown resource template: ${uri.slice(0, 200)}; known: ${known.join(', ')}`;
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, message);
  }
  const known = [...uri.matchAll(/[{,?](\w+)(?=[,}])/g)].map(([, name]) => name as string);
  if (!known.includes(argument)) throw unknownArgument(uri, argument, known);
  if (argument === 'workspace') return served.workspaces ?? [];
  if (uri.startsWith(CHART_URI)) {
    const dimension = CHART_DIMENSIONS[argument];
    if (dimension === undefined) return CHART_VALUES[argument] ?? [];
    return dimensionNames(calling, dimension, value, given, caller.signal);
  }
  const start = [TOOL_URI, TABLE_URI].find((one) => uri.startsWith(one));
  if (start === undefined) return [];
  const { dictionary } = await derive();
  const listed = [...dictionary.keys()].flatMap((key) => (key.startsWith(start) ? [key.slice(start.length)] : []));
  const tables = start === TABLE_URI ? await readTables(calling, caller) : [];
  return [...new Set([...listed, ...tables.map(tableName)])];
}

// Names of the brands of the caller, or of the brand that is already known.
async function dimensionNames(
  { served, options }: Calling,
  dimension: DimensionName,
  search: string,
  given: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (!mayUse('metrics', options)) return [];
  if (served.workspaces !== null && (given['workspace'] ?? '') === '') return [];
  const brand = dimension === 'brand' ? '' : (given['brand'] ?? '');
  const parameters = new URLSearchParams({ dimension, search: search.trim(), brand, limit: String(ROWS_MAX) });
  return served.use(chosenWorkspace(served, given['workspace'] ?? null), async (open) => {
    const { columns, rows } = await dimensionValues(await sourceOf(served, open, signal), parameters);
    const id = columns.findIndex(({ name }) => name === 'competitor_id' || name === `${dimension}_id`);
    return shownNames(rows.flatMap((row) => itemOf(row[Math.max(id, 0)], row.at(-1))));
  });
}

function itemOf(id: string | null | undefined, name: string | null | undefined): Named[] {
  // The brand itself is an entity without an id.
  return typeof id === 'string' ? [{ id, name: name ?? null }] : [];
}

function unknownArgument(of: string, argument: string, known: readonly string[]): SightlineError {
  const message = `${of} has no argument ${JSON.stringify(argument.slice(0, 80))}; allowed: ${known.join(', ')}`;
  return new SightlineError('invalid_parameter', message);
}
