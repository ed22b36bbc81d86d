/** A seeded generator of numbers in [0, 1). The same seed gives the same numbers on every machine. */
export type Random = () => number;

/** Creates an sfc32 generator, seeded by hashing the parts. Fast, and good enough for generated data. */
export function randomOf(...parts: readonly (string | number)[]): Random {
  let [a, b, c, d] = hash(parts.join('\u0000'));
  const next = (): number => {
    const t = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + t) | 0;
    return (t >>> 0) / 4_294_967_296;
  };
  for (let round = 0; round < 8; round++) next();
  return next;
}

/** Returns a whole number from 0 to `count - 1`. */
export function below(random: Random, count: number): number {
  return Math.floor(random() * count);
}

/**
 * Returns one of the values.
 *
 * @throws RangeError if `values` is empty
 */
export function pick<T>(random: Random, values: readonly T[]): T {
  if (values.length === 0) throw new RangeError('nothing to pick from');
  return values[below(random, values.length)] as T;
}

/** Returns a UUID of version 4. */
export function uuidOf(random: Random): string {
  const letters = Buffer.alloc(UUID_LENGTH);
  for (let place = 0; place < UUID_LENGTH; place++) {
    if (HYPHENS.includes(place)) letters[place] = HYPHEN;
    else if (place === VERSION_PLACE) letters[place] = HEX.charCodeAt(4);
    else letters[place] = HEX.charCodeAt(place === VARIANT_PLACE ? 8 + below(random, 4) : below(random, 16));
  }
  // One flat string: a concatenated string needs several times the memory, and every item has an id.
  return letters.toString('latin1');
}

const HEX = '0123456789abcdef';
const HYPHEN = 0x2d;
const HYPHENS: readonly number[] = [8, 13, 18, 23];
const [UUID_LENGTH, VERSION_PLACE, VARIANT_PLACE] = [36, 14, 19];

// Four runs of FNV-1a from different starts, because sfc32 needs 128 bits of state.
function hash(text: string): [number, number, number, number] {
  const state: [number, number, number, number] = [0x811c9dc5, 0x01000193, 0x9e3779b9, 0x85ebca6b];
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    for (let lane = 0; lane < 4; lane++) state[lane] = Math.imul((state[lane] as number) ^ (unit + lane), 0x01000193);
  }
  return state;
}
