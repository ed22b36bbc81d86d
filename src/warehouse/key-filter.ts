/** Bits of the filter: 4 MB, under 1 false alarm in 1,000 with a million keys. */
const BITS = 2 ** 25;
const PROBES = 3;

/**
 * Remembers keys written since a table was empty, so that a page of keys never seen needs no look at the table. It may
 * take a new key for a known one, which costs a look, and never the other way round (Bloom, 1970).
 */
export interface KeyFilter {
  /** Adds the key; true when it may have been there before. */
  add(key: string): boolean;
}

/** An empty filter. */
export function createKeyFilter(): KeyFilter {
  const bits = new Uint32Array(BITS / 32);
  return {
    add: (key) => {
      let known = true;
      let hash = fnv1a(key, 0x811c9dc5);
      const step = fnv1a(key, 0x9747b28c) | 1;
      for (let probe = 0; probe < PROBES; probe++) {
        const bit = hash & (BITS - 1);
        const word = bit >>> 5;
        const mask = 1 << (bit & 31);
        if (((bits[word] as number) & mask) === 0) known = false;
        bits[word] = (bits[word] as number) | mask;
        hash = (hash + step) | 0;
      }
      return known;
    },
  };
}

// FNV-1a, http://www.isthe.com/chongo/tech/comp/fnv/
function fnv1a(text: string, basis: number): number {
  let hash = basis;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return hash;
}
