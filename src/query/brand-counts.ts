import type { Counting, DayCounts } from '../analytics/numbers/aggregate.ts';
import { readDayCounts } from '../analytics/numbers/day-counts.ts';
import type { Catalogue } from '../contract/catalogue.ts';
import type { Query } from '../warehouse/database.ts';

/** Once this many counts are in memory, those of further brands are not read: dropping some would mean reading them again. */
const CELLS_MAX = 100_000;

/** Keeps the counts of requested brands in memory. */
export interface BrandCounts {
  /** Returns the counts of a brand; undefined while they are being read, and if they would be too many. */
  of(brandId: string): DayCounts | undefined;
  /** Resolves once no counts are being read. */
  settled(): Promise<void>;
}

/** Options of `createBrandCounts`. */
export interface BrandCountsOptions {
  readonly catalogue: Catalogue;
  readonly counting: Counting;
  /** Whether a response may list the same competitor twice. */
  readonly mayRepeat: boolean;
  /** Runs a task while no request waits for it. */
  read(task: (query: Query) => Promise<DayCounts | null>): Promise<DayCounts | null>;
}

/** Creates the counts of one replica. The first request for a brand starts reading its counts in the background. */
export function createBrandCounts({ catalogue, counting, mayRepeat, read }: BrandCountsOptions): BrandCounts {
  const known = new Map<string, DayCounts | undefined>();
  const reading = new Set<Promise<void>>();
  let cells = 0;
  const begin = (brandId: string): void => {
    known.set(brandId, undefined);
    const brand = { catalogue, brandId, mayRepeat, counting };
    const done: Promise<void> = read((query) => readDayCounts(query, brand))
      .then((counts) => {
        cells += counts?.cells ?? 0;
        if (counts !== null) known.set(brandId, counts);
      })
      // Without them, every request is counted with SQL.
      .catch(() => undefined)
      .finally(() => reading.delete(done));
    reading.add(done);
  };
  return {
    of: (brandId) => {
      if (!known.has(brandId) && cells < CELLS_MAX) begin(brandId);
      return known.get(brandId);
    },
    settled: async () => void (await Promise.all(reading)),
  };
}
