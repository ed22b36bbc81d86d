/** Returns the index of the first item with a property that all later items have too; the number of items if none has it. */
export function firstIndex<T>(items: readonly T[], has: (item: T) => boolean): number {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (has(items[middle] as T)) high = middle;
    else low = middle + 1;
  }
  return low;
}
