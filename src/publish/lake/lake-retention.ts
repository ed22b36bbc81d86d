import { randomUUID } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { SightlineError } from '../../base/errors.ts';
import { isSnapshotId } from '../snapshot/manifest.ts';
import { chooseExpired, type Keep } from '../snapshot/retention.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import {
  agesOf,
  FILES,
  MANIFESTS,
  POINTER,
  type Pointer,
  type PointerEntry,
  readPointer,
  readStoredManifest,
  STORE_GRACE_MS,
  toBody,
} from './pointer.ts';

/** Longest time for which one publisher deletes while no other does. The next one continues. */
const SWEEP_MS = 15 * 60_000;
/** Deletion stops this much earlier, which is more than a request takes. */
const SWEEP_MARGIN_MS = 3 * 60_000;
/** If the local clock is further ahead of the store's, new objects would appear old. */
const HOURS_AHEAD_MAX = 1;
const HOUR_MS = 3_600_000;
/** Attempts to change the pointer while others move it. */
const CHANGES_MAX = 10;
/** Longest wait before the next attempt. */
const PAUSE_MS = 500;
const OURS = new RegExp(`^${FILES}.+[.]parquet$|^${MANIFESTS}[^/]+[.]json$`);

/** Options of `retainStored`. */
export interface StoreRetentionOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Removes expired snapshots from the pointer and, a day later, deletes the objects that no remaining manifest names.
 * Returns the ids of the snapshots whose files were deleted. Objects written within the last day stay, whichever
 * process wrote them.
 * @throws `publish_failed`, before anything is deleted, if a manifest cannot be read or this machine's clock is ahead
 * of the store's
 */
export async function retainStored(
  store: ObjectStore,
  keep: Keep,
  now: number,
  options: StoreRetentionOptions,
): Promise<string[]> {
  const by = randomUUID();
  const claimed = await change(store, options, (pointer) => withoutExpired(pointer, keep, now, by));
  if (claimed?.sweep?.by !== by) return [];
  const due = dueOf(claimed, now);
  const end = (gone: Pointer['leaving']) =>
    change(store, options, (pointer) => {
      if (pointer.sweep?.by !== by) return null;
      const left = pointer.leaving.filter(({ manifest }) => !gone.some((entry) => entry.manifest === manifest));
      return { ...pointer, leaving: left, sweep: null };
    });
  const hoursAhead = await hoursAheadOf(store, options.clock.now());
  if (hoursAhead > HOURS_AHEAD_MAX) {
    // With this clock the reservation would keep others from deleting for as long.
    await end([]);
    const what = `this machine's clock is ${Math.round(hoursAhead)} hours ahead of the store's`;
    throw new SightlineError('publish_failed', `nothing is deleted in ${store.location}: ${what}`);
  }
  const isWhole = await sweep(store, claimed, now, options);
  await end(isWhole ? due : []);
  return isWhole ? due.map(({ id }) => id) : [];
}

/** Lists every manifest in the store, oldest first; used only if the pointer is missing. */
export async function findManifests(store: ObjectStore): Promise<Omit<PointerEntry, 'supersededAt'>[]> {
  const entries: Omit<PointerEntry, 'supersededAt'>[] = [];
  for await (const { key, modifiedAt } of store.list(MANIFESTS)) {
    const id = key.slice(MANIFESTS.length).replace(/-[0-9a-f]{16}\.json$/, '');
    if (!OURS.test(key) || !isSnapshotId(id) || !Number.isFinite(modifiedAt)) continue;
    const manifest = await readStoredManifest(store, key);
    if (manifest === null) continue;
    entries.push({ id, manifest: key, createdAt: manifest.createdAt, publishedAt: new Date(modifiedAt).toISOString() });
  }
  return entries.sort((a, b) => Date.parse(a.createdAt) - Date.parse(b.createdAt));
}

// Returns null if nothing changes.
function withoutExpired(pointer: Pointer, keep: Keep, now: number, by: string): Pointer | null {
  const gone = new Set(chooseExpired(agesOf(pointer), pointer.manifest, keep, now, STORE_GRACE_MS));
  // A time further ahead than any publisher writes is ignored, because it would stop deletion for good.
  const until = pointer.sweep === null ? 0 : Date.parse(pointer.sweep.until);
  const isTaken = until > now && until <= now + SWEEP_MS + HOURS_AHEAD_MAX * HOUR_MS;
  const sweeps = !isTaken && dueOf(pointer, now).length > 0;
  if (gone.size === 0 && !sweeps) return null;
  const since = new Date(now).toISOString();
  const expired = pointer.snapshots.filter(({ manifest }) => gone.has(manifest));
  return {
    ...pointer,
    snapshots: pointer.snapshots.filter(({ manifest }) => !gone.has(manifest)),
    leaving: [...pointer.leaving, ...expired.map(({ id, manifest }) => ({ id, manifest, since }))],
    sweep: sweeps ? { by, until: new Date(now + SWEEP_MS).toISOString() } : pointer.sweep,
  };
}

function dueOf({ leaving }: Pointer, now: number): Pointer['leaving'] {
  return leaving.filter(({ since }) => Date.parse(since) + STORE_GRACE_MS <= now);
}

// Returns the changed pointer; null if there is no pointer or nothing changes.
async function change(
  store: ObjectStore,
  { clock, signal }: StoreRetentionOptions,
  to: (pointer: Pointer) => Pointer | null,
): Promise<Pointer | null> {
  for (let attempt = 0; attempt < CHANGES_MAX; attempt++) {
    const found = await readPointer(store);
    const next = found === null ? null : to(found.pointer);
    if (found === null || next === null) return null;
    if (await store.replace(POINTER, toBody(next), found.version)) return next;
    await clock.sleep(clock.random() * PAUSE_MS, signal);
  }
  // Other processes are publishing and apply retention afterwards.
  return null;
}

// The pointer was just written, so its time is the store's current time.
async function hoursAheadOf(store: ObjectStore, now: number): Promise<number> {
  const there = await store.head(POINTER);
  return there === null || there.modifiedAt === 0 ? 0 : (now - there.modifiedAt) / HOUR_MS;
}

// Returns false if the time ran out before all objects were checked.
async function sweep(
  store: ObjectStore,
  pointer: Pointer,
  now: number,
  { clock, signal }: StoreRetentionOptions,
): Promise<boolean> {
  const begunAt = clock.monotonic();
  const due = new Set(dueOf(pointer, now).map(({ manifest }) => manifest));
  const named = new Set<string>();
  for (const { manifest } of [...pointer.snapshots, ...pointer.leaving]) {
    if (due.has(manifest)) continue;
    const read = await readStoredManifest(store, manifest);
    if (read === null) {
      const message = `nothing is deleted in ${store.location}: ${manifest}, which is kept, cannot be read`;
      throw new SightlineError('publish_failed', message);
    }
    named.add(manifest);
    for (const { path } of read.tables.flatMap((table) => table.files)) named.add(path);
  }
  // Manifests are deleted before the files that they name: after an interruption no manifest remains from which a lost
  // pointer could be rebuilt and whose files are missing.
  for (const prefix of [MANIFESTS, FILES]) {
    for await (const { key, modifiedAt } of store.list(prefix)) {
      if (!OURS.test(key) || named.has(key) || modifiedAt + STORE_GRACE_MS > now) continue;
      if (clock.monotonic() - begunAt > SWEEP_MS - SWEEP_MARGIN_MS) return false;
      signal.throwIfAborted();
      await store.remove(key);
    }
  }
  return true;
}
