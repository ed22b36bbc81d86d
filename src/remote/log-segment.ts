import { createHash } from 'node:crypto';
import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { SightlineError } from '../base/errors.ts';
import { isRecord } from '../base/json.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import { isInnerPath, type Segment } from './remote-record.ts';

/** Pieces read in parallel, because round trips would dominate in a long journal. */
const PIECES_AT_ONCE = 16;
const DIGITS = 8;

/** Bytes that were appended to a file of the workspace's folder. */
export interface Appended {
  /** Relative to the folder. */
  readonly path: string;
  readonly offset: number;
  readonly data: Buffer;
}

/** Returns the key of a piece; `number` starts at 1. */
export function pieceKey({ prefix }: Pick<Segment, 'prefix'>, number: number): string {
  return `${prefix}${String(number).padStart(DIGITS, '0')}`;
}

/** Serializes a piece: a line of JSON that describes its parts, then their bytes. */
export function toPiece(parts: readonly Appended[]): Buffer {
  const data = Buffer.concat(parts.map((part) => part.data));
  const named = parts.map(({ path, offset, data: { length } }) => ({ path, offset, bytes: length }));
  const head = { parts: named, sha256: createHash('sha256').update(data).digest('hex') };
  return Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), data]);
}

/** Parses a piece; null if it is invalid or its SHA-256 differs. */
export function fromPiece(body: Buffer): Appended[] | null {
  const end = body.indexOf('\n');
  let head: unknown;
  try {
    head = JSON.parse(body.subarray(0, end).toString());
  } catch {
    return null;
  }
  const data = body.subarray(end + 1);
  if (!isRecord(head) || !Array.isArray(head['parts'])) return null;
  if (createHash('sha256').update(data).digest('hex') !== head['sha256']) return null;
  let from = 0;
  const parts: Appended[] = [];
  for (const part of head['parts'] as unknown[]) {
    if (!isRecord(part) || !isInnerPath(part['path'])) return null;
    const { offset, bytes } = part;
    if (!Number.isSafeInteger(offset) || !Number.isSafeInteger(bytes)) return null;
    parts.push({ path: part['path'], offset: Number(offset), data: data.subarray(from, from + Number(bytes)) });
    from += Number(bytes);
  }
  return from === data.length ? parts : null;
}

/**
 * Appends the pieces of a journal to the files of a folder. Returns the segments with the number of applied pieces.
 * @throws `remote_failed` if a piece is missing, leaves a gap, or contains a file that `mayBe` rejects
 */
export async function applyJournal(
  store: ObjectStore,
  segments: readonly Segment[],
  folder: string,
  mayBe: (path: string) => boolean,
  signal: AbortSignal,
): Promise<(Segment & { pieces: number })[]> {
  const files = new Map<string, { handle: FileHandle; bytes: number }>();
  const taken: (Segment & { pieces: number })[] = [];
  try {
    for (const segment of segments) {
      let pieces = 0;
      for await (const body of readPieces(store, segment)) {
        signal.throwIfAborted();
        pieces += 1;
        const parts = fromPiece(body);
        if (parts === null) throw damaged(store, pieceKey(segment, pieces), 'it is damaged');
        for (const part of parts) {
          if (!mayBe(part.path))
            throw damaged(store, pieceKey(segment, pieces), `${part.path} is not a file of a journal`);
          const file = files.get(part.path) ?? (await openAt(folder, part.path));
          files.set(part.path, file);
          if (part.offset !== file.bytes) throw damaged(store, pieceKey(segment, pieces), `${part.path} has a gap`);
          await file.handle.writeFile(part.data);
          file.bytes += part.data.length;
        }
      }
      taken.push({ ...segment, pieces });
    }
  } finally {
    for (const { handle } of files.values()) await handle.close();
  }
  return taken;
}

async function* readPieces(store: ObjectStore, segment: Segment): AsyncGenerator<Buffer> {
  const { pieces } = segment;
  for (let first = 1; pieces === null || first <= pieces; first += PIECES_AT_ONCE) {
    const count = pieces === null ? PIECES_AT_ONCE : Math.min(PIECES_AT_ONCE, pieces - first + 1);
    const keys = Array.from({ length: count }, (_, index) => pieceKey(segment, first + index));
    const found = await Promise.all(keys.map((key) => store.read(key)));
    for (const [index, piece] of found.entries()) {
      // Pieces are written in order. A piece after a missing one was written meanwhile and is not applied.
      if (piece === null && pieces === null) return;
      if (piece === null) throw damaged(store, keys[index] ?? '', 'it is missing');
      yield piece.body;
    }
  }
}

async function openAt(folder: string, path: string): Promise<{ handle: FileHandle; bytes: number }> {
  const full = join(folder, path);
  await mkdir(dirname(full), { recursive: true });
  const handle = await open(full, 'a');
  return { handle, bytes: (await handle.stat()).size };
}

function damaged({ location }: ObjectStore, key: string, why: string): SightlineError {
  return new SightlineError('remote_failed', `${location}${key} cannot be applied: ${why}`);
}
