import type { GroupTally } from '../metrics/numbers/aggregate.ts';

/** Limit of the counts of all brands by day, engine and entity. Each takes about 150 bytes of memory. */
const COUNTS_MAX = 50_000;

/** Keeps the counts of requested brands by day and engine. */
export interface BrandCounts {
  /** Returns the counts of a brand; undefined while they are being read, and if there are too many. */
  of(brandId: string): readonly GroupTally[] | undefined;
  /** Resolves once no counts are being read. */
  settled(): Promise<void>;
}

/**
 * Creates the counts of one replica. The first request for a brand starts reading its counts with `read` in the background. `read` returns
 * null if there are more than `countsMax`; requests are then counted with SQL, also after an error.
 */
export function createBrandCounts(
  read: (brandId: string, countsMax: number) => Promise<readonly GroupTally[] | null>,
): BrandCounts {
  const known = new Map<string, readonly GroupTally[] | undefined>();
  let reading: Promise<void> = Promise.resolve();
  let left = COUNTS_MAX;
  const add = async (brandId: string): Promise<void> => {
    const groups = left > 0 ? await read(brandId, left).catch(() => null) : null;
    if (groups === null) return;
    known.set(brandId, groups);
    for (const { competitors } of groups) left -= 1 + competitors.size;
  };
  return {
    of: (brandId) => {
      if (!known.has(brandId)) {
        known.set(brandId, undefined);
        reading = reading.then(() => add(brandId));
      }
      return known.get(brandId);
    },
    settled: () => reading,
  };
}
