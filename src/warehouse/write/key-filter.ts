/** Up to this number of keys, the keys themselves are stored. */
const EXACT_MAX = 10_000;
/** Size of the Bloom filter in bits (4 MB); the false positive rate is below 0.1 % at one million keys. */
const BITS = 2 ** 25;
const PROBES = 3;

/**
 * The keys written since a table was empty: the keys themselves, or if there are many, a Bloom filter (Bloom, 1970). If all keys of a
 * page are new, the table need not be queried. False positives cost a query; false negatives do not occur.
 */
export interface KeyFilter {
  /** Adds the key; returns true if it may have been added before. */
  add(key: string): boolean;
}

/** Creates an empty filter. */
export function createKeyFilter(): KeyFilter {
  const exact = new Set<string>();
  let filter: KeyFilter | null = null;
  return {
    add: (key) => {
      if (filter !== null) return filter.add(key);
      const isKnown = exact.has(key);
      exact.add(key);
      if (exact.size > EXACT_MAX) {
        filter = createBloomFilter();
        for (const each of exact) filter.add(each);
        exact.clear();
      }
      return isKnown;
    },
  };
}

function createBloomFilter(): KeyFilter {
  const bits = new Uint32Array(BITS / 32);
  return {
    add: (key) => {
      let mayExist = true;
      let hash = fnv1a(key, 0x811c9dc5);
      const step = fnv1a(key, 0x9747b28c) | 1;
      for (let probe = 0; probe < PROBES; probe++) {
        const bit = hash & (BITS - 1);
        const word = bit >>> 5;
        const mask = 1 << (bit & 31);
        if (((bits[word] as number) & mask) === 0) mayExist = false;
        bits[word] = (bits[word] as number) | mask;
        hash = (hash + step) | 0;
      }
      return mayExist;
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
