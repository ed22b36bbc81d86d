import { type ComponentChildren, createContext, type JSX } from 'preact';
import { useContext, useMemo } from 'preact/hooks';
import { type Day, grainOf } from './calendar-days.ts';
import { type LoadedTable, useQuery } from './data.tsx';
import {
  type Filters,
  problemOf,
  rangeOf,
  readFilters,
  type ScopeParams,
  scopeParams,
  type StoredDays,
  writeFilters,
} from './filters.ts';
import { createFormat, type Format } from './format.ts';
import { useRoute } from './router.tsx';
import { numberOf, type Row, textOf, toRecords } from './table.ts';

export interface Brand extends StoredDays {
  readonly id: string;
  readonly name: string;
  /** Host of its website; empty if unknown. */
  readonly site: string;
  /** Number of its current prompts. */
  readonly prompts: number;
}

/** An engine, topic, tag or competitor of the brand. */
export interface Option {
  readonly id: string;
  readonly label: string;
}

/** The brand, range and filters that all blocks of a page show, and the formats. */
export interface Scope {
  readonly filters: Filters;
  readonly brands: LoadedTable;
  readonly brandList: readonly Brand[];
  /** Null while the brands are loading, and if the workspace has none. */
  readonly brand: Brand | null;
  readonly range: { readonly from: Day; readonly to: Day } | null;
  /** Length of the periods of charts over the range. */
  readonly grain: 'day' | 'week' | 'month';
  /** Why the address has no data: a brand that does not exist, or a filter with a value that is not allowed; null otherwise. */
  readonly problem: string | null;
  /** The parameters of requests; null until the brand and the range are known. */
  readonly params: ScopeParams | null;
  readonly engines: readonly Option[];
  readonly topics: readonly Option[];
  readonly tags: readonly Option[];
  readonly competitors: readonly Option[];
  readonly format: Format;
  /** Changes filters in the address of the page. */
  setFilters(changes: Partial<Filters>): void;
  /** Returns a path with the filters of this page and with other parameters, for links. */
  linkTo(path: string, changes?: Partial<Filters>, more?: Readonly<Record<string, string>>): string;
  /** Returns the name of an engine; its slug if the brand does not have it. */
  engineLabel(slug: string): string;
  /** Index of the series colour of an engine: the same on every page. */
  engineColour(slug: string): number;
  /** Index of the series colour of a competitor; the brand (null) has index 0. */
  entityColour(competitorId: string | null): number;
}

const ScopeContext = createContext<Scope | null>(null);

interface ScopeProviderProps {
  readonly children: ComponentChildren;
  /** Requests nothing, because there are no data. */
  readonly isEmpty?: boolean;
}

/** Reads the filters of the address and loads the brands and the choices of the filters. */
export function ScopeProvider({ children, isEmpty = false }: ScopeProviderProps): JSX.Element {
  const route = useRoute();
  const format = useMemo(() => createFormat(), []);
  const brands = useQuery('brands', isEmpty ? null : {});
  const { table } = brands;
  const brandRows = useMemo(() => toRecords(table), [table]);
  const filters = useMemo(() => readFilters(route.search), [route.search]);
  const row =
    brandRows.find(({ brand_id }) => brand_id === filters.brand) ??
    brandRows.find(({ brand }) => brand === filters.brand) ??
    (filters.brand === null ? brandRows[0] : undefined) ??
    null;
  const brandId = row === null ? null : textOf(row['brand_id']);
  const options = useQuery('filters', brandId === null ? null : { brand: brandId });
  const optionRows = useMemo(() => toRecords(options.table), [options.table]);
  const scope = useMemo<Scope>(() => {
    const of = (kind: string): readonly Option[] =>
      optionRows
        .filter((option) => option['filter'] === kind)
        .map((option) => ({ id: textOf(option['id']), label: textOf(option['name']) }));
    const engines = of('engine');
    const competitors = of('competitor');
    const colourIn = (list: readonly Option[], id: string): number =>
      1 +
      Math.max(
        0,
        list.findIndex((option) => option.id === id),
      );
    const brand = row === null ? null : brandOf(row);
    const completeTo = table?.completeTo || brand?.lastDay || null;
    const range = completeTo === null ? null : rangeOf(filters, completeTo, brand);
    const linkTo: Scope['linkTo'] = (path, changes = {}, more = {}) => {
      const search = writeFilters(new URLSearchParams(more), { ...filters, brand: brandId, ...changes }).toString();
      return search === '' ? path : `${path}?${search}`;
    };
    const isUnknown = filters.brand !== null && row === null && brandRows.length > 0;
    const problem = isUnknown
      ? `The brand ${filters.brand} does not exist, was deleted, or cannot be read with your key.`
      : problemOf(route.search);
    return {
      problem,
      filters,
      brands,
      brandList: brandRows.map(brandOf),
      brand,
      range,
      grain: range === null ? 'day' : grainOf(range.from, range.to),
      params: brandId === null || range === null || problem !== null ? null : scopeParams(filters, brandId, range),
      engines,
      topics: of('topic'),
      tags: of('tag'),
      competitors,
      format,
      linkTo,
      setFilters(changes) {
        const search = writeFilters(route.search, { ...filters, ...changes }).toString();
        route.navigate(search === '' ? route.path : `${route.path}?${search}`);
      },
      engineLabel: (slug) => engines.find(({ id }) => id === slug)?.label ?? slug,
      engineColour: (slug) => colourIn(engines, slug),
      entityColour: (competitorId) => (competitorId === null ? 0 : colourIn(competitors, competitorId)),
    };
  }, [brands, brandRows, optionRows, row, table, brandId, filters, format, route]);
  return <ScopeContext.Provider value={scope}>{children}</ScopeContext.Provider>;
}

function brandOf(row: Row): Brand {
  return {
    id: textOf(row['brand_id']),
    name: textOf(row['brand']),
    site: textOf(row['domain']),
    firstDay: textOf(row['first_day']) || null,
    lastDay: textOf(row['last_day']) || null,
    prompts: numberOf(row['prompts']) ?? 0,
  };
}

/** Gives components a fixed scope, for pages that are drawn without a browser. */
export function StaticScope({ scope, children }: { scope: Scope; children: ComponentChildren }): JSX.Element {
  return <ScopeContext.Provider value={scope}>{children}</ScopeContext.Provider>;
}

interface ScopeWithProps {
  readonly changes: ScopeParams;
  /** Length of the periods of charts; the default is that of the page. */
  readonly grain?: Scope['grain'];
  readonly children: ComponentChildren;
}

/** Shows its children with other parameters of requests. The address and the links keep the filters of the page. */
export function ScopeWith({ changes, grain, children }: ScopeWithProps): JSX.Element {
  const scope = useScope();
  const key = JSON.stringify(changes);
  const changed = useMemo<Scope>(
    () => ({
      ...scope,
      grain: grain ?? scope.grain,
      params: scope.params && { ...scope.params, ...JSON.parse(key) },
    }),
    [scope, grain, key],
  );
  return <ScopeContext.Provider value={changed}>{children}</ScopeContext.Provider>;
}

export function useScope(): Scope {
  const scope = useContext(ScopeContext);
  if (scope === null) throw new Error('useScope is called outside of ScopeProvider');
  return scope;
}
