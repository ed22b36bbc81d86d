import { type Fields, metaOf } from '../contract/fields.ts';
import type { ResourceDeclaration, TableDeclaration } from '../contract/resource.ts';

type Item = Record<string, unknown>;

/** Returns whether the response body is itself the item. */
export function answersOneObject(declaration: ResourceDeclaration): boolean {
  return declaration.tables.every((table) => table.at === 'body');
}

/**
 * Returns the body with each item of its lists (or the body itself, if it is the item) replaced by the result of
 * `change`. Items are copied first, because fixtures may return objects of their world.
 */
export function mapItems(
  declaration: ResourceDeclaration,
  body: unknown,
  change: (item: unknown, table: TableDeclaration) => unknown,
): unknown {
  const mapList = (list: unknown[], table: TableDeclaration): unknown[] =>
    list.map((item) => change(isItem(item) ? { ...item } : item, table));
  const lists = declaration.tables.filter((table) => table.at !== 'body');
  if (lists.length === 0) {
    const [table] = declaration.tables;
    return table === undefined ? body : change(isItem(body) ? { ...body } : body, table);
  }
  if (Array.isArray(body)) return mapList(body, lists[0] as TableDeclaration);
  if (!isItem(body)) return body;
  const changed: Item = { ...body };
  for (const table of lists) {
    const name = table.at === 'body' ? '' : table.at.list;
    const list = changed[name];
    if (Array.isArray(list)) changed[name] = mapList(list, table);
  }
  return changed;
}

/** Adds undeclared fields, as a later version of an API would. */
export function withUnknownFields(item: unknown): unknown {
  return isItem(item) ? { ...item, zz_added: { note: 'new in this version', level: 3 }, zz_flag: true } : item;
}

/** Replaces each enum-like value of the item (slug, label, state) with an unknown value. */
export function withUnknownWords(item: unknown, table: TableDeclaration): unknown {
  if (!isItem(item)) return item;
  for (const name of scalarsOf(table.fields, ['text'])) {
    const value = item[name];
    if (typeof value === 'string' && /^[a-z]+([_-][a-z]+)*$/.test(value)) item[name] = `${value}_v2`;
  }
  return item;
}

/**
 * Breaks one declared field: removes the key if `which` is 0, otherwise gives the field at index `which` a wrong type.
 */
export function withWrongType(item: unknown, table: TableDeclaration, which: number): unknown {
  if (!isItem(item)) return item;
  const [key] = table.key;
  if (which === 0 && key !== undefined) {
    delete item[key];
    return item;
  }
  const names = scalarsOf(table.fields, ['uuid', 'text', 'integer', 'number', 'boolean', 'timestamp', 'day']);
  const name = names[which % names.length];
  if (name === undefined) return item;
  item[name] = typeof item[name] === 'number' ? 'many' : { unexpected: true };
  return item;
}

function scalarsOf(fields: Fields, kinds: readonly string[]): string[] {
  return Object.entries(fields).flatMap(([name, schema]) => {
    const meta = metaOf(schema);
    return meta.as === 'column' && kinds.includes(meta.kind) ? [name] : [];
  });
}

function isItem(value: unknown): value is Item {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
