/** Seeded random values for the items of the test upstream. */
export interface Draw {
  /** A whole number from 0 to `below` - 1. */
  below(below: number): number;
  pick<T>(values: readonly T[]): T;
  uuid(): string;
}

/** Creates a generator that returns the same values for the same text. */
export function drawFrom(text: string): Draw {
  let state = [...text].reduce(
    (hash, character) => Math.imul(hash ^ character.charCodeAt(0), 16_777_619),
    2_166_136_261,
  );
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const below = (limit: number): number => Math.floor(next() * limit);
  const hex = (digits: number): string => Array.from({ length: digits }, () => below(16).toString(16)).join('');
  return {
    below,
    pick: (values) => values[below(values.length)] as (typeof values)[number],
    uuid: () => `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(12)}`,
  };
}
