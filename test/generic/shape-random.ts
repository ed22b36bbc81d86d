import { below, pick, randomOf, uuidOf } from '../../src/sandbox/random.ts';

/** Seeded random values for the items of the test upstream. */
export interface Draw {
  /** A whole number from 0 to `below` - 1. */
  below(below: number): number;
  pick<T>(values: readonly T[]): T;
  uuid(): string;
}

/** Creates a generator that returns the same values for the same text. */
export function drawFrom(text: string): Draw {
  const random = randomOf(text);
  return {
    below: (limit) => below(random, limit),
    pick: (values) => pick(random, values),
    uuid: () => uuidOf(random),
  };
}
