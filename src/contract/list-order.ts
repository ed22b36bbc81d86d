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
  /** Number of such items on earlier pages that no order in `left` explains; less for every later page that they explain. */
  readonly against: number;
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
  const byFirstKey = [...new Set(all.map(([first]) => first as string))].map((first) => ({
    compareFirst: keyComparer(first, table),
    orders: all
      .filter((order) => order[0] === first)
      .map((order) => ({ order, compare: comparerOf(order.slice(1), table) })),
  }));
  return (items) => {
    const text = forms.get(resource.name, FORM);
    const before = text === null ? null : (JSON.parse(text) as ObservedOrder);
    const known = before === null || before.left.length === 0 ? all : all.filter((order) => isIn(order, before.left));
    const shown = new Set<ListOrder>(all.filter((order) => order.length === 2 || isIn(order, before?.shown ?? [])));
    const refuted = new Set<ListOrder>();
    let telling = 0;
    for (const [index, item] of items.slice(1).entries()) {
      const previous = items[index] as Values;
      let isTelling = false;
      for (const { compareFirst, orders } of byFirstKey) {
        const first = compareFirst(previous, item);
        if (first === null || first < 0) continue;
        // Most items differ in the first key, which decides for all of its orders.
        for (const { order, compare } of orders) {
          const result = first > 0 ? { agrees: false, key: 0 } : compare(previous, item);
          if (result?.agrees === true && result.key === 0) shown.add(order);
          if (result?.agrees !== false) continue;
          refuted.add(order);
          isTelling = true;
        }
      }
      if (isTelling) telling += 1;
    }
    if (telling === 0) return;
    const fits = (order: ListOrder): boolean => !refuted.has(order);
    const agreeing = known.filter(fits);
    const left = agreeing.length === 0 ? all.filter(fits) : agreeing;
    // The numbers stay the same if pages in one order are read again.
    const counts =
      before === null
        ? { pairs: telling, against: 0 }
        : agreeing.length === 0 || before.left.length === 0
          ? { pairs: telling, against: before.against + before.pairs }
          : { pairs: Math.max(telling, before.pairs), against: Math.max(0, before.against - telling) };
    const observed = { left, shown: left.filter((order) => shown.has(order)), ...counts };
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
  const compareKeys = order.map((key) => keyComparer(key, table));
  return (first, second) => {
    for (const [key, compareKey] of compareKeys.entries()) {
      const compared = compareKey(first, second);
      if (compared === null) return null;
      if (compared !== 0) return { agrees: compared < 0, key };
    }
    return null;
  };
}

// Returns whether a key has two items in this sequence (negative), in the other (positive) or at the same place (0); null if one value
// is missing.
function keyComparer(key: string, table: ResourceTable): (first: Values, second: Values) => number | null {
  const { field, isDescending, ignoresCase } = toSortKey(key);
  const column = columnOf(table, field);
  return (first, second) => {
    const [a, b] = [textOf(first[column]), textOf(second[column])];
    if (a === b) return 0;
    if (a === null || b === null) return null;
    const [left, right] = ignoresCase ? [a.toLowerCase(), b.toLowerCase()] : [a, b];
    const ascending = left === right ? 0 : Buffer.compare(Buffer.from(left), Buffer.from(right));
    return isDescending ? -ascending : ascending;
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
