import { randomUUID } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { SightlineError } from '../base/errors.ts';
import { catchUpDirectories, hintKey, parseNumbered } from './iceberg-directory.ts';
import { isSnapshotId } from './manifest.ts';
import type { ObjectStore } from './object-store.ts';
import { chooseExpired, type Keep } from './retention.ts';
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
  TABLES,
  toBody,
} from './store-pointer.ts';

/** So long one publisher deletes at most, while no other does; the next time it goes on. */
const SWEEP_MS = 15 * 60_000;
/** It stops before, by more than a request takes. */
const SWEEP_MARGIN_MS = 3 * 60_000;
/** A clock that is further ahead of the store's would find things old that were just written. */
const HOURS_AHEAD_MAX = 1;
const HOUR_MS = 3_600_000;
/** How often it is tried to change the pointer while others move it. */
const CHANGES_MAX = 10;
/** Up to this long is waited before the next trial. */
const PAUSE_MS = 500;
const OURS = new RegExp(
  [
    `^${FILES}.+[.]parquet$`,
    `^${TABLES}[^/]+/data/[^/]+[.]parquet$`,
    `^${TABLES}[^/]+/metadata/[^/]+[.]avro$`,
    `^${TABLES}[^/]+/catalog/[^/]+[.]metadata[.]json$`,
    `^${MANIFESTS}[^/]+[.]json$`,
  ].join('|'),
);

/** What retention is told. */
export interface StoreRetentionOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Takes the snapshots that are not to be kept out of the pointer, and a day later deletes what no manifest names that is still
 * in it; gives the ids of those whose files went. What was written within that day stays, whoever wrote it. Where one
 * manifest cannot be read, or this machine's clock is ahead of the store's, nothing is deleted, and that is thrown.
 */
export async function retainStored(
  store: ObjectStore,
  keep: Keep,
  now: number,
  options: StoreRetentionOptions,
): Promise<string[]> {
  // Folder readers must not be left with a snapshot whose files are deleted.
  await catchUpDirectories(store, options).catch((thrown: unknown) => {
    if (!(thrown instanceof SightlineError) || thrown.code !== 'publish_failed') throw thrown;
    const message = `nothing is deleted in ${store.location}: ${thrown.message}`;
    throw new SightlineError('publish_failed', message, { cause: thrown });
  });
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
    // By that clock others would be kept from deleting for as long.
    await end([]);
    const what = `this machine's clock is ${Math.round(hoursAhead)} hours ahead of the store's`;
    throw new SightlineError('publish_failed', `nothing is deleted in ${store.location}: ${what}`);
  }
  const isWhole = await sweep(store, claimed, now, options);
  await end(isWhole ? due : []);
  return isWhole ? due.map(({ id }) => id) : [];
}

/** Every manifest that is in the store, oldest first; for a store whose pointer is missing, and for nothing else. */
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

// Null for no change.
function withoutExpired(pointer: Pointer, keep: Keep, now: number, by: string): Pointer | null {
  const gone = new Set(chooseExpired(agesOf(pointer), pointer.manifest, keep, now, STORE_GRACE_MS));
  // A time further ahead than any publisher writes is not believed: it would stop deletion for good.
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

// Gives what the pointer is after the change; null where there is none, or nothing was to be changed.
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
  // Others are publishing, and do the same after it.
  return null;
}

// The pointer was written just now, by the store's clock.
async function hoursAheadOf(store: ObjectStore, now: number): Promise<number> {
  const there = await store.head(POINTER);
  return there === null || there.modifiedAt === 0 ? 0 : (now - there.modifiedAt) / HOUR_MS;
}

// Whether all was gone through before the time was over.
async function sweep(
  store: ObjectStore,
  pointer: Pointer,
  now: number,
  { clock, signal }: StoreRetentionOptions,
): Promise<boolean> {
  const begunAt = clock.monotonic();
  const due = new Set(dueOf(pointer, now).map(({ manifest }) => manifest));
  const named = new Set<string>();
  const tables = new Set<string>();
  for (const { manifest } of [...pointer.snapshots, ...pointer.leaving]) {
    if (due.has(manifest)) continue;
    const read = await readStoredManifest(store, manifest);
    if (read === null) {
      const message = `nothing is deleted in ${store.location}: ${manifest}, which is kept, cannot be read`;
      throw new SightlineError('publish_failed', message);
    }
    named.add(manifest);
    for (const { path } of read.tables.flatMap((table) => table.files)) named.add(path);
    for (const { name } of read.tables) tables.add(name);
  }
  // Manifests before the files that they name: where this is stopped, none is left that a lost pointer could be made of and
  // whose files are gone.
  const numbered: Numbered[] = [];
  const isOutOfTime = (): boolean => clock.monotonic() - begunAt > SWEEP_MS - SWEEP_MARGIN_MS;
  const remove = async (key: string): Promise<void> => {
    signal.throwIfAborted();
    await store.remove(key);
  };
  for (const prefix of [MANIFESTS, TABLES, FILES]) {
    for await (const { key, modifiedAt } of store.list(prefix)) {
      const parsed = parseNumbered(key);
      if (parsed !== null) numbered.push({ ...parsed, key, modifiedAt });
      if (!OURS.test(key) || named.has(key) || modifiedAt + STORE_GRACE_MS > now) continue;
      if (isOutOfTime()) return false;
      await remove(key);
    }
  }
  for (const key of expiredNumbers(numbered, tables, now)) {
    if (named.has(key)) continue;
    if (isOutOfTime()) return false;
    await remove(key);
  }
  return true;
}

interface Numbered {
  readonly table: string;
  readonly number: number;
  readonly key: string;
  readonly modifiedAt: number;
}

// The highest number of a table stays as long as the table does; a lower one goes a day after the next one was written.
function expiredNumbers(numbered: readonly Numbered[], tables: ReadonlySet<string>, now: number): string[] {
  const expired: string[] = [];
  const next = new Map<string, Numbered>();
  for (const file of [...numbered].sort((a, b) => b.number - a.number)) {
    const after = next.get(file.table);
    next.set(file.table, file);
    const isGone = !tables.has(file.table);
    if (isGone && after === undefined && file.modifiedAt + STORE_GRACE_MS <= now) expired.push(hintKey(file.table));
    const supersededAt = isGone ? file.modifiedAt : (after?.modifiedAt ?? Number.POSITIVE_INFINITY);
    if (supersededAt + STORE_GRACE_MS <= now) expired.push(file.key);
  }
  return expired;
}
