import { addDays, DAY_MAX } from '../contract/time.ts';
import type { Position } from './cursor-signer.ts';
import type { Block, ItemSpill } from './item-spill.ts';

/** Items of a chunk. */
export const CHUNK_ITEMS = 100;

const COMMA = Buffer.from(',');

/** Place of an item in the order of its list. The time is SQL text in UTC, null if the item has none. */
export type Place = Pick<Position, 'at' | 'id'>;

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

/** The first items of a list, in its order. All chunks but the last have `CHUNK_ITEMS` items. */
export interface Items {
  readonly chunks: Chunk[];
  count: number;
  /** Whether the list has no further items. */
  isComplete: boolean;
}

/** Consecutive items, in memory or on disk. */
export type Chunk = { readonly last: Place } & (
  | { readonly content: ChunkContent; readonly block?: undefined }
  | { readonly content?: undefined; readonly block: Block }
);

/** The items of a chunk. */
export interface ChunkContent {
  readonly places: readonly Place[];
  /** The items as JSON, separated by commas. */
  readonly bytes: Buffer;
  /** Where each item ends. */
  readonly ends: readonly number[];
}

/** Creates the content of a chunk from items as JSON. */
export function toChunk(texts: readonly string[], places: readonly Place[]): ChunkContent {
  const ends: number[] = [];
  let length = 0;
  for (const text of texts) {
    length += Buffer.byteLength(text);
    ends.push(length);
    length += COMMA.length;
  }
  return { places, bytes: Buffer.from(texts.join(',')), ends };
}

/** Returns a chunk as one block of bytes: the items, the places and ends as JSON, and the length of the items in 4 bytes. */
export function packChunk({ places, bytes, ends }: ChunkContent): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(bytes.length);
  return Buffer.concat([bytes, Buffer.from(JSON.stringify([places, ends])), length]);
}

function unpackChunk(packed: Buffer): ChunkContent {
  const end = packed.length - 4;
  const length = packed.readUInt32LE(end);
  const [places, ends] = JSON.parse(packed.toString('utf8', length, end)) as [Place[], number[]];
  return { places, bytes: packed.subarray(0, length), ends };
}

/** Returns a chunk by its index. */
type ReadChunk = (index: number) => Promise<ChunkContent> | ChunkContent;

// Reads each chunk at most once.
function chunksOf({ chunks }: Items, spill: ItemSpill | null): ReadChunk {
  const read = new Map<number, Promise<ChunkContent>>();
  return (index) => {
    const { content, block } = chunks[index] as Chunk;
    if (content !== undefined) return content;
    const known = read.get(index) ?? (spill as ItemSpill).read(block).then(unpackChunk);
    read.set(index, known);
    return known;
  };
}

/** Returns a page of a list; null if some of its items are not among the first ones. The bytes are not copied. */
export async function pageOf(
  items: Items,
  spill: ItemSpill | null,
  { range, after, limit }: WantedItems,
): Promise<CachedPage | null> {
  const { count, isComplete } = items;
  const read = chunksOf(items, spill);
  const newest = range === null || range.to === DAY_MAX ? 0 : await firstBefore(items, read, addDays(range.to, 1));
  const next = after === null ? 0 : await indexAfter(items, read, after);
  if (next === null) return null;
  const start = Math.max(newest, next);
  const oldest = range === null ? count : await firstBefore(items, read, range.from, start + limit);
  const isKnown = isComplete || oldest < count || start + limit < count;
  if (!isKnown) return null;
  const end = Math.max(start, Math.min(start + limit, oldest));
  const last = end < oldest && end > start ? await placeAt(read, end - 1) : null;
  return { pieces: await piecesOf(read, start, end), last };
}

/** Returns items as JSON, separated by commas; null if some are not in memory. */
export function pickItems(items: Items, places: readonly Place[]): Buffer | null {
  const parts: Buffer[] = [];
  for (const place of places) {
    const part = itemAt(items, place);
    if (part === null) return null;
    parts.push(part);
  }
  return Buffer.concat(withCommas(parts));
}

function itemAt({ chunks }: Items, { at, id }: Place): Buffer | null {
  for (let index = firstIndex(chunks, ({ last }) => isFrom(last, at)); index < chunks.length; index++) {
    const { content } = chunks[index] as Chunk;
    if (content === undefined) return null;
    const { places } = content;
    let offset = firstIndex(places, (place) => isFrom(place, at));
    for (; offset < places.length && places[offset]?.at === at; offset++) {
      if (places[offset]?.id === id) return slice(content, offset, offset + 1);
    }
    if (offset < places.length) return null;
  }
  return null;
}

// Index of the first item before a day; items without a time are the last ones. Beyond `enough` it is only a lower bound.
function firstBefore(items: Items, read: ReadChunk, day: string, enough = Number.POSITIVE_INFINITY): Promise<number> {
  return firstOf(items, read, ({ at }) => at === null || at < day, enough);
}

// Whether an item has a time, or a later place in the order of times.
function isFrom(place: Place, at: string | null): boolean {
  return place.at === null || (at !== null && place.at <= at);
}

// Index of the first item with a property that all later ones have too. Beyond `enough` it is only a lower bound.
async function firstOf(
  { chunks, count }: Items,
  read: ReadChunk,
  has: (place: Place) => boolean,
  enough = Number.POSITIVE_INFINITY,
): Promise<number> {
  const chunk = firstIndex(chunks, ({ last }) => has(last));
  if (chunk === chunks.length) return count;
  const first = chunk * CHUNK_ITEMS;
  return first > enough ? first : first + firstIndex((await read(chunk)).places, has);
}

// Index of the item after a place; null if the place is not among the items.
async function indexAfter(items: Items, read: ReadChunk, { at, id }: Place): Promise<number | null> {
  let index = await firstOf(items, read, (place) => isFrom(place, at));
  for (; index < items.count; index++) {
    const place = await placeAt(read, index);
    if (place.at !== at) return null;
    if (place.id === id) return index + 1;
  }
  return null;
}

async function placeAt(read: ReadChunk, index: number): Promise<Place> {
  const { places } = await read(Math.floor(index / CHUNK_ITEMS));
  return places[index % CHUNK_ITEMS] as Place;
}

async function piecesOf(read: ReadChunk, start: number, end: number): Promise<Buffer[]> {
  const parts: Buffer[] = [];
  for (let from = start; from < end;) {
    const chunk = Math.floor(from / CHUNK_ITEMS);
    const first = chunk * CHUNK_ITEMS;
    const beyond = Math.min(end - first, CHUNK_ITEMS);
    parts.push(slice(await read(chunk), from - first, beyond));
    from = first + beyond;
  }
  return withCommas(parts);
}

function slice({ bytes, ends }: ChunkContent, first: number, beyond: number): Buffer {
  return bytes.subarray(first === 0 ? 0 : (ends[first - 1] as number) + COMMA.length, ends[beyond - 1]);
}

function withCommas(parts: readonly Buffer[]): Buffer[] {
  return parts.flatMap((part, index) => (index === 0 ? [part] : [COMMA, part]));
}

// Returns the index of the first item with a property that all later items have too; the number of items if none has it.
function firstIndex<T>(items: readonly T[], has: (item: T) => boolean): number {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (has(items[middle] as T)) high = middle;
    else low = middle + 1;
  }
  return low;
}
