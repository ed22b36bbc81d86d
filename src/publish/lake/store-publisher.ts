import { createHash, randomBytes } from 'node:crypto';
import { dirname, join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { SightlineError } from '../../base/errors.ts';
import type { Manifest, SnapshotFile } from '../snapshot/manifest.ts';
import type { PlacedSnapshot, Publisher, StagedSnapshot } from '../snapshot/publisher.ts';
import { isTurnOf } from '../snapshot/reuse.ts';
import type { FileCounts } from '../snapshot/table-export.ts';
import { createWorkQueue } from '../snapshot/work-queue.ts';
import type { ObjectStore, StoredObject } from '../storage/object-store.ts';
import { checkConditions } from '../storage/store-conditions.ts';
import { refuseFenced } from './fence.ts';
import { findManifests, retainStored } from './lake-retention.ts';
import {
  FILES,
  isReliable,
  MANIFESTS,
  POINTER,
  type Pointer,
  type ReadPointer,
  readPointer,
  readStoredManifest,
  TRUST_MS,
  toBody,
  withSnapshot,
} from './pointer.ts';

/** Attempts to move the pointer while others move it. */
const MOVES_MAX = 30;
/** Longest wait before the next attempt. */
const PAUSE_MS = 500;
/** Files uploaded at the same time; each is in memory completely or in parts. */
const FILES_AT_ONCE = 4;
/** Hexadecimal digits of a manifest's SHA-256 in its name. */
const DIGEST_DIGITS = 16;

/** Options of `createStorePublisher`. */
export interface StorePublisherOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: { done: number; of: number }) => void;
  /** Fencing token of the workspace. A process with an earlier one than the pointer's cannot move the pointer. */
  readonly epoch?: number | null;
}

/** A snapshot in its final place in an object store. */
export interface StoredSnapshot extends PlacedSnapshot {
  readonly staged: StagedSnapshot;
  readonly manifest: string;
  readonly createdAt: string;
  /**
   * When the upload began, and the manifest whose files it reuses. The snapshot can be relied on only as long as both.
   */
  readonly begunAt: number;
  readonly reliesOn: string | null;
}

/**
 * Publishes into a folder of an object store. Files are named by their content and uploaded once. A manifest is created
 * only if its name, which contains a hash of it, is unused. `latest.json` is replaced by compare-and-swap.
 */
export function createStorePublisher(store: ObjectStore, options: StorePublisherOptions): Publisher<StoredSnapshot> {
  const { clock, signal, epoch = null } = options;
  const putSnapshot = (staged: StagedSnapshot): Promise<StoredSnapshot> => put(store, staged, options);
  return {
    latest: async () => {
      const found = await readPointer(store);
      return found === null ? null : { id: found.pointer.id, createdAt: found.pointer.createdAt };
    },
    put: putSnapshot,
    point: async (placed) => {
      let entry = placed;
      for (let move = 0; move < MOVES_MAX; move++) {
        const found = await readPointer(store);
        if (found !== null) refuseFenced(store, found.pointer, epoch);
        if (found?.pointer.snapshots.some(({ manifest }) => manifest === entry.manifest)) {
          return found.pointer.manifest === entry.manifest ? 'moved' : 'superseded';
        }
        const now = clock.now();
        if (!isStillWhole(entry, found?.pointer ?? null, now)) entry = await putSnapshot(placed.staged);
        else if (!(await addSnapshot(store, found, entry, { now, epoch })))
          await clock.sleep(clock.random() * PAUSE_MS, signal);
        // The response may have been lost, so the next read decides whether the write succeeded.
      }
      const message = `${store.location}${POINTER} was moved by others during each of ${MOVES_MAX} attempts; run the export again`;
      throw new SightlineError('publish_failed', message);
    },
    retain: (keep, now) => retainStored(store, keep, now, options),
  };
}

async function put(
  store: ObjectStore,
  staged: StagedSnapshot,
  options: StorePublisherOptions,
): Promise<StoredSnapshot> {
  const begunAt = options.clock.now();
  const { id, createdAt } = staged.manifest;
  const found = await readPointer(store);
  const base = found === null ? null : await readStoredManifest(store, found.pointer.manifest);
  const { manifest, sent } = await sendFiles(store, staged, base, begunAt, options);
  const body = toBody({ ...manifest, previous: base?.id ?? null });
  const digest = createHash('sha256').update(body).digest('hex').slice(0, DIGEST_DIGITS);
  let key = `${MANIFESTS}${id}-${digest}.json`;
  if (!(await store.create(key, body)) && !(await isYoung(store, key, begunAt))) {
    // An old object may be about to be deleted, so use another name.
    key = `${MANIFESTS}${id}-${randomBytes(DIGEST_DIGITS / 2).toString('hex')}.json`;
    await store.create(key, body);
  }
  const reliesOn = base === null ? null : (found?.pointer.manifest ?? null);
  return { id, location: store.location + key, sent, staged, manifest: key, createdAt, begunAt, reliesOn };
}

