import { isRecord } from '../base/json.ts';
import { BodyError } from '../contract/body.ts';
import type { Resource } from '../contract/catalogue.ts';
import { sizeQuery } from '../contract/paging.ts';
import type { DeletionGuard } from '../contract/plausibility/mass-deletion.ts';
import type { Values } from '../contract/rows.ts';
import { toColumnName } from '../contract/tables.ts';
import { addDays, toDay } from '../contract/time.ts';
import type { SliceRef } from '../warehouse/ledger/ledger.ts';

/** A range of days, both included. */
export interface DayRange {
  readonly from: string;
  readonly to: string;
}

/**
 * A slice: the requests that read a list, a range or a detail completely. Its pages are read in order; slices are
 * independent.
 */
export interface Slice extends SliceRef {
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly brandId: string | null;
  /** For a detail: the id of the list's row. */
  readonly member: string | null;
  /** Path parameters from the row of the parent's list. */
  readonly parent: Readonly<Record<string, string>>;
  /** Expected requests; at least 1. */
  readonly expected: number;
  /** Bounds of `expected`; equal to it unless they depend on the response. */
  readonly least: number;
  readonly most: number;
  /** Reason for the read, in a few words. */
  readonly reason: string;
  /** Slices with higher values are read first. */
  readonly priority: number;
  /** Whether `expected` includes the requests that follow from the response. */
  readonly includesNext: boolean;
  /** Whether the slice fills gaps in the background: if it fails, the run is complete nevertheless. */
  readonly background: boolean;
  /** Whether a parameter has its declared name because upstream's name is unknown. */
  readonly guessed: boolean;
  /** Whether this is the oldest window of a history, after which older ones may follow. */
  readonly oldest: boolean;
  /** Whether the slice may end with a page that changes nothing. */
  readonly untilKnown: boolean;
  readonly state: string | null;
  /** Limit of the deletions that the slice implies; null deletes without a limit. */
  readonly guard: DeletionGuard | null;
}

/** Parameter names by resource: declared name to upstream's name. */
export type ParameterNames = ReadonlyMap<string, Readonly<Record<string, string>>>;

/** Scope and options of a slice. */
export interface SliceScope {
  readonly brandId?: string;
  readonly member?: string;
  readonly parent?: Readonly<Record<string, string>>;
  readonly range?: DayRange;
  /** Requests the range without its last day, so that upstream chooses its current day. */
  readonly isOpen?: boolean;
  readonly expected?: number;
  readonly least?: number;
  readonly most?: number;
  readonly reason: string;
  readonly priority: number;
  readonly oldest?: boolean;
  readonly untilKnown?: boolean;
  readonly state?: string | null;
  readonly guard?: DeletionGuard;
  readonly includesNext?: boolean;
  readonly background?: boolean;
}

/** Creates the slices of a resource in a scope: one, or one per value of the resource's `each` parameter. */
export function slicesOf(resource: Resource, scope: SliceScope, names: ParameterNames): Slice[] {
  const { each } = resource;
  if (each === undefined) return [sliceOf(resource, scope, {}, {}, false)];
  const parameter = resource.query[each.parameter];
  return (parameter?.values ?? []).map((value) => {
    const column = { [each.column]: value };
    // Omit the parameter for its default value, which is safer while its name is uncertain.
    if (parameter?.nameUnknown === true && value === parameter.default)
      return sliceOf(resource, scope, column, {}, false);
    const real = names.get(resource.name)?.[each.parameter];
    const guessed = parameter?.nameUnknown === true && real === undefined;
    return sliceOf(resource, scope, column, { [real ?? each.parameter]: value }, guessed);
  });
}

/**
 * Returns the slice of a response. If the slice was requested without its last day, it ends with the echoed day; `today` is
 * upstream's day, UTC.
 * @throws BodyError if the echoed day cannot be the current day of any time zone
 */
export function endedSlice(slice: Slice, { zone }: Resource, body: unknown, today: string): Slice {
  const { id, from, to, fixed, query } = slice;
  if (zone !== 'echoed' || to === null || query['to'] !== undefined) return slice;
  const echoed = isRecord(body) ? (body['to'] ?? to) : to;
  const last = typeof echoed === 'string' ? toDay(echoed) : null;
  if (last === null || last < addDays(today, -1) || last > addDays(today, 1))
    throw new BodyError(`it is for to=${JSON.stringify(echoed)}, not for the current day ${today}`);
  return {
    ...slice,
    id: id.replace(`${from}..${to}`, `${from}..${last}`),
    fixed: { ...fixed, range_to: last },
    to: last,
    query: { ...query, to: last },
  };
}

function sliceOf(
  resource: Resource,
  scope: SliceScope,
  column: Values,
  asked: Readonly<Record<string, string>>,
  guessed: boolean,
): Slice {
  const { brandId, member, parent = {}, range } = scope;
  const expected = Math.max(1, scope.expected ?? 1);
  const query = {
    ...resource.ask,
    ...asked,
    ...(range === undefined ? {} : scope.isOpen === true ? { from: range.from } : rangeQuery(resource, range)),
    ...sizeQuery(resource),
  };
  const ranged = range === undefined ? {} : { range_from: range.from, range_to: range.to };
  const above = Object.fromEntries(Object.entries(parent).map(([name, value]) => [toColumnName(name), value]));
  const fixed = {
    ...(brandId === undefined ? {} : { brand_id: brandId.toLowerCase() }),
    ...above,
    ...ranged,
    ...column,
  };
  const parts = [
    resource.name,
    ...(brandId === undefined ? [] : [`brand=${brandId}`]),
    ...(member === undefined ? [] : [`id=${member}`]),
    ...Object.entries(parent).map(([name, value]) => `${name}=${value}`),
    ...(range === undefined ? [] : [`${range.from}..${range.to}`]),
    ...Object.entries(column).map(([name, value]) => `${name}=${String(value)}`),
  ];
  return {
    id: parts.join(' '),
    resource: resource.name,
    fixed,
    from: range?.from ?? null,
    to: range?.to ?? null,
    path: pathOf(resource, { ...parent, ...(brandId === undefined ? {} : { brandId }) }, member),
    query,
    brandId: brandId ?? null,
    member: member ?? null,
    parent,
    expected,
    least: scope.least ?? expected,
    most: scope.most ?? expected,
    reason: scope.reason,
    priority: scope.priority,
    includesNext: scope.includesNext ?? false,
    background: scope.background ?? false,
    guessed,
    oldest: scope.oldest ?? false,
    untilKnown: scope.untilKnown ?? false,
    state: scope.state ?? null,
    guard: scope.guard ?? { counts: null, keep: false },
  };
}

function rangeQuery({ rangeParameters }: Resource, { from, to }: DayRange): Record<string, string> {
  return rangeParameters === undefined ? { from, to } : { [rangeParameters.from]: from, [rangeParameters.to]: to };
}

function pathOf(resource: Resource, given: Readonly<Record<string, string>>, member: string | undefined): string {
  const { change } = resource;
  const values: Record<string, string | undefined> =
    change.kind === 'detail' ? { ...given, [change.parameter]: member } : given;
  return resource.path.replace(/\{(\w+)\}/g, (_match, name: string) => {
    const value = values[name];
    if (value === undefined) throw new TypeError(`no value for {${name}} of ${resource.path}`);
    return encodeURIComponent(value);
  });
}
