import { randomUUID } from 'node:crypto';
import { type BigIntStats, statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { SightlineError } from '../base/errors.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import { hashFile } from '../warehouse/file/hash-file.ts';
import { logOf, readOpened } from '../warehouse/file/open-files.ts';
import { type Appended, pieceKey, toPiece } from './log-segment.ts';
import { type KeptFiles, listKept, sendKept } from './remote-files.ts';
import type { Lease } from './remote-lease.ts';
import type { RemoteRecord, Segment, StoredBase } from './remote-record.ts';
import type { FollowedWarehouse, Journal } from './remote.ts';

/**
 * Bytes that are not in the store yet are sent as one object, built in memory. If there are more, the complete
 * warehouse is saved.
 */
const PIECE_BYTES_MAX = 8 * 1024 * 1024;
/** A journal longer than this, and longer than the warehouse, is ended by saving the complete warehouse. */
const JOURNAL_BYTES_MAX = 64 * 1024 * 1024;
/** Limit of pieces, because a process that takes over reads all of them. */
const PIECES_MAX = 10_000;
/** Wait before a failed write is retried. */
const RETRY_MS = 1_000;
/** Retries in a row. A store that accepts lease renewals but no pieces does not recover by waiting. */
const RETRIES_MAX = 60;

/** Dependencies of a journal. */
export interface JournalParts {
  readonly store: ObjectStore;
  readonly lease: Lease;
  readonly clock: Clock;
  /** The workspace's folder, and the warehouse in it. */
  readonly folder: string;
  readonly warehouse: string;
  readonly kept: KeptFiles;
}

/** A journal, as used by the process that has the workspace checked out. */
export interface KeptJournal extends Journal {
  /** Number of pieces since the base, including those of earlier check-outs. */
  pieces(): number;
  /** Starts the journal. The folder must be equal to the record; `taken` is the number of pieces that were applied. */
  begin(taken: number): Promise<void>;
  /**
   * Saves the warehouse file and the other kept files, and stores the record that `change` returns. The file must be
   * complete without its log and must not change meanwhile. The caller removes the objects of earlier saves.
   */
  save(change: (record: RemoteRecord) => RemoteRecord): Promise<RemoteRecord>;
  /** Saves only the kept files. The journal covers the rest, including files of kept folders. */
  saveFiles(): Promise<void>;
  /** Keys that a save has removed from the record or the journal. */
  superseded(): readonly string[];
}

/** Progress of a journal: what the store has of the open warehouse. */
interface Shipped {
  readonly parts: JournalParts;
  /** Path of the warehouse's log. */
  readonly log: string;
  /** Keys of uploaded warehouse files by SHA-256, so that a retry does not upload them again. */
  readonly sent: Map<string, string>;
  /** Keys that a save has removed from the record or the journal. */
  readonly superseded: string[];
  /** Number of bytes of each file that are in the store. */
  bytes: Map<string, number>;
  base: Identity | null;
  segment: Segment | null;
  /** Pieces in the segment, and pieces of earlier check-outs. */
  written: number;
  taken: number;
  /**
   * A piece whose response was lost, so the store may have it. It is sent again unchanged, because a different piece
   * would leave a gap.
   */
  unsure: Piece | null;
}

interface Piece {
  readonly key: string;
  readonly appended: readonly Appended[];
}

/** Creates the journal of a check-out. */
export function createJournal(parts: JournalParts): KeptJournal {
  const { folder, warehouse, kept } = parts;
  const shipped: Shipped = {
    parts,
    log: logOf(warehouse),
    sent: new Map(),
    superseded: [],
    bytes: new Map(),
    base: null,
    segment: null,
    written: 0,
    taken: 0,
    unsure: null,
  };
  let followed: FollowedWarehouse | null = null;
  let running: Promise<void> | null = null;
  let waiting: Promise<void> | null = null;
  const begun = (): Promise<void> => {
    waiting = null;
    running = shipOrLose(shipped, () => followed).finally(() => {
      running = null;
    });
    return running;
  };
  // Calls during an upload share the next upload, which covers all of them.
  const durable = (): Promise<void> => {
    if (running === null) return begun();
    waiting ??= running.catch(() => undefined).then(begun);
    return waiting;
  };
  return {
    pieces: () => shipped.written + shipped.taken,
    begin: async (pieces) => {
      shipped.taken = pieces;
      const files = await listKept(folder, kept);
      shipped.bytes = new Map([...files, [basename(shipped.log), sizeOf(shipped.log)]]);
      shipped.base = identify(warehouse);
    },
    save: (change) => save(shipped, change),
    saveFiles: () => saveFiles(shipped),
    superseded: () => shipped.superseded,
    follow: (opened) => {
      followed = opened;
      return async () => {
        await running?.catch(() => undefined);
        if (followed === opened) followed = null;
      };
    },
    durable,
  };
}

async function save(shipped: Shipped, change: (record: RemoteRecord) => RemoteRecord): Promise<RemoteRecord> {
  const { parts, sent, segment, written } = shipped;
  const { store, lease, folder, warehouse, kept } = parts;
  const saved = await saveBase(parts, sent);
  const earlier = await lease.read();
  const files = await sendKept(store, folder, kept, earlier.files, (sha256) => keyOf(lease, 'files', sha256));
  const record = await lease.change((before) => change({ ...before, base: saved, files, journal: [] }));
  shipped.superseded.push(...keysOf(earlier, segment === null ? null : { ...segment, pieces: written }));
  shipped.bytes = new Map(files.map(({ path, bytes }) => [path, bytes]));
  shipped.base = identify(warehouse);
  shipped.segment = null;
  shipped.unsure = null;
  shipped.written = 0;
  shipped.taken = 0;
  return record;
}

async function saveFiles({ parts, superseded }: Shipped): Promise<void> {
  const { store, lease, folder, kept } = parts;
  const isOwn = ({ path }: { readonly path: string }): boolean => kept.files.includes(path);
  const earlier = (await lease.read()).files.filter(isOwn);
  const nextKey = (sha256: string): string => keyOf(lease, 'files', sha256);
  const files = await sendKept(store, folder, { files: kept.files, folders: [] }, earlier, nextKey);
  await lease.change((record) => ({ ...record, files: [...record.files.filter((file) => !isOwn(file)), ...files] }));
  superseded.push(...earlier.map(({ key }) => key));
}

// Retries until the lease is lost: a temporary failure of the store must not cause the same pages to be requested
// from upstream again.
async function shipOrLose(shipped: Shipped, followed: () => FollowedWarehouse | null): Promise<void> {
  const { lease, clock } = shipped.parts;
  for (let retries = 0; ; retries++) {
    lease.lost.throwIfAborted();
    const by = followed();
    if (by === null) return;
    try {
      await ship(shipped, by);
      lease.assertHeld();
      return;
    } catch (thrown) {
      lease.lost.throwIfAborted();
      const isStore = thrown instanceof SightlineError && thrown.code === 'remote_failed';
      if (!isStore || retries === RETRIES_MAX) throw thrown;
      await clock.sleep(RETRY_MS, lease.lost);
    }
  }
}

async function ship(shipped: Shipped, by: FollowedWarehouse): Promise<void> {
  if (shipped.unsure !== null) await sendPiece(shipped, shipped.unsure);
  const bytes = await settle(shipped, by);
  if (bytes === null) return;
  for (let isAll = false; !isAll;) {
    const found = await readAppended(shipped, bytes);
    isAll = found.isAll;
    if (found.appended.length === 0) return;
    shipped.segment ??= await beginSegment(shipped.parts);
    await sendPiece(shipped, { key: pieceKey(shipped.segment, shipped.written + 1), appended: found.appended });
  }
}

// Returns the length of the log that contains complete transactions. Saves everything and returns null if the log
// does not cover all changes of the file.
function settle(shipped: Shipped, by: FollowedWarehouse): Promise<number | null> {
  const { log, parts, written, taken } = shipped;
  return by.alone(async (fold) => {
    const bytes = sizeOf(log);
    const isFull = bytes > Math.max(JOURNAL_BYTES_MAX, sizeOf(parts.warehouse)) || written + taken >= PIECES_MAX;
    const isLarge = bytes - (shipped.bytes.get(basename(log)) ?? 0) > PIECE_BYTES_MAX;
    // Large transactions write to the file itself and only refer to it in the log; a checkpoint writes to the file,
    // too.
    if (isSame(shipped.base, identify(parts.warehouse)) && !isFull && !isLarge) return bytes;
    await fold();
    await save(shipped, (record) => record);
    return null;
  });
}

async function sendPiece(shipped: Shipped, piece: Piece): Promise<void> {
  shipped.unsure = piece;
  // Returns false if the response to an earlier attempt was lost: nobody else writes under this prefix.
  await shipped.parts.store.create(piece.key, toPiece(piece.appended));
  shipped.unsure = null;
  shipped.written += 1;
  for (const { path, offset, data } of piece.appended) shipped.bytes.set(path, offset + data.length);
}

async function beginSegment({ lease }: JournalParts): Promise<Segment> {
  const begun: Segment = { prefix: `journal/${lease.epoch}-${randomUUID().slice(0, 8)}/`, pieces: null };
  await lease.change((record) => {
    const others = record.journal.filter(({ prefix }) => prefix !== begun.prefix);
    return { ...record, journal: [...others, begun] };
  });
  return begun;
}

// The log goes into the last piece, after the files that it refers to, so that every page that it records is stored.
async function readAppended(
  { parts, log, bytes: shippedBytes }: Shipped,
  logBytes: number,
): Promise<{ appended: Appended[]; isAll: boolean }> {
  const { folder, kept } = parts;
  const appended: Appended[] = [];
  let room = PIECE_BYTES_MAX;
  const take = async (path: string, to: number): Promise<void> => {
    const offset = shippedBytes.get(path) ?? 0;
    const bytes = Math.min(to - offset, room);
    if (bytes <= 0) return;
    const data = await readPart(join(folder, path), offset, bytes);
    room -= data.length;
    appended.push({ path, offset, data });
  };
  const others = await listKept(folder, { files: [], folders: kept.folders });
  for (const [path, bytes] of others) await take(path, bytes);
  if (room === 0) return { appended, isAll: false };
  room = Number.POSITIVE_INFINITY;
  await take(basename(log), logBytes);
  return { appended, isAll: true };
}

/** Returns a new key. Keys are never reused, so an obsolete object can be removed at any time. */
function keyOf({ epoch }: Lease, kind: 'base' | 'files', sha256: string): string {
  return `${kind}/${epoch}-${randomUUID().slice(0, 8)}-${sha256.slice(0, 16)}`;
}

function keysOf({ base, files, journal }: RemoteRecord, own: Segment | null): string[] {
  const segments = [...journal.filter(({ prefix }) => prefix !== own?.prefix), ...(own === null ? [] : [own])];
  const pieces = segments.flatMap((segment) =>
    Array.from({ length: segment.pieces ?? 0 }, (_, index) => pieceKey(segment, index + 1)),
  );
  return [...(base === null ? [] : [base.key]), ...files.map(({ key }) => key), ...pieces];
}

async function saveBase(
  { store, lease, clock, warehouse }: JournalParts,
  sent: Map<string, string>,
): Promise<StoredBase | null> {
  const stats = await stat(warehouse).catch(() => null);
  if (stats === null) return null;
  const [bytes, sha256] = [stats.size, await hashFile(warehouse)];
  const savedAt = new Date(clock.now()).toISOString();
  const { base } = await lease.read();
  if (base?.sha256 === sha256 && base.bytes === bytes) return { ...base, savedAt };
  const known = sent.get(sha256);
  const key = known ?? keyOf(lease, 'base', sha256);
  if (known === undefined) await store.sendFile(key, { path: warehouse, bytes, sha256 });
  sent.set(sha256, key);
  return { key, bytes, sha256, savedAt };
}

type Identity = Pick<BigIntStats, 'ino' | 'size' | 'mtimeNs'>;

function identify(path: string): Identity | null {
  return statSync(path, { bigint: true, throwIfNoEntry: false }) ?? null;
}

function isSame(a: Identity | null, b: Identity | null): boolean {
  return a?.ino === b?.ino && a?.size === b?.size && a?.mtimeNs === b?.mtimeNs;
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function readPart(path: string, offset: number, bytes: number): Promise<Buffer> {
  const buffer = Buffer.alloc(bytes);
  return readOpened(path, async (readAt) => buffer.subarray(0, await readAt(buffer, offset)));
}
