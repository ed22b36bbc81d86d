import { isRecord } from '../../base/json.ts';
import type { ItemColumn } from './item-columns.ts';
import { toPlainName } from './item-columns.ts';

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
export function chooseKey(columns: readonly ItemColumn[], items: readonly unknown[], singular: string): string[] {
  const ids = idNames(columns, singular);
  const single = ids.find((name) => isKey([name], items));
  if (single !== undefined) return [single];
  if (items.length < ITEMS_MIN) return [];
  const labels = namesOf(columns, ({ kind }) => kind === 'text');
  const candidates = [...new Set([...ids, ...labels])]
    .filter((name) => items.every((item) => valueAt(item, name) !== null))
    .slice(0, CANDIDATES_MAX);
  for (let size = 2; size <= MEMBERS_MAX; size += 1) {
    const found = combinations(candidates, size).find((names) => isKey(names, items));
    if (found !== undefined) return found;
  }
  return [];
}

/** Returns the names of members that may identify an item, the best first. */
export function idNames(columns: readonly ItemColumn[], singular: string): string[] {
  const wanted = [ID_NAMES[0] as string, `${singular}_id`, ...ID_NAMES.slice(1)];
  const names = namesOf(columns, ({ kind }) => kind === 'text' || kind === 'integer');
  const ranked = wanted.flatMap((plain) => names.filter((name) => toPlainName(name) === plain));
  return [...new Set(ranked)];
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

function namesOf(columns: readonly ItemColumn[], isWanted: (column: ItemColumn) => boolean): string[] {
  return columns.flatMap((column) => (column.path.length === 1 && isWanted(column) ? (column.path[0] as string) : []));
}

function valueAt(item: unknown, name: string): unknown {
  return isRecord(item) && Object.hasOwn(item, name) ? (item[name] ?? null) : null;
}

function combinations(names: readonly string[], size: number): string[][] {
  if (size === 0) return [[]];
  return names.flatMap((name, index) =>
    combinations(names.slice(index + 1), size - 1).map((others) => [name, ...others]),
  );
}
