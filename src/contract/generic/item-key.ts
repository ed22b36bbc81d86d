import { isRecord } from '../../base/json.ts';
import type { FieldForms, ScalarForm } from './item-fields.ts';
import { toPlainName } from './item-fields.ts';

/** Maximum number of members of a key. */
const MEMBERS_MAX = 3;
/** Maximum number of members that are combined to a key. */
const CANDIDATES_MAX = 12;
/** Minimum number of items that show that a combination of members without an id identifies them. */
const ITEMS_MIN = 4;
/** Names of members that identify items, the best first. */
const ID_NAMES = ['id', 'uuid', 'guid', 'key', 'slug', 'code', 'handle', 'value', 'date', 'day'];

/**
 * Returns the members that identify an item within its list: an id, or up to three members whose values never repeat. Empty if there
 * are none. `singular` is the name of an item, such as `review`.
 */
export function chooseKey(fields: FieldForms, items: readonly unknown[], singular: string): string[] {
  const ids = idNames(fields, singular);
  const single = ids.find((name) => isKey([name], items));
  if (single !== undefined) return [single];
  if (items.length < ITEMS_MIN) return [];
  const labels = Object.keys(fields).filter((name) => {
    const kind = scalarAt(fields, name)?.kind;
    return kind === 'text' || kind === 'day' || kind === 'timestamp' || kind === 'uuid';
  });
  const candidates = [...new Set([...ids, ...labels])]
    .filter((name) => items.every((item) => valueAt(item, name) !== null))
    .slice(0, CANDIDATES_MAX);
  for (let size = 2; size <= MEMBERS_MAX; size += 1) {
    const found = combinations(candidates, size).find((names) => isKey(names, items));
    if (found !== undefined) return found;
  }
  return [];
}

/** Returns the member that a schema says to identify items, for lists of which no item was seen; empty if there is none. */
export function keyOfSchema(fields: FieldForms, singular: string): string[] {
  return idNames(fields, singular).slice(0, 1);
}

// Whether these members are present in all items, and no two items have the same values.
function isKey(names: readonly string[], items: readonly unknown[]): boolean {
  const seen = new Set<string>();
  for (const item of items) {
    const values = names.map((name) => valueAt(item, name));
    const key = JSON.stringify(values);
    if (values.includes(null) || seen.has(key)) return false;
    seen.add(key);
  }
  return true;
}

function idNames(fields: FieldForms, singular: string): string[] {
  const wanted = [ID_NAMES[0] as string, `${singular}_id`, ...ID_NAMES.slice(1)];
  const names = Object.keys(fields).filter((name) => canIdentify(scalarAt(fields, name)));
  const ranked = wanted.flatMap((plain) => names.filter((name) => toPlainName(name) === plain));
  return [...new Set(ranked)];
}

function canIdentify(form: ScalarForm | null): boolean {
  return form !== null && form.kind !== 'json' && form.kind !== 'number' && form.kind !== 'boolean';
}

function scalarAt(fields: FieldForms, name: string): ScalarForm | null {
  const form = fields[name];
  return form?.as === 'column' ? form : null;
}

function valueAt(item: unknown, name: string): unknown {
  const value = isRecord(item) ? (Object.hasOwn(item, name) ? item[name] : null) : name === 'value' ? item : null;
  return value ?? null;
}

function combinations(names: readonly string[], size: number): string[][] {
  if (size === 0) return [[]];
  return names.flatMap((name, index) =>
    combinations(names.slice(index + 1), size - 1).map((others) => [name, ...others]),
  );
}
