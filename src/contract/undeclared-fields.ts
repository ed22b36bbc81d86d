import { isRecord } from '../base/json.ts';
import { type Fields, metaOf } from './fields.ts';

type Item = Record<string, unknown>;

/**
 * Returns the reader of an item's fields other than `known`, and of undeclared fields of its nested objects. It returns null if
 * there are none.
 */
export function undeclaredReader(known: ReadonlySet<string>, fields: Fields): (item: unknown) => Item | null {
  const groups = new Map<string, (item: unknown) => Item | null>();
  // Child rows cannot distinguish a null array from an empty one, so null arrays are stored in `_extra`.
  const lists = new Set<string>();
  for (const [name, field] of Object.entries(fields)) {
    const meta = metaOf(field);
    if (meta.as === 'child') lists.add(name);
    if (meta.as === 'group') groups.set(name, undeclaredReader(new Set(Object.keys(meta.fields)), meta.fields));
  }
  return (item) => {
    if (!isRecord(item)) return null;
    let extra: Item | null = null;
    for (const name of Object.keys(item)) {
      const isNullList = item[name] === null && lists.has(name);
      const value = known.has(name) && !isNullList ? groups.get(name)?.(item[name]) : item[name];
      if (value === undefined || (value === null && known.has(name) && !isNullList)) continue;
      extra ??= {};
      // Define, do not assign: upstream may name a field __proto__.
      Object.defineProperty(extra, name, { value, enumerable: true, configurable: true, writable: true });
    }
    return extra;
  };
}
