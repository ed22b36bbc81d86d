/** Numbers between 0 and 1 from a seed, and draws from them. */
export interface Random {
  next(): number;
  /** An integer from 0 to `below` - 1. */
  below(limit: number): number;
  chance(probability: number): boolean;
  pick<T>(items: readonly T[]): T;
  /** `count` different items, or all if there are fewer. */
  sample<T>(items: readonly T[], count: number): T[];
  uuid(): string;
}

/** Creates a generator: a 32-bit counter whose value is mixed (mulberry32). */
export function createRandom(seed: number): Random {
  let state = Math.imul(seed + 1, 0x9e3779b1) >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number): number => Math.floor(next() * limit);
  const pick = <T>(items: readonly T[]): T => items[below(items.length)] as T;
  const sample = <T>(items: readonly T[], count: number): T[] => {
    const left = [...items];
    const drawn: T[] = [];
    while (drawn.length < count && left.length > 0) drawn.push(...left.splice(below(left.length), 1));
    return drawn;
  };
  const hex = (length: number): string => Array.from({ length }, () => below(16).toString(16)).join('');
  const uuid = (): string => `${hex(8)}-${hex(4)}-4${hex(3)}-${'89ab'[below(4)]}${hex(3)}-${hex(12)}`;
  return { next, below, chance: (probability) => next() < probability, pick, sample, uuid };
}
