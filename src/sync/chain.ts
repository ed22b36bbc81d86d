import type { Resource } from '../contract/catalogue.ts';
import type { Values } from '../contract/rows.ts';
import type { DeletionGuard } from '../plausibility/mass-deletion.ts';
import type { ChainRef } from '../warehouse/ledger.ts';

/** A range of days, both included. */
export interface DayRange {
  readonly from: string;
  readonly to: string;
}

/** The requests that read one whole thing: a list, a range, a detail. Pages follow one another; chains do not. */
export interface Chain extends ChainRef {
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly brandId: string | null;
  /** For a detail: the id of the list's row. */
  readonly member: string | null;
  /** Requests it should take; at least 1. */
  readonly expected: number;
  /** Why it is asked for, in a few words. */
  readonly reason: string;
  /** Greater goes first. */
  readonly priority: number;
  /** Whether a parameter goes by its declared name because upstream's own is not known. */
  readonly guessed: boolean;
  /** The oldest window of a history, from which one goes on into the past. */
  readonly oldest: boolean;
  /** Whether the chain may end with a page that brings nothing new. */
  readonly untilKnown: boolean;
  readonly state: string | null;
  /** What limits the deletions that the chain implies; null makes all of them. */
  readonly guard: DeletionGuard | null;
}

/** Names of parameters as upstream has them, by resource, declared name to real name. */
export type ParameterNames = ReadonlyMap<string, Readonly<Record<string, string>>>;

/** What a chain is for. */
export interface ChainScope {
  readonly brandId?: string;
  readonly member?: string;
  readonly range?: DayRange;
  readonly expected?: number;
  readonly reason: string;
  readonly priority: number;
  readonly oldest?: boolean;
  readonly untilKnown?: boolean;
  readonly state?: string | null;
  readonly guard?: DeletionGuard;
}

/** The chains that read a resource in a scope: one, or one for every value of the parameter it is asked by. */
export function chainsOf(resource: Resource, scope: ChainScope, names: ParameterNames): Chain[] {
  const { each } = resource;
  if (each === undefined) return [chainOf(resource, scope, {}, {}, false)];
  const parameter = resource.query[each.parameter];
  return (parameter?.values ?? []).map((value) => {
    const column = { [each.column]: value };
    // The default needs no parameter, which is the safer way where its name is not certain.
    if (parameter?.nameUnknown === true && value === parameter.default)
      return chainOf(resource, scope, column, {}, false);
    const real = names.get(resource.name)?.[each.parameter];
    const guessed = parameter?.nameUnknown === true && real === undefined;
    return chainOf(resource, scope, column, { [real ?? each.parameter]: value }, guessed);
  });
}

function chainOf(
  resource: Resource,
  scope: ChainScope,
  column: Values,
  asked: Readonly<Record<string, string>>,
  guessed: boolean,
): Chain {
  const { brandId, member, range } = scope;
  const limit = resource.query['limit']?.max;
  const query = {
    ...resource.ask,
    ...asked,
    ...(range === undefined ? {} : { from: range.from, to: range.to }),
    ...(limit === undefined ? {} : { limit: String(limit) }),
  };
  const ranged = range === undefined ? {} : { range_from: range.from, range_to: range.to };
  const fixed = { ...(brandId === undefined ? {} : { brand_id: brandId.toLowerCase() }), ...ranged, ...column };
  const parts = [
    resource.name,
    ...(brandId === undefined ? [] : [`brand=${brandId}`]),
    ...(member === undefined ? [] : [`id=${member}`]),
    ...(range === undefined ? [] : [`${range.from}..${range.to}`]),
    ...Object.entries(column).map(([name, value]) => `${name}=${String(value)}`),
  ];
  return {
    id: parts.join(' '),
    resource: resource.name,
    fixed,
    from: range?.from ?? null,
    to: range?.to ?? null,
    path: pathOf(resource, brandId, member),
    query,
    brandId: brandId ?? null,
    member: member ?? null,
    expected: Math.max(1, scope.expected ?? 1),
    reason: scope.reason,
    priority: scope.priority,
    guessed,
    oldest: scope.oldest ?? false,
    untilKnown: scope.untilKnown ?? false,
    state: scope.state ?? null,
    guard: scope.guard ?? { counts: null, keep: false },
  };
}

function pathOf(resource: Resource, brandId: string | undefined, member: string | undefined): string {
  const values: Record<string, string | undefined> = { brandId };
  if (resource.change.kind === 'detail') values[resource.change.parameter] = member;
  return resource.path.replace(/\{(\w+)\}/g, (_match, name: string) => {
    const value = values[name];
    if (value === undefined) throw new TypeError(`nothing fills {${name}} of ${resource.path}`);
    return encodeURIComponent(value);
  });
}
