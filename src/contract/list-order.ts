import type { Resource } from './catalogue.ts';
import type { ObservedForms } from './field-forms.ts';
import { metaOf } from './fields.ts';
import type { ResourceTable } from './tables.ts';

/** Name of the observation of the order of a paged list. */
const FORM = 'order';

/**
 * An order: fields of the items, with a leading `-` for descending. `lower(name)` ignores upper case. The last key identifies the item.
 */
export type ListOrder = readonly string[];

/** What the pages of a list show about its order. */
export interface ObservedOrder {
  /** Orders that agree with all pages, or with the newest one if no order agrees with all; none if no known order does. */
  readonly left: readonly ListOrder[];
  /** Those of them whose tie-breakers have decided the order of some items; others are equal to simpler orders so far. */
  readonly shown: readonly ListOrder[];
  /** Number of neighbouring items that rule out other orders, on the page with most of them. */
  readonly pairs: number;
}

/** Reads the observation of a list; null if there is none. `shapes` are the observed forms of all resources. */
export function observedOrder(
  resource: string,
  shapes: readonly (readonly [resource: string, name: string, value: string])[],
): ObservedOrder | null {
  const found = shapes.find(([owner, name]) => owner === resource && name === FORM);
  return found === undefined ? null : (JSON.parse(found[2]) as ObservedOrder);
}

/** Returns the orders that a paged list may have, most likely first. */
export function listOrders({ order = [] }: Pick<Resource, 'order'>, table: ResourceTable): ListOrder[] {
  const key = keyOf(table);
  const kinds = Object.entries(table.declaration.fields).flatMap(([name, field]) => {
    const meta = metaOf(field);
    return meta.as === 'column' && name !== key ? [{ name, kind: meta.kind }] : [];
  });
  const times = kinds.filter(({ kind }) => kind === 'timestamp').map(({ name }) => `-${name}`);
  const texts = kinds.filter(({ kind }) => kind === 'text' || kind === 'uuid');
  const byText = texts.flatMap(({ name, kind }) => [name, ...(kind === 'text' ? [lowerKey(name)] : [])]);
  const ties = [[], ...byText.map((name) => [name])].flatMap((keys) => [
    [...keys, `-${key}`],
    [...keys, key],
  ]);
  return [...new Set([...order, ...times])].flatMap((time) => ties.map((keys) => [time, ...keys]));
}

/** A key of an order. */
export interface SortKey {
  readonly field: string;
  readonly isDescending: boolean;
  readonly ignoresCase: boolean;
}

/** Parses a key of an order. */
export function toSortKey(key: string): SortKey {
  const [, sign = '', folded, plain = ''] = /^(-?)(?:lower\((\w+)\)|(\w+))$/.exec(key) ?? [];
  return { field: folded ?? plain, isDescending: sign === '-', ignoresCase: folded !== undefined };
}

function lowerKey(field: string): string {
  return `lower(${field})`;
}

type Values = Readonly<Record<string, unknown>>;

/** Creates the observer of the order of a paged list, which is called with the values of the items of each page; null for other lists. */
export function createOrderObserver(
  resource: Resource,
  table: ResourceTable,
  forms: ObservedForms,
): ((items: readonly Values[]) => void) | null {
  if (resource.paging !== 'cursor' || resource.order === undefined) return null;
  const all = listOrders(resource, table);
  const compare = new Map(all.map((order) => [order, comparerOf(order, table)]));
  return (items) => {
    const text = forms.get(resource.name, FORM);
    const before = text === null ? null : (JSON.parse(text) as ObservedOrder);
    const known = before === null || before.left.length === 0 ? all : all.filter((order) => isIn(order, before.left));
    const shown = new Set<ListOrder>(all.filter((order) => order.length === 2 || isIn(order, before?.shown ?? [])));
    const pairs = items.slice(1).map((item, index) => {
      const found = all.map((order) => [order, compare.get(order)?.(items[index] as Values, item) ?? null] as const);
      for (const [order, result] of found) if (result?.agrees === true && result.key === 1) shown.add(order);
      return new Set(found.flatMap(([order, result]) => (result?.agrees === false ? [] : [order])));
    });
    const fits = (order: ListOrder): boolean => pairs.every((orders) => orders.has(order));
    const telling = pairs.filter((orders) => orders.size < all.length).length;
    if (telling === 0) return;
    const agreeing = known.filter(fits);
    const isNew = agreeing.length === 0 || before === null;
    const left = agreeing.length === 0 ? all.filter(fits) : agreeing;
    // The number stays the same if the same pages are read again.
    const most = isNew ? telling : Math.max(telling, before.pairs);
    const observed = { left, shown: left.filter((order) => shown.has(order)), pairs: most };
    forms.set(resource.name, FORM, JSON.stringify(observed satisfies ObservedOrder));
  };
}

function isIn(order: ListOrder, orders: readonly ListOrder[]): boolean {
  return orders.some((one) => one.join() === order.join());
}

/** Whether an order has two items in this sequence, and the index of the key that decides it. */
interface Compared {
  readonly agrees: boolean;
  readonly key: number;
}

// Returns the comparison of two items; null if it is not known, because a value is missing.
function comparerOf(order: ListOrder, table: ResourceTable): (first: Values, second: Values) => Compared | null {
  const keys = order.map(toSortKey).map((key) => ({ ...key, column: columnOf(table, key.field) }));
  return (first, second) => {
    for (const [key, { column, isDescending, ignoresCase }] of keys.entries()) {
      const [a, b] = [textOf(first[column]), textOf(second[column])];
      if (a === null && b === null) continue;
      if (a === null || b === null) return null;
      const [left, right] = ignoresCase ? [a.toLowerCase(), b.toLowerCase()] : [a, b];
      if (left === right) continue;
      return { agrees: Buffer.compare(Buffer.from(left), Buffer.from(right)) < 0 !== isDescending, key };
    }
    return null;
  };
}

// Times may end with zeros or without.
function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  const text = String(value);
  return /^\d{4}-\d\d-\d\d.*\.\d+$/.test(text) ? text.replace(/\.?0+$/, '') : text;
}

function columnOf(table: ResourceTable, field: string): string {
  const isField = ({ source }: ResourceTable['columns'][number]): boolean =>
    source.from === 'item' && source.path.join('.') === field;
  return table.columns.find(isField)?.name ?? field;
}

function keyOf({ declaration }: ResourceTable): string {
  return declaration.key[0] as string;
}
