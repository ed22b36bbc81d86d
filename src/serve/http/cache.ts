/** What a stored answer costs beside its bytes: its key, its headers, its place. */
const ENTRY_BYTES = 512;

/** Up to this size the bytes of an answer are kept as a string. */
const STRING_BYTES_MAX = 16_384;

/** The bytes of an answer, and what must be said beside them. */
export interface Content {
  /** A short one as a string with one character a byte (latin1), which goes out in one piece with the headers. */
  readonly body: string | Buffer;
  readonly mediaType: string;
  /** Null where the bytes are plain. */
  readonly encoding: string | null;
  readonly nextCursor: string | null;
}

/** Finished answers, the least recently used forgotten first when their bytes exceed the limit. */
export interface ContentCache {
  get(key: string): Content | undefined;
  set(key: string, content: Content): void;
  readonly bytes: number;
}

/** Builds an empty cache; answers larger than an eighth of it are not kept, for they would push out all others. */
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
      // Put back at the end, so that the map runs from the least to the most recently used.
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

/** Bytes in the form in which they are kept and sent. */
export function toBody(bytes: Buffer): string | Buffer {
  return bytes.length <= STRING_BYTES_MAX ? bytes.toString('latin1') : bytes;
}

/** The bytes again. */
export function toBytes(body: string | Buffer): Buffer {
  return typeof body === 'string' ? Buffer.from(body, 'latin1') : body;
}