// Uploads the files of a snapshot that the latest manifest `base` does not name. Returns the manifest with keys as paths.
async function sendFiles(
  store: ObjectStore,
  { manifest, folder }: StagedSnapshot,
  base: Manifest | null,
  begunAt: number,
  { signal, onProgress }: StorePublisherOptions,
): Promise<{ manifest: Manifest; sent: FileCounts }> {
  const held = new Map(filesOf(base).map((file) => [nameOf(dirname(file.path), file), file.path]));
  const sent = { files: 0, bytes: 0 };
  const paths = new Map<string, string>();
  const files = filesOf(manifest);
  const queue = createWorkQueue(FILES_AT_ONCE, signal);
  const send = async (file: SnapshotFile): Promise<void> => {
    const known = held.get(nameOf(FILES + dirname(file.path), file));
    // A file that is missing in the store is uploaded again within a week.
    const isThere = known !== undefined && (!isTurnOf(file, begunAt) || isSame(await store.head(known), file));
    const path = isThere ? known : await placeFile(store, folder, file, manifest.id, begunAt, sent);
    paths.set(file.path, path);
    onProgress?.({ done: paths.size, of: files.length });
  };
  try {
    await Promise.all(files.map((file) => queue.add(() => send(file))));
  } finally {
    await queue.idle();
  }
  const moved = (file: SnapshotFile): SnapshotFile => ({ ...file, path: paths.get(file.path) ?? file.path });
  const tables = manifest.tables.map((table) => ({ ...table, files: table.files.map(moved) }));
  return { manifest: { ...manifest, tables }, sent };
}

// Uploads a file unless it is there already, and returns its key.
async function placeFile(
  store: ObjectStore,
  folder: string,
  file: SnapshotFile,
  id: string,
  now: number,
  sent: FileCounts,
): Promise<string> {
  const key = FILES + file.path;
  const there = await store.head(key);
  // The object was uploaded by an interrupted run. An old one may be about to be deleted, so the file is uploaded under
  // another name.
  if (there !== null && isSame(there, file) && there.modifiedAt + TRUST_MS > now) return key;
  const free = there === null ? key : key.replace(/\.parquet$/, `-${id}.parquet`);
  await store.sendFile(free, { path: join(folder, file.path), bytes: file.bytes, sha256: file.sha256 });
  sent.files += 1;
  sent.bytes += file.bytes;
  return free;
}

function isSame(there: StoredObject | null, { bytes, sha256 }: SnapshotFile): boolean {
  return there !== null && there.bytes === bytes && there.sha256 === sha256;
}

async function isYoung(store: ObjectStore, key: string, now: number): Promise<boolean> {
  const there = await store.head(key);
  return there !== null && there.modifiedAt + TRUST_MS > now;
}

// Reports whether no object that the snapshot names can have been deleted since the upload began.
function isStillWhole({ begunAt, reliesOn }: StoredSnapshot, pointer: Pointer | null, now: number): boolean {
  if (begunAt + TRUST_MS <= now) return false;
  return reliesOn === null || (pointer !== null && isReliable(pointer, reliesOn, now));
}

async function addSnapshot(
  store: ObjectStore,
  found: ReadPointer | null,
  { id, manifest, createdAt }: StoredSnapshot,
  { now, epoch }: { readonly now: number; readonly epoch: number | null },
): Promise<boolean> {
  const fence = epoch === null ? {} : { fence: epoch };
  const entry = { id, manifest, createdAt, publishedAt: new Date(now).toISOString() };
  if (found !== null) {
    return store.replace(POINTER, toBody({ ...withSnapshot(found.pointer, entry, now), ...fence }), found.version);
  }
  // Checked once, for the first snapshot: without conditional writes one of two publishers would lose its work.
  await checkConditions(store);
  let pointer: Pointer | null = null;
  for (const other of await findManifests(store)) {
    if (other.manifest !== manifest) pointer = withSnapshot(pointer, other, now);
  }
  return store.create(POINTER, toBody({ ...withSnapshot(pointer, entry, now), ...fence }));
}

function filesOf(manifest: Manifest | null): SnapshotFile[] {
  return manifest?.tables.flatMap((table) => table.files) ?? [];
}

// Equal files in two folders stay separate, because the folder contains the month.
function nameOf(folder: string, { sha256, bytes }: SnapshotFile): string {
  return `${folder} ${sha256} ${bytes}`;
}
