import { addDays, type Day, isDay } from './calendar-days.ts';

/** Presets of the range of days, with their number of days; null is everything stored. */
export const RANGES = { '7d': 7, '28d': 28, '90d': 90, '365d': 365, all: null } as const;
export type Range = keyof typeof RANGES;
export const RANGE_DEFAULT: Range = '28d';

export type Comparison = 'previous' | 'year' | 'none';
const COMPARISONS: readonly string[] = ['previous', 'year', 'none'];

/** The filters of a page, as they are in its URL. */
export interface Filters {
  readonly brand: string | null;
  /** Null if custom days are given. */
  readonly range: Range | null;
  readonly from: Day | null;
  readonly to: Day | null;
  readonly engine: readonly string[];
  readonly topic: string | null;
  readonly tag: string | null;
  readonly branded: 'branded' | 'non-branded' | null;
  readonly prompt: string | null;
  readonly competitor: string | null;
  readonly compareTo: Comparison;
}

/** Returns a sentence about the first filter of a URL with a value that is not allowed; null if there is none. */
export function problemOf(search: URLSearchParams): string | null {
  const given = (name: string): string => search.get(name) ?? '';
  const refused = (name: string, allowed: string): string =>
    `The address has ${name}=${given(name)}; allowed: ${allowed}.`;
  for (const name of ['from', 'to']) {
    if (given(name) !== '' && !isDay(given(name))) return refused(name, 'a calendar day such as 2026-11-22');
  }
  const [from, to] = [given('from'), given('to')];
  if (from !== '' && to === '') return 'The address has a first day (from) and no last day (to).';
  if (to !== '' && from === '') return 'The address has a last day (to) and no first day (from).';
  if (from > to) return `The address has a first day, ${from}, after its last day, ${to}.`;
  const choices = { range: Object.keys(RANGES), compare_to: COMPARISONS, branded: ['branded', 'non-branded'] };
  for (const [name, allowed] of Object.entries(choices)) {
    if (given(name) !== '' && !allowed.includes(given(name))) return refused(name, allowed.join(', '));
  }
  return null;
}

/** Reads the filters of a URL. Values that are not allowed are read as missing. */
export function readFilters(search: URLSearchParams): Filters {
  const one = (name: string): string | null => search.get(name) || null;
  const day = (name: string): Day | null => {
    const text = one(name);
    return text !== null && isDay(text) ? text : null;
  };
  const range = one('range');
  const from = day('from');
  const to = day('to');
  const isCustom = range === null && from !== null && to !== null && from <= to;
  const branded = one('branded');
  const comparison = one('compare_to');
  return {
    brand: one('brand'),
    range: isCustom ? null : range !== null && range in RANGES ? (range as Range) : RANGE_DEFAULT,
    from: isCustom ? from : null,
    to: isCustom ? to : null,
    engine: [...new Set(search.getAll('engine').filter((engine) => engine !== ''))].sort(),
    topic: one('topic'),
    tag: one('tag'),
    branded: branded === 'branded' || branded === 'non-branded' ? branded : null,
    prompt: one('prompt'),
    competitor: one('competitor'),
    compareTo: comparison !== null && COMPARISONS.includes(comparison) ? (comparison as Comparison) : 'previous',
  };
}

/** Writes filters into the parameters of a URL; other parameters are kept and defaults are left out. */
export function writeFilters(search: URLSearchParams, filters: Filters): URLSearchParams {
  const { brand, range, from, to, compareTo, ...others } = filters;
  const values: ScopeParams = {
    brand,
    range: range === RANGE_DEFAULT ? null : range,
    from: range === null ? from : null,
    to: range === null ? to : null,
    ...others,
    compare_to: compareTo === 'previous' ? null : compareTo,
  };
  const written = Object.entries(values).flatMap(([name, value]) =>
    [value ?? []].flat().map((text): [string, string] => [name, text]),
  );
  const kept = [...search].filter(([name]) => !Object.hasOwn(values, name));
  return new URLSearchParams([...written, ...kept]);
}

/** Days of the first and the last response of a brand; null without responses. */
export interface StoredDays {
  readonly firstDay: Day | null;
  readonly lastDay: Day | null;
}

/** Returns the first and the last day of the filters. The last day is the last complete day, or the last stored day if none is complete. */
export function rangeOf(filters: Filters, completeTo: Day, stored: StoredDays | null): { from: Day; to: Day } {
  if (filters.range === null && filters.from !== null && filters.to !== null) {
    return { from: filters.from, to: filters.to };
  }
  const days = RANGES[filters.range ?? RANGE_DEFAULT];
  const { firstDay = null, lastDay = null } = stored ?? {};
  const to = firstDay !== null && lastDay !== null && firstDay > completeTo ? lastDay : completeTo;
  if (days !== null) return { from: addDays(to, 1 - days), to };
  return { from: firstDay !== null && firstDay < to ? firstDay : addDays(to, -364), to };
}

/** The parameters of `/data/metrics` and of declared queries that the filters stand for. */
export type ScopeParams = Readonly<Record<string, string | readonly string[] | null>>;

export function scopeParams(filters: Filters, brandId: string, days: { from: Day; to: Day }): ScopeParams {
  const { range: _, compareTo, ...others } = filters;
  return { ...others, ...days, brand: brandId, compare_to: compareTo };
}
