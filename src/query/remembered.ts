const ENTRIES_MAX = 1_000;
const KEY_CHARACTERS_MAX = 2_048;

/** Returns the cached value of a key, or creates it. Values of another scope or another day are dropped. */
export type Remembered<T> = (scope: object, day: string, key: string, make: () => T) => T;

/** Creates an empty cache. If `make` throws, nothing is cached. */
export function createRemembered<T>(): Remembered<T> {
  const known = new Map<string, T>();
  let current: { readonly scope: object; readonly day: string } | null = null;
  return (scope, day, key, make) => {
    if (current?.scope !== scope || current.day !== day) {
      known.clear();
      current = { scope, day };
    }
    const before = known.get(key);
    if (before !== undefined) return before;
    const made = make();
    if (key.length > KEY_CHARACTERS_MAX) return made;
    if (known.size >= ENTRIES_MAX) known.delete(known.keys().next().value as string);
    known.set(key, made);
    return made;
  };
}
