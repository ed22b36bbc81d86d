import { z } from 'zod';
import { SightlineError } from '../base/errors.ts';
import { isRecord } from '../base/json.ts';
import { type Manifest, toManifest } from './manifest.ts';
import type { ObjectStore } from './object-store.ts';
import type { Aged } from './retention.ts';

/** The one object whose content changes: who wants the newest snapshot reads it. */
export const POINTER = 'latest.json';
/** Where manifests lie, and the files that they name. */
export const MANIFESTS = 'manifests/';
export const FILES = 'files/';
/** Where Iceberg tables lie, each in a folder of its name. */
export const TABLES = 'tables/';

/** How long a snapshot stays after it was the latest, and its files after no snapshot that is kept names them. */
export const STORE_GRACE_MS = 24 * 3_600_000;
/** A publisher relies on nothing that it saw longer ago, so that what it relies on is not deleted meanwhile. */
export const TRUST_MS = STORE_GRACE_MS / 2;

/** A pointer whose data are of later than this, by the publisher's clock, is not newer: its time is wrong. */
const AHEAD_MAX_MS = 24 * 3_600_000;
/** As of homes (home-record.ts): a larger epoch could not be raised exactly. */
const EPOCH_MAX = 2 ** 40;

const time = z.string().refine(isTime, 'is not a time');
const manifestKey = z.string().regex(/^manifests\/[\w.-]{1,200}\.json$/, 'is not the key of a manifest');
const lead = { id: z.string().min(1), manifest: manifestKey, createdAt: time, publishedAt: time };
const pointerSchema = z.looseObject({
  format: z.literal(1),
  ...lead,
  snapshots: z.array(z.looseObject({ ...lead, supersededAt: time.nullable() })),
  leaving: z.array(z.looseObject({ id: z.string(), manifest: manifestKey, since: time })),
  sweep: z.looseObject({ by: z.string(), until: time }).nullable().default(null),
  fence: z.int().min(0).max(EPOCH_MAX).optional(),
  numbered: z.string().optional(),
  before: z.string().optional(),
});

/** A snapshot, as the pointer knows it; times are ISO 8601. */
export interface PointerEntry {
  readonly id: string;
  /** Key of its manifest, beside the pointer. */
  readonly manifest: string;
  readonly createdAt: string;
  readonly publishedAt: string;
  /** Since when another is the latest; null while none is. */
  readonly supersededAt: string | null;
}

/** What `latest.json` holds. */
export interface Pointer {
  readonly format: 1;
  /** The newest snapshot. */
  readonly id: string;
  readonly createdAt: string;
  readonly publishedAt: string;
  readonly manifest: string;
  /** All that are kept, that one among them. */
  readonly snapshots: readonly PointerEntry[];
  /** Those that are kept no longer, whose files stay for a while. */
  readonly leaving: readonly { readonly id: string; readonly manifest: string; readonly since: string }[];
  /** Who deletes files now, and until when nobody else does. */
  readonly sweep: { readonly by: string; readonly until: string } | null;
  /** The epoch of the home whose holder alone may move the pointer; there only where the home is not a folder. */
  readonly fence?: number;
  /** The manifest whose Iceberg tables were last copied to numbered metadata, all of them (src/snapshot/iceberg-directory.ts). */
  readonly numbered?: string;
  /** The manifest that it led to before. */
  readonly before?: string;
}

/** The pointer as it was read, with its version. */
export interface ReadPointer {
  readonly pointer: Pointer;
  readonly version: string;
}

/** Reads the pointer; null where nothing was published. Throws `publish_failed` for what is no pointer of ours. */
export async function readPointer(store: ObjectStore): Promise<ReadPointer | null> {
  const found = await store.read(POINTER);
  if (found === null) return null;
  const pointer = toPointer(found.body.toString());
  if (typeof pointer === 'string') {
    const what = isLater(found.body.toString())
      ? 'was written by a later version of sightline, and is not replaced; install that version'
      : `is not what sightline writes, and is not replaced (${pointer}); put an earlier version of it back, or choose another prefix`;
    throw new SightlineError('publish_failed', `${store.location}${POINTER} ${what}`);
  }
  return { pointer, version: found.version };
}

/** Reads a manifest of the store; null if there is none that can be read, or one that names files outside of its place. */
export async function readStoredManifest(store: ObjectStore, key: string): Promise<Manifest | null> {
  const found = await store.read(key);
  const manifest = found === null ? null : toManifest(found.body.toString());
  const isPlain = manifest?.tables.every(
    ({ files }) => Array.isArray(files) && files.every((file) => isOwnKey(file?.path)),
  );
  return isPlain === true ? manifest : null;
}

function isOwnKey(key: unknown): boolean {
  if (typeof key !== 'string' || !(key.startsWith(FILES) || key.startsWith(TABLES))) return false;
  return !key.split('/').some((part) => part === '' || part === '.' || part === '..');
}

/** The bytes of a pointer, or of a manifest. */
export function toBody(value: object): Buffer {
  return Buffer.from(`${JSON.stringify(value, null, 2)}\n`);
}

/**
 * The pointer with one snapshot more. It leads there where that is newer than where it led; otherwise the snapshot is only
 * among those that are kept, as one that was superseded at once. `now` is epoch milliseconds.
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
  return { ...pointer, ...lead, before: pointer.manifest, snapshots };
}

/** Whether a snapshot's data were read after another's; of those of one moment the name decides. */
function isNewer(a: Pick<Pointer, 'createdAt' | 'manifest'>, b: Pick<Pointer, 'createdAt' | 'manifest'>): boolean {
  const difference = Date.parse(a.createdAt) - Date.parse(b.createdAt);
  return difference === 0 ? a.manifest > b.manifest : difference > 0;
}

/** The snapshots of a pointer as retention looks at them, named by their manifests: two may have one id. */
export function agesOf(pointer: Pointer): Aged[] {
  return pointer.snapshots.map(({ manifest, createdAt, supersededAt }) => {
    const at = supersededAt === null ? null : Date.parse(supersededAt);
    return { id: manifest, createdAt: Date.parse(createdAt), supersededAt: at };
  });
}

/** Whether a publisher may still rely on files that a manifest names; `now` is epoch milliseconds. */
export function isReliable({ snapshots, leaving }: Pointer, manifest: string, now: number): boolean {
  if (snapshots.some((entry) => entry.manifest === manifest)) return true;
  return leaving.some((entry) => entry.manifest === manifest && Date.parse(entry.since) + TRUST_MS > now);
}

// What is wrong with it, in words, for what is none.
function toPointer(text: string): Pointer | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return 'it is not JSON';
  }
  const parsed = pointerSchema.safeParse(value);
  if (parsed.success) return parsed.data as unknown as Pointer;
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
