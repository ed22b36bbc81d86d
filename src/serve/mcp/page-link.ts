import type { DimensionName } from '../../metrics/model/dimensions.ts';
import type { Scope } from '../../metrics/model/scope-sql.ts';
import { OVERVIEW, type PageView } from '../../read/metrics/result-pages.ts';
import { resolveScope } from '../../read/metrics/scope-request.ts';
import type { ToolContext } from './tool.ts';

/** Pages by dimension. A result with several dimensions links to the page of the first of them in this list. */
const DIMENSION_PAGES: readonly (readonly [DimensionName, PageView])[] = [
  ['prompt', { path: '/prompts' }],
  ['entity', { path: '/competitors' }],
  ['domain', { path: '/sources' }],
  ['owner', { path: '/sources' }],
  ['source', { path: '/traffic' }],
  ['topic', { path: '/topics' }],
  ['tag', { path: '/topics', more: { view: 'tag' } }],
  ['funnel_stage', { path: '/topics', more: { view: 'funnel_stage' } }],
  ['branded', { path: '/topics', more: { view: 'branded' } }],
];

/** Returns the page that shows measures by these dimensions. */
export function pageOfDimensions(groupBy: readonly string[], isTraffic: boolean): PageView {
  const found = DIMENSION_PAGES.find(([name]) => groupBy.includes(name));
  return found?.[1] ?? (isTraffic ? { path: '/traffic' } : OVERVIEW);
}

/**
 * Returns `url`, the address of a data page with the brand, days and filters of a call. `parameters` are those of the metrics layer.
 * Returns an empty object if the address of the pages is unknown, or if no page can show the call: a page shows one brand (two if they
 * are compared), and at most one topic, tag, prompt and competitor.
 */
export async function pageLink(
  { workspace: { pageUrl }, source }: ToolContext,
  parameters: URLSearchParams,
  viewOf: PageView | ((scope: Scope) => PageView),
): Promise<{ url?: string }> {
  if (pageUrl === null) return {};
  const scope = await resolveScope(await source(), parameters);
  const filters = filtersOf(scope, parameters.get('compare_to') ?? 'none');
  const view = typeof viewOf === 'function' ? viewOf(scope) : viewOf;
  const { path, more = {} } = scope.brands.length === 2 ? comparedBrands(scope, view) : view;
  if (filters === null || (scope.brands.length > 1 && more['of'] !== 'brand')) return {};
  const search = new URLSearchParams([...filters, ...Object.entries(more)]);
  return { url: `${pageUrl}${path}?${search}` };
}

// Filters by id belong to one brand, so the comparison of brands does not apply them.
function comparedBrands({ brands, topics, tags, prompts, competitors }: Scope, view: PageView): PageView {
  const isFiltered = [topics, tags, prompts, competitors].some(({ length }) => length > 0);
  const [a = '', b = ''] = brands;
  return view !== OVERVIEW || isFiltered ? view : { path: '/compare', more: { of: 'brand', a, b } };
}

// Returns the parameters of the address of a page; null if a filter has several values and the pages accept only one.
function filtersOf(scope: Scope, comparison: string): [string, string][] | null {
  const { brands, from, to, engines, topics, tags, prompts, competitors, branded } = scope;
  if ([topics, tags, prompts, competitors].some(({ length }) => length > 1)) return null;
  const values: [string, readonly string[]][] = [
    ['brand', brands.slice(0, 1)],
    ['from', [from]],
    ['to', [to]],
    ['engine', engines],
    ['topic', topics],
    ['tag', tags],
    ['branded', branded === null ? [] : [branded]],
    ['prompt', prompts],
    ['competitor', competitors],
    // The pages compare with the previous period if the address has no comparison.
    ['compare_to', comparison === 'previous' ? [] : [comparison]],
  ];
  return values.flatMap(([name, texts]) => texts.map((text): [string, string] => [name, text]));
}
