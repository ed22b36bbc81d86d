import { z } from 'zod';
import { SightlineError } from '../../base/errors.ts';
import { isRecord } from '../../base/json.ts';
import type { ValueOf } from '../../contract/operation/json-parts.ts';
import { type Manifest, toManifest } from '../snapshot/manifest.ts';
import type { Aged } from '../snapshot/retention.ts';
import type { ObjectStore } from '../storage/object-store.ts';

/** Key of the pointer, the only object whose content changes. It names the newest snapshot. */
export const POINTER = 'latest.json';
/** Prefixes of manifests and of the files that they name. */
export const MANIFESTS = 'manifests/';
export const FILES = 'files/';

/** Time for which a superseded snapshot stays, and for which files stay that no kept snapshot names. */
export const STORE_GRACE_MS = 24 * 3_600_000;
/** A publisher relies only on objects that it saw within this time, so that none of them is deleted meanwhile. */
export const TRUST_MS = STORE_GRACE_MS / 2;

/** A pointer whose data are further in the future than this has a wrong time and does not count as newer. */
const AHEAD_MAX_MS = 24 * 3_600_000;
/** A larger epoch could not be incremented exactly. */
const EPOCH_MAX = 2 ** 40;

const time = z.string().refine(isTime, 'is not a time');
const manifestKey = z.string().regex(/^manifests\/[\w.-]{1,200}\.json$/, 'is not the key of a manifest');
const lead = { id: z.string().min(1), manifest: manifestKey, createdAt: time, publishedAt: time };
const entry = z.object({ ...lead, supersededAt: time.nullable() });
const pointerSchema = z.object({
  format: z.literal(1),
  ...lead,
  /** All kept snapshots, including the newest. */
  snapshots: z.array(entry),
  /** Expired snapshots, whose files stay for a while. */
  leaving: z.array(z.object({ id: z.string(), manifest: manifestKey, since: time })),
  /** The publisher that deletes files now, and the time until which no other does. */
  sweep: z.object({ by: z.string(), until: time }).nullable().default(null),
  /** Fencing token: only a process with this epoch or a later one may move the pointer. Missing for a workspace without a home. */
  fence: z.int().min(0).max(EPOCH_MAX).optional(),
});

/** A snapshot in the pointer. */
export type PointerEntry = ValueOf<typeof entry>;
/** Content of `latest.json`. It keeps members that a later version added. */
export type Pointer = ValueOf<typeof pointerSchema>;

/** A pointer with its version in the store. */
export interface ReadPointer {
  readonly pointer: Pointer;
  readonly version: string;
}

/**
 * Reads the pointer; null if nothing was published.
 * @throws `publish_failed` if the object is not a valid pointer
 */
export async function readPointer(store: ObjectStore): Promise<ReadPointer | null> {
  const found = await store.read(POINTER);
  if (found === null) return null;
  const pointer = toPointer(found.body.toString());
  if (typeof pointer === 'string') {
    const what = isLater(found.body.toString())
      ? 'was written by a later version of sightline and is not replaced; install that version'
      : `is not a pointer of sightline and is not replaced (${pointer}); restore an earlier version of it, or choose another prefix`;
    throw new SightlineError('publish_failed', `${store.location}${POINTER} ${what}`);
  }
  return { pointer, version: found.version };
}

/** Reads a manifest of the store; null if it is missing or invalid, or names files outside `files/`. */
export async function readStoredManifest(store: ObjectStore, key: string): Promise<Manifest | null> {
  const found = await store.read(key);
  const manifest = found === null ? null : toManifest(found.body.toString());
  const isPlain = manifest?.tables.every(
    ({ files }) => Array.isArray(files) && files.every((file) => isOwnKey(file?.path)),
  );
  return isPlain === true ? manifest : null;
}

function isOwnKey(key: unknown): boolean {
  if (typeof key !== 'string' || !key.startsWith(FILES)) return false;
  return !key.split('/').some((part) => part === '' || part === '.' || part === '..');
}

/** Serializes a pointer or a manifest. */
export function toBody(value: object): Buffer {
  return Buffer.from(`${JSON.stringify(value, null, 2)}\n`);
}

/**
 * Returns the pointer with one more snapshot, which becomes the latest if it is newer than the current one. Otherwise
 * it is added as a snapshot that is already superseded. `now` is epoch milliseconds.
 */
export function withSnapshot(pointer: Pointer | null, entry: Omit<PointerEntry, 'supersededAt'>, now: number): Pointer {
  const { id, createdAt, publishedAt, manifest } = entry;
  const lead = { format: 1, id, createdAt, publishedAt, manifest } as const;
  if (pointer === null) return { ...lead, snapshots: [{ ...entry, supersededAt: null }], leaving: [], sweep: null };
  const at = new Date(now).toISOString();
  const isPlausible = Date.parse(pointer.createdAt) <= now + AHEAD_MAX_MS;
  if (isPlausible && isNewer(pointer, entry)) {
    return { ...pointer, snapshots: [...pointer.snapshots, { ...entry, supersededAt: at }] };
  }
  const superseded = pointer.snapshots.map((other) =>
    other.manifest === pointer.manifest ? { ...other, supersededAt: at } : other,
  );
  const snapshots = [...superseded, { ...entry, supersededAt: null }];
  return { ...pointer, ...lead, snapshots };
}

/** Reports whether `a` is newer than `b`. If their times are equal, the key of the manifest decides. */
function isNewer(a: Pick<Pointer, 'createdAt' | 'manifest'>, b: Pick<Pointer, 'createdAt' | 'manifest'>): boolean {
  const difference = Date.parse(a.createdAt) - Date.parse(b.createdAt);
  return difference === 0 ? a.manifest > b.manifest : difference > 0;
}

/**
 * Returns the ages of a pointer's snapshots for retention. They are identified by manifest, because two snapshots may
 * have the same id.
 */
export function agesOf(pointer: Pointer): Aged[] {
  return pointer.snapshots.map(({ manifest, createdAt, supersededAt }) => {
    const at = supersededAt === null ? null : Date.parse(supersededAt);
    return { id: manifest, createdAt: Date.parse(createdAt), supersededAt: at };
  });
}

/** Reports whether a publisher may still rely on the files of a manifest; `now` is epoch milliseconds. */
export function isReliable({ snapshots, leaving }: Pointer, manifest: string, now: number): boolean {
  if (snapshots.some((entry) => entry.manifest === manifest)) return true;
  return leaving.some((entry) => entry.manifest === manifest && Date.parse(entry.since) + TRUST_MS > now);
}

// Returns a description of the error if the text is not a valid pointer.
function toPointer(text: string): Pointer | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return 'it is not JSON';
  }
  const parsed = pointerSchema.safeParse(value);
  if (parsed.success) return { sweep: null, ...(value as object) } as Pointer;
  const [issue] = parsed.error.issues;
  return `${issue?.path.join('.') || 'it'}: ${issue?.message ?? 'unknown'}`;
}

function isLater(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) && typeof value['format'] === 'number' && value['format'] > 1 && isTime(value['createdAt']);
  } catch {
    return false;
  }
}

function isTime(value: unknown): boolean {
  return typeof value === 'string' && !Number.isNaN(Date.parse(value));
}
