import { addDays, type Day, daysBetween, isDay } from '../../state/calendar-days.ts';
import type { ScopeParams } from '../../state/filters.ts';
import type { Option, Scope } from '../../state/scope.tsx';

/** What two sides of a comparison are. */
export const KINDS = [
  { id: 'engine', label: 'Engines' },
  { id: 'brand', label: 'Brands' },
  { id: 'topic', label: 'Topics' },
  { id: 'tag', label: 'Tags' },
  { id: 'period', label: 'Periods' },
] as const;

export type Kind = (typeof KINDS)[number]['id'];

/** One side of a comparison. */
export interface Side {
  /** Its value in the address: an id, or FROM..TO of a period. */
  readonly id: string;
  readonly label: string;
  /** Index of the series colour. */
  readonly colour: number;
  /** Parameters of requests that select it. */
  readonly changes: ScopeParams;
  /** Days of a period. */
  readonly days: { readonly from: Day; readonly to: Day } | null;
}

/** Returns the kinds with at least two values to compare. */
export function kindsOf(scope: Scope): readonly (typeof KINDS)[number][] {
  return KINDS.filter(({ id }) => id === 'period' || optionsOf(scope, id).length > 1);
}

/** Returns what can be chosen for a side. */
export function optionsOf(scope: Scope, kind: Kind): readonly Option[] {
  if (kind === 'brand') return scope.brandList.map(({ id, name }) => ({ id, label: name }));
  if (kind === 'engine') return scope.engines;
  if (kind === 'topic') return scope.topics;
  return kind === 'tag' ? scope.tags : [];
}

/**
 * Returns the two sides that the address chooses. A missing or unknown side is the brand of the page and the next one, the first two
 * options, or the range and the days before it; null until the range is known.
 */
export function sidesOf(scope: Scope, kind: Kind, search: URLSearchParams): readonly [Side, Side] | null {
  const given = [search.get('a'), search.get('b')] as const;
  if (kind === 'period') return periodsOf(scope, given);
  const options = optionsOf(scope, kind);
  const known = (id: string | null): Option | undefined => options.find((option) => option.id === id);
  const first = known(given[0]) ?? (kind === 'brand' ? known(scope.brand?.id ?? null) : undefined) ?? options[0];
  const second = known(given[1]) ?? options.find(({ id }) => id !== first?.id);
  if (first === undefined || second === undefined) return null;
  const colours = [first, second].map(({ id }) => colourOf(scope, kind, id, options));
  const [a = 0, b = 1] = colours;
  return [sideOf(kind, first, a), sideOf(kind, second, a === b ? (b + 1) % 10 : b)];
}

function sideOf(kind: Exclude<Kind, 'period'>, { id, label }: Option, colour: number): Side {
  // The ids in filters belong to one brand, so they select no rows of another brand.
  const changes: ScopeParams =
    kind === 'brand'
      ? { brand: id, topic: null, tag: null, prompt: null, competitor: null }
      : { [kind]: kind === 'engine' ? [id] : id };
  return { id, label, colour, changes, days: null };
}

function colourOf(scope: Scope, kind: Kind, id: string, options: readonly Option[]): number {
  if (kind === 'engine') return scope.engineColour(id);
  const index = options.findIndex((option) => option.id === id);
  if (kind === 'brand') return id === scope.brand?.id ? 0 : 1 + (index % 9);
  return 1 + (index % 9);
}

function periodsOf(scope: Scope, given: readonly (string | null)[]): readonly [Side, Side] | null {
  const { range, format } = scope;
  if (range === null) return null;
  const length = daysBetween(range.from, range.to);
  const a = daysOf(given[0] ?? null) ?? range;
  const b = daysOf(given[1] ?? null) ?? { from: addDays(a.from, -length), to: addDays(a.from, -1) };
  const side = (days: { from: Day; to: Day }, colour: number): Side => ({
    id: `${days.from}..${days.to}`,
    label: format.days(days.from, days.to),
    colour,
    changes: days,
    days,
  });
  return [side(a, 0), side(b, 1)];
}

function daysOf(text: string | null): { from: Day; to: Day } | null {
  const [from = '', to = ''] = text?.split('..') ?? [];
  return isDay(from) && isDay(to) && from <= to ? { from, to } : null;
}
