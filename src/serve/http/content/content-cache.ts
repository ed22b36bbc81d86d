/** Estimated overhead of a cached response: key, headers, map entry. */
const ENTRY_BYTES = 512;

/** Bodies up to this size are stored as a string. */
const STRING_BYTES_MAX = 16_384;

/** The bytes of a response. Short ones are latin1 strings, one character per byte, which Node sends in one piece with the headers. */
export type Body = string | Buffer;

/** The encoded body of a response and its metadata. */
export interface Content {
  readonly body: Body;
  readonly mediaType: string;
  /** Null if not compressed. */
  readonly encoding: string | null;
  readonly nextCursor: string | null;
}

/** An LRU cache of encoded responses, limited by bytes. */
export interface ContentCache {
  get(key: string): Content | undefined;
  set(key: string, content: Content): void;
  readonly bytes: number;
}

/**
 * Creates an empty cache. Responses larger than an eighth of it are not stored, because they would evict all others.
 */
export function createContentCache(bytesMax: number): ContentCache {
  const contents = new Map<string, Content>();
  let bytes = 0;
  const remove = (key: string, content: Content): void => {
    contents.delete(key);
    bytes -= costOf(content);
  };
  return {
    get: (key) => {
      const content = contents.get(key);
      if (content === undefined) return undefined;
      // Re-insert at the end, so that the map is ordered from least to most recently used.
      contents.delete(key);
      contents.set(key, content);
      return content;
    },
    set: (key, content) => {
      const before = contents.get(key);
      if (before !== undefined) remove(key, before);
      if (costOf(content) > bytesMax / 8) return;
      contents.set(key, content);
      bytes += costOf(content);
      for (const [oldest, old] of contents) {
        if (bytes <= bytesMax) break;
        remove(oldest, old);
      }
    },
    get bytes() {
      return bytes;
    },
  };
}

function costOf({ body }: Content): number {
  return body.length + ENTRY_BYTES;
}

/** Converts bytes to the form in which they are stored and sent. */
export function toBody(bytes: Buffer): string | Buffer {
  return bytes.length <= STRING_BYTES_MAX ? bytes.toString('latin1') : bytes;
}

/** Converts a stored body back to bytes. */
export function toBytes(body: Body): Buffer {
  return typeof body === 'string' ? Buffer.from(body, 'latin1') : body;
}
