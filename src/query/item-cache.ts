import {
  type CachedPage,
  CHUNK_ITEMS,
  type ChunkContent,
  type Items,
  type Place,
  packChunk,
  pageOf,
  pickItems,
  toChunk,
  type WantedItems,
} from './cached-items.ts';
import type { ItemSpill } from './item-spill.ts';

/** Items that are read at a time. */
export const BATCH_ITEMS = 5 * CHUNK_ITEMS;

/** Memory for the items of all lists, unless it is set. */
export const ITEM_BYTES_MAX = 48 * 1024 * 1024;

/** Bytes on disk for further items, relative to those in memory. */
export const SPILL_FACTOR = 10;

/** Pages of a list that must not be cached before further items are written to disk: most readers only want the newest. */
export const MISSES_LEAST = 20;

/** Estimated memory of an item's place. */
const PLACE_BYTES = 200;

/** Format of times from year 1 to 9999, which sort as text in order of time. */
const SORTABLE = /^\d{4}-\d\d-\d\d [\d:.]+$/;

/** Items of a list in its order. */
export interface Batch {
  /** The items as JSON. */
  readonly texts: readonly string[];
  readonly places: readonly Place[];
  /** Whether more items follow. */
  readonly hasMore: boolean;
}

/** Caches items of paged lists as JSON, from the newest on. */
export interface ItemCache {
  /**
   * Returns the items of a list; null for the first request. The second request starts reading the list with `read`, which returns the next
   * items after a place: `BATCH_ITEMS`, or fewer at the end.
   */
  list(name: string, read: ReadBatch): CachedList | null;
  /** Returns the items of a list; null before the second request. */
  known(name: string): CachedList | null;
  /** Resolves once no list is being read. */
  settled(): Promise<void>;
  /** Deletes the items on disk. Call it when no list is read any more. */
  close(): Promise<void>;
}

/** Reads the next items after a place; null for the first ones. */
export type ReadBatch = (after: Place | null) => Promise<Batch>;

/** The items of a list that are cached. */
export interface CachedList {
  /** Whether all items are in memory. */
  isInMemory(): boolean;
  /** Returns a page of the list without filters; null if some of its items are not cached. */
  page(wanted: WantedItems): Promise<CachedPage | null>;
  /** Returns items as JSON, separated by commas; null if some are not in memory. */
  pick(places: readonly Place[]): Buffer | null;
}

/**
 * Creates an empty cache for one replica, which never changes. The first `bytesMax` bytes of items are cached in memory. Further items are
 * written to `spill` once `MISSES_LEAST` pages were not cached; without it, or once it is full, no more are read.
 */
export function createItemCache(bytesMax: number = ITEM_BYTES_MAX, spill: ItemSpill | null = null): ItemCache {
  /** Null after the first request. */
  const lists = new Map<string, CachedList | null>();
  const reading = new Set<Promise<void>>();
  const fill = createFill(bytesMax, spill);
  const begin = (items: Items, read: ReadBatch, toDisk: boolean): Promise<void> => {
    // After an error, such as that of a closed replica, the items read so far stay cached.
    const done: Promise<void> = fill(items, read, toDisk)
      .catch(() => undefined)
      .finally(() => reading.delete(done));
    reading.add(done);
    return done;
  };
  const createCachedList = (read: ReadBatch): CachedList => {
    const items: Items = { chunks: [], count: 0, isComplete: false };
    let misses = 0;
    let isMemoryFilled = false;
    let isSpilled = false;
    const spillIfNeeded = (): void => {
      if (!isMemoryFilled || isSpilled || spill === null || misses < MISSES_LEAST) return;
      isSpilled = true;
      void begin(items, read, true);
    };
    void begin(items, read, false).then(() => {
      isMemoryFilled = true;
      spillIfNeeded();
    });
    return {
      isInMemory: () => items.isComplete && items.chunks.every(({ content }) => content !== undefined),
      page: async (wanted) => {
        // A page that cannot be read from disk is computed.
        const page = await pageOf(items, spill, wanted).catch(() => null);
        if (page === null) {
          misses += 1;
          spillIfNeeded();
        }
        return page;
      },
      pick: (places) => pickItems(items, places),
    };
  };
  return {
    list: (name, read) => {
      const known = lists.get(name);
      if (known !== undefined && known !== null) return known;
      const list = known === undefined ? null : createCachedList(read);
      lists.set(name, list);
      return list;
    },
    known: (name) => lists.get(name) ?? null,
    settled: async () => void (await Promise.all(reading)),
    close: async () => {
      await Promise.all(reading);
      await spill?.close();
    },
  };
}

/** Reads further items of a list until it is complete or nothing has room for more. */
type Fill = (items: Items, read: ReadBatch, toDisk: boolean) => Promise<void>;

function createFill(bytesMax: number, spill: ItemSpill | null): Fill {
  let bytes = 0;
  const addToMemory = (items: Items, content: ChunkContent, last: Place): void => {
    bytes += content.bytes.length + content.places.length * PLACE_BYTES;
    items.chunks.push({ last, content });
    items.count += content.places.length;
  };
  // Returns false if the spill file is full or missing.
  const addToDisk = async (items: Items, content: ChunkContent, last: Place): Promise<boolean> => {
    const block = (await spill?.write(packChunk(content))) ?? null;
    if (block === null) return false;
    items.chunks.push({ last, block });
    items.count += content.places.length;
    return true;
  };
  const add = async (items: Items, batch: Batch): Promise<boolean> => {
    for (let from = 0; from < batch.places.length; from += CHUNK_ITEMS) {
      const places = batch.places.slice(from, from + CHUNK_ITEMS);
      const content = toChunk(batch.texts.slice(from, from + CHUNK_ITEMS), places);
      const last = places.at(-1) as Place;
      if (bytes < bytesMax) addToMemory(items, content, last);
      else if (!(await addToDisk(items, content, last))) return false;
    }
    return true;
  };
  return async (items, read, toDisk) => {
    while (!items.isComplete && (toDisk || bytes < bytesMax)) {
      const last = items.chunks.at(-1)?.last ?? null;
      const batch = await read(last);
      if (!isSorted(last === null ? batch.places : [last, ...batch.places]) || !(await add(items, batch))) return;
      items.isComplete = !batch.hasMore;
    }
  };
}

// Whether times are texts that descend, followed by missing ones.
function isSorted(places: readonly Place[]): boolean {
  return places.every(({ at }, index) => {
    const before = places[index - 1]?.at;
    if (at === null) return true;
    return SORTABLE.test(at) && before !== null && (before === undefined || before >= at);
  });
}
