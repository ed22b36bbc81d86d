import { randomUUID } from 'node:crypto';
import { type BigIntStats, statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { SightlineError } from '../base/errors.ts';
import { logOf, readOpened } from '../warehouse/open-files.ts';
import type { FollowedWarehouse, Journal } from './home.ts';
import { type KeptFiles, listKept, sendKept } from './home-files.ts';
import type { Lease } from './home-lease.ts';
import type { HomeRecord, Segment, StoredBase } from './home-record.ts';
import { type Appended, pieceKey, toPiece } from './journal-piece.ts';
import type { ObjectStore } from './object-store.ts';
import { hashFile } from './parquet.ts';

/** What is not in the store yet is sent as one object, held in memory, or else the warehouse is saved whole. */
const PIECE_BYTES_MAX = 8 * 1024 * 1024;
/** A journal as long as this, or as the warehouse where that is larger, is ended by saving the warehouse whole. */
const JOURNAL_BYTES_MAX = 64 * 1024 * 1024;
/** Whoever takes over reads them one by one. */
const PIECES_MAX = 10_000;
/** Before a write is tried again that the store did not take. */
const RETRY_MS = 1_000;
/** How often in a row: what a store takes claims for and no pieces will not be mended by waiting. */
const RETRIES_MAX = 60;

/** What a journal works with. */
export interface JournalParts {
  readonly store: ObjectStore;
  readonly lease: Lease;
  readonly clock: Clock;
  /** The workspace's folder, and the warehouse in it. */
  readonly folder: string;
  readonly warehouse: string;
  readonly kept: KeptFiles;
}

/** A journal, as whoever has the workspace checked out sees it. */
export interface KeptJournal extends Journal {
  /** Pieces since the base, those that were taken over among them. */
  pieces(): number;
  /** Takes the folder for what the record says, to its last byte. */
  begin(taken: number): Promise<void>;
  /**
   * Saves the warehouse file, which must be whole by itself and stand still, with the other files: the record that results is
   * what `change` makes of it. What was saved before and is needed no more is left to the caller.
   */
  save(change: (record: HomeRecord) => HomeRecord): Promise<HomeRecord>;
  /** Saves the kept files alone. The journal says the rest, those of kept folders included. */
  saveFiles(): Promise<void>;
  /** Keys of what was in the record before, or in the journal, when something was saved. */
  superseded(): readonly string[];
}

/** Builds the journal of a check-out. */
export function createJournal(parts: JournalParts): KeptJournal {
  const { store, lease, clock, folder, warehouse, kept } = parts;
  const log = logOf(warehouse);
  /** Keys of the warehouse files that were sent, by SHA-256: where what follows failed they are not sent again. */
  const sent = new Map<string, string>();
  const left: string[] = [];
  /** Bytes of each file that are in the store. */
  let shipped = new Map<string, number>();
  let base: Identity | null = null;
  let segment: Segment | null = null;
  let written = 0;
  let taken = 0;
  let followed: FollowedWarehouse | null = null;
  /** A piece that the store may have kept although it did not say so: it is sent again as it was, or what follows has a gap. */
  let unsure: { readonly key: string; readonly appended: readonly Appended[] } | null = null;

  const save = async (change: (record: HomeRecord) => HomeRecord): Promise<HomeRecord> => {
    const saved = await saveBase(parts, sent);
    const earlier = await lease.read();
    const files = await sendKept(store, folder, kept, earlier.files, (sha256) => keyOf(lease, 'files', sha256));
    const record = await lease.change((before) => change({ ...before, base: saved, files, journal: [] }));
    left.push(...keysOf(earlier, segment === null ? null : { ...segment, pieces: written }));
    shipped = new Map(files.map(({ path, bytes }) => [path, bytes]));
    base = identify(warehouse);
    segment = null;
    unsure = null;
    written = 0;
    taken = 0;
    return record;
  };

  const saveFiles = async (): Promise<void> => {
    const isOwn = ({ path }: { readonly path: string }): boolean => kept.files.includes(path);
    const earlier = (await lease.read()).files.filter(isOwn);
    const nextKey = (sha256: string): string => keyOf(lease, 'files', sha256);
    const files = await sendKept(store, folder, { files: kept.files, folders: [] }, earlier, nextKey);
    await lease.change((record) => ({ ...record, files: [...record.files.filter((file) => !isOwn(file)), ...files] }));
    left.push(...earlier.map(({ key }) => key));
  };

  // Gives the bytes of the log that hold whole transactions, or saves all where they cannot be told from the file's.
  const settle = (by: FollowedWarehouse): Promise<number | null> =>
    by.alone(async (fold) => {
      const bytes = sizeOf(log);
      const isFull = bytes > Math.max(JOURNAL_BYTES_MAX, sizeOf(warehouse)) || written + taken >= PIECES_MAX;
      const isLarge = bytes - (shipped.get(basename(log)) ?? 0) > PIECE_BYTES_MAX;
      // Large transactions write into the file itself, and their log only says where; so does folding the log.
      if (isSame(base, identify(warehouse)) && !isFull && !isLarge) return bytes;
      await fold();
      await save((record) => record);
      return null;
    });

  const send = async (piece: NonNullable<typeof unsure>): Promise<void> => {
    unsure = piece;
    // False where the answer to an earlier trial was lost: nobody else writes under this prefix.
    await store.create(piece.key, toPiece(piece.appended));
    unsure = null;
    written += 1;
    for (const { path, offset, data } of piece.appended) shipped.set(path, offset + data.length);
  };

  const ship = async (by: FollowedWarehouse): Promise<void> => {
    if (unsure !== null) await send(unsure);
    const bytes = await settle(by);
    if (bytes === null) return;
    for (let isAll = false; !isAll; ) {
      const found = await read(bytes);
      isAll = found.isAll;
      if (found.appended.length === 0) return;
      segment ??= await begin();
      await send({ key: pieceKey(segment, written + 1), appended: found.appended });
    }
  };

  const begin = async (): Promise<Segment> => {
    const begun: Segment = { prefix: `journal/${lease.epoch}-${randomUUID().slice(0, 8)}/`, pieces: null };
    await lease.change((record) => {
      const others = record.journal.filter(({ prefix }) => prefix !== begun.prefix);
      return { ...record, journal: [...others, begun] };
    });
    return begun;
  };

  // The log comes with the last of what it speaks of: a page that is said to be kept is.
  const read = async (logBytes: number): Promise<{ appended: Appended[]; isAll: boolean }> => {
    const appended: Appended[] = [];
    let room = PIECE_BYTES_MAX;
    const take = async (path: string, to: number): Promise<void> => {
      const offset = shipped.get(path) ?? 0;
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
  };

  // Until the claim is lost: what a store refuses for a while is no reason to ask upstream for the same pages again.
  const shipOrLose = async (): Promise<void> => {
    for (let retries = 0; ; retries++) {
      lease.lost.throwIfAborted();
      const by = followed;
      if (by === null) return;
      try {
        await ship(by);
        lease.assertHeld();
        return;
      } catch (thrown) {
        lease.lost.throwIfAborted();
        const isStore = thrown instanceof SightlineError && thrown.code === 'home_failed';
        if (!isStore || retries === RETRIES_MAX) throw thrown;
        await clock.sleep(RETRY_MS, lease.lost);
      }
    }
  };

  let running: Promise<void> | null = null;
  let waiting: Promise<void> | null = null;
  const begun = (): Promise<void> => {
    waiting = null;
    running = shipOrLose().finally(() => {
      running = null;
    });
    return running;
  };
  // What comes while a piece is under way waits for the next, which takes all of it at once.
  const durable = (): Promise<void> => {
    if (running === null) return begun();
    waiting ??= running.catch(() => undefined).then(begun);
    return waiting;
  };

  return {
    pieces: () => written + taken,
    begin: async (pieces) => {
      taken = pieces;
      const files = await listKept(folder, kept);
      shipped = new Map([...files, [basename(log), sizeOf(log)]]);
      base = identify(warehouse);
    },
    save,
    saveFiles,
    superseded: () => left,
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

/** A key that was never used: what is to be removed is never needed again. */
function keyOf({ epoch }: Lease, kind: 'base' | 'files', sha256: string): string {
  return `${kind}/${epoch}-${randomUUID().slice(0, 8)}-${sha256.slice(0, 16)}`;
}

function keysOf({ base, files, journal }: HomeRecord, own: Segment | null): string[] {
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
