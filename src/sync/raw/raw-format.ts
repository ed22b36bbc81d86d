import type { FileHandle } from 'node:fs/promises';
import { promisify } from 'node:util';
import { crc32, deflateRaw, inflateRaw } from 'node:zlib';

// A raw file is a gzip file (RFC 1952) with one member per record: `zcat` prints a line of JSON about each page and
// then the page. The extra field of a member's header contains the member's length, so records can be counted and
// skipped without decompressing them, and found after a damaged one. The header's comment describes the record.

const deflate = promisify(deflateRaw);
const inflate = promisify(inflateRaw);

/** First bytes of a member: gzip magic, deflate, and the flags for an extra field and a comment. */
const SIGNATURE = Buffer.from([0x1f, 0x8b, 8, 0x14]);
/** Start of the extra field `SL`, which contains the length of the member in 4 bytes. */
const EXTRA = Buffer.from([8, 0, 0x53, 0x4c, 4, 0]);
const LENGTH_AT = 16;
const COMMENT_AT = 20;
const COMMENT_BYTES_MAX = 400;
const TRAILER_BYTES = 8;
/** Pages have at most 64 MB, so a much larger length means damage. */
const MEMBER_BYTES_MAX = 128 * 1024 * 1024;
const SEARCH_BYTES = 1024 * 1024;

/** The header of a member. */
export interface Member {
  readonly position: number;
  readonly bytes: number;
  readonly comment: string;
}

/** A part of a file that is not a readable member. */
export interface Gap {
  readonly position: number;
  readonly reason: string;
  /** Whether the file ends within a member that starts here, as after a killed process. */
  readonly isCutOff: boolean;
}

/** Encodes a record as a member: a line of JSON, then the body, if any. */
export async function toMember(comment: string, header: object, body: Uint8Array | null): Promise<Buffer> {
  const line = Buffer.from(`${JSON.stringify(header)}\n`);
  const content = body === null ? line : Buffer.concat([line, body, Buffer.from('\n')]);
  const packed = await deflate(content);
  const words = Buffer.from(`${comment.replace(/[^\x20-\x7e]+/g, ' ').slice(0, COMMENT_BYTES_MAX - 1)}\0`, 'latin1');
  const member = Buffer.alloc(COMMENT_AT + words.length + packed.length + TRAILER_BYTES);
  SIGNATURE.copy(member, 0);
  member[9] = 0xff;
  EXTRA.copy(member, 10);
  member.writeUInt32LE(member.length, LENGTH_AT);
  words.copy(member, COMMENT_AT);
  packed.copy(member, COMMENT_AT + words.length);
  member.writeUInt32LE(crc32(content), member.length - TRAILER_BYTES);
  member.writeUInt32LE(content.length % 2 ** 32, member.length - 4);
  return member;
}

/** Iterates over the members of a file by their headers, and over the gaps between them. */
export async function* walkMembers(handle: FileHandle): AsyncGenerator<Member | Gap> {
  const { size } = await handle.stat();
  const head = Buffer.alloc(COMMENT_AT + COMMENT_BYTES_MAX);
  for (let position = 0; position < size;) {
    const { bytesRead } = await handle.read(head, 0, head.length, position);
    const bytes = bytesRead >= COMMENT_AT && isHeader(head) ? head.readUInt32LE(LENGTH_AT) : 0;
    if (bytes > COMMENT_AT + TRAILER_BYTES && bytes < MEMBER_BYTES_MAX && position + bytes <= size) {
      const end = head.indexOf(0, COMMENT_AT);
      const comment = head.toString('latin1', COMMENT_AT, end < 0 ? bytesRead : end);
      yield { position, bytes, comment };
      position += bytes;
      continue;
    }
    const next = await findHeader(handle, position + 1, size);
    const reason = bytes > 0 ? 'a record is truncated' : 'no record header found';
    const isBegun =
      bytes > 0 || head.subarray(0, Math.min(bytesRead, SIGNATURE.length)).equals(SIGNATURE.subarray(0, bytesRead));
    yield { position, reason, isCutOff: isBegun && next === size && position + (bytes || COMMENT_AT) > size };
    position = next;
  }
}

/**
 * Returns a record's header and body.
 * @throws Error with the kind of damage if the member is damaged
 */
export async function readMember(
  handle: FileHandle,
  { position, bytes }: Member,
): Promise<{ header: unknown; body: Buffer }> {
  const member = Buffer.alloc(bytes);
  await handle.read(member, 0, bytes, position);
  const start = member.indexOf(0, COMMENT_AT) + 1;
  const trailer = bytes - TRAILER_BYTES;
  const length = member.readUInt32LE(trailer + 4);
  let content: Buffer;
  try {
    content = await inflate(member.subarray(start, trailer), { maxOutputLength: Math.max(1, length) });
  } catch (thrown) {
    throw new Error('decompression failed', { cause: thrown });
  }
  if (content.length !== length || crc32(content) !== member.readUInt32LE(trailer))
    throw new Error('checksum mismatch');
  const line = content.indexOf('\n');
  const header = JSON.parse(content.toString('utf8', 0, line)) as unknown;
  return { header, body: content.subarray(line + 1, Math.max(line + 1, content.length - 1)) };
}

function isHeader(bytes: Buffer): boolean {
  return bytes.subarray(0, 4).equals(SIGNATURE) && bytes.subarray(10, 10 + EXTRA.length).equals(EXTRA);
}

// Returns the first offset at or after `from` that looks like a header, or the end of the file.
async function findHeader(handle: FileHandle, from: number, size: number): Promise<number> {
  const chunk = Buffer.alloc(SEARCH_BYTES);
  for (let at = from; at < size; at += SEARCH_BYTES - COMMENT_AT) {
    const { bytesRead } = await handle.read(chunk, 0, SEARCH_BYTES, at);
    const read = chunk.subarray(0, bytesRead);
    for (let found = read.indexOf(SIGNATURE); found >= 0; found = read.indexOf(SIGNATURE, found + 1)) {
      if (isHeader(read.subarray(found))) return at + found;
    }
  }
  return size;
}
