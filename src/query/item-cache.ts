import { firstIndex } from '../base/first-index.ts';
import { addDays, DAY_MAX } from '../contract/time.ts';
import type { Position } from './cursor-signer.ts';

/** Items that are read at a time. */
export const BATCH_ITEMS = 500;

/** Memory for the items of all lists, unless it is set. */
export const ITEM_BYTES_MAX = 48 * 1024 * 1024;

/** Estimated memory of an item's place. */
const PLACE_BYTES = 200;

/** Format of times from year 1 to 9999, which sort as text in order of time. */
const SORTABLE = /^\d{4}-\d\d-\d\d [\d:.]+$/;

const COMMA = Buffer.from(',');

/** Place of an item in the order of its list. The time is SQL text in UTC, null if the item has none. */
export type Place = Pick<Position, 'at' | 'id'>;

/** Items of a list in its order. */
export interface Batch {
  /** The items as JSON. */
  readonly texts: readonly string[];
  readonly places: readonly Place[];
  /** Whether more items follow. */
  readonly hasMore: boolean;
}

/** The part of a list that a page may have. */
export interface WantedItems {
  /** First and last day; null if the list has no range. */
  readonly range: { readonly from: string; readonly to: string } | null;
  /** End of the previous page; null for the first page. */
  readonly after: Place | null;
  readonly limit: number;
}

/** Consecutive items of a list. */
export interface CachedPage {
  /** The items as JSON, separated by commas, in one or more buffers. */
  readonly pieces: readonly Buffer[];
  /** Place of the last item if more items follow, otherwise null. */
  readonly last: Place | null;
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
}

/** Reads the next items after a place; null for the first ones. */
export type ReadBatch = (after: Place | null) => Promise<Batch>;

/** The items of a list that are in memory. */
export interface CachedList {
  /** Whether all items are in memory. */
  isComplete(): boolean;
  /** Returns a page of the list without filters; null if some of its items are not in memory. */
  page(wanted: WantedItems): CachedPage | null;
  /** Returns items as JSON, separated by commas; null if some are not in memory. */
  pick(places: readonly Place[]): Buffer | null;
}

// All chunks but the last have BATCH_ITEMS items.
interface Items {
  readonly places: Place[];
  readonly chunks: Chunk[];
  isComplete: boolean;
}

interface Chunk {
  /** The items, separated by commas. */
  readonly bytes: Buffer;
  /** Where each item ends. */
  readonly ends: readonly number[];
}

/** Creates an empty cache for one replica, which never changes. Once `bytesMax` bytes of items are in memory, no more are read. */
export function createItemCache(bytesMax: number = ITEM_BYTES_MAX): ItemCache {
  /** Null after the first request. */
  const lists = new Map<string, CachedList | null>();
  const reading = new Set<Promise<void>>();
  let bytes = 0;
  const fill = async (items: Items, read: ReadBatch): Promise<void> => {
    while (!items.isComplete && bytes < bytesMax) {
      const batch = await read(items.places.at(-1) ?? null);
      if (!isSorted([...items.places.slice(-1), ...batch.places])) return;
      const chunk = toChunk(batch.texts);
      bytes += chunk.bytes.length + batch.places.length * PLACE_BYTES;
      items.chunks.push(chunk);
      items.places.push(...batch.places);
      items.isComplete = !batch.hasMore;
    }
  };
  return {
    list: (name, read) => {
      const known = lists.get(name);
      if (known === undefined) lists.set(name, null);
      if (known !== null) return known ?? null;
      const items: Items = { places: [], chunks: [], isComplete: false };
      const list = createCachedList(items);
      lists.set(name, list);
      // After an error, such as that of a closed replica, the items read so far stay cached.
      const done: Promise<void> = fill(items, read)
        .catch(() => undefined)
        .finally(() => reading.delete(done));
      reading.add(done);
      return list;
    },
    known: (name) => lists.get(name) ?? null,
    settled: async () => void (await Promise.all(reading)),
  };
}

function createCachedList(items: Items): CachedList {
  return {
    isComplete: () => items.isComplete,
    page: (wanted) => pageOf(items, wanted),
    pick: (places) => {
      const indexes = places.flatMap((place) => indexAfter(items.places, place) ?? []);
      if (indexes.length < places.length) return null;
      return Buffer.concat(withCommas(indexes.flatMap((after) => piecesOf(items, after - 1, after))));
    },
  };
}

function pageOf(items: Items, { range, after, limit }: WantedItems): CachedPage | null {
  const { places, isComplete } = items;
  const newest = range === null || range.to === DAY_MAX ? 0 : firstBefore(places, addDays(range.to, 1));
  const next = after === null ? 0 : indexAfter(places, after);
  if (next === null) return null;
  const start = Math.max(newest, next);
  const oldest = range === null ? places.length : firstBefore(places, range.from);
  const isKnown = isComplete || oldest < places.length || start + limit < places.length;
  if (!isKnown) return null;
  const end = Math.max(start, Math.min(start + limit, oldest));
  const last = end < oldest && end > start ? (places[end - 1] ?? null) : null;
  return { pieces: piecesOf(items, start, end), last };
}

// Index of the first item before a day; items without a time are the last ones.
function firstBefore(places: readonly Place[], day: string): number {
  return firstIndex(places, ({ at }) => at === null || at < day);
}

// Index of the item after a place; null if the place is not in the list.
function indexAfter(places: readonly Place[], { at, id }: Place): number | null {
  let index = firstIndex(places, (place) => place.at === null || (at !== null && place.at <= at));
  while (index < places.length && places[index]?.at === at) {
    index += 1;
    if (places[index - 1]?.id === id) return index;
  }
  return null;
}

// Whether times are texts that descend, followed by missing ones.
function isSorted(places: readonly Place[]): boolean {
  return places.every(({ at }, index) => {
    const before = places[index - 1]?.at;
    if (at === null) return true;
    return SORTABLE.test(at) && before !== null && (before === undefined || before >= at);
  });
}

function toChunk(texts: readonly string[]): Chunk {
  const ends: number[] = [];
  let length = 0;
  for (const text of texts) {
    length += Buffer.byteLength(text);
    ends.push(length);
    length += COMMA.length;
  }
  return { bytes: Buffer.from(texts.join(',')), ends };
}

// The bytes of the chunks are not copied.
function piecesOf({ chunks }: Items, start: number, end: number): Buffer[] {
  const parts: Buffer[] = [];
  for (let from = start; from < end; ) {
    const at = Math.floor(from / BATCH_ITEMS);
    const { bytes, ends } = chunks[at] as Chunk;
    const [first, beyond] = [from - at * BATCH_ITEMS, Math.min(end - at * BATCH_ITEMS, BATCH_ITEMS)];
    parts.push(bytes.subarray(first === 0 ? 0 : (ends[first - 1] as number) + COMMA.length, ends[beyond - 1]));
    from = at * BATCH_ITEMS + beyond;
  }
  return withCommas(parts);
}

function withCommas(parts: readonly Buffer[]): Buffer[] {
  return parts.flatMap((part, index) => (index === 0 ? [part] : [COMMA, part]));
}
