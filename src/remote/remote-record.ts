import { z } from 'zod';
import { SightlineError } from '../base/errors.ts';
import type { FileToSend, ObjectStore } from '../storage/object-store.ts';

/** Key of the record of a remote warehouse, its only object that changes. It is replaced by compare-and-swap. */
export const HOME = 'home.json';
/** Lifetime of a lease after its last renewal. */
export const LEASE_MS = 20_000;
/** Stores report their time in whole seconds. */
const ROUNDING_MS = 2_000;
/** Allowed difference between the clocks of two machines if the store does not report its time. */
const SKEW_MS = 30_000;
/** Maximum epoch: one check-out a second for 30,000 years. A larger number could not be incremented exactly. */
export const EPOCH_MAX = 2 ** 40;
/** Bytes of one file: 16 TB. */
const BYTES_MAX = 2 ** 44;
/** A journal ends after 10,000 pieces (journal.ts), and each check-out adds one segment. */
const PIECES_MAX = 100_000;
const SEGMENTS_MAX = 10_000;
const TEXT_MAX = 500;

const time = z
  .string()
  .max(TEXT_MAX)
  .refine((text) => !Number.isNaN(Date.parse(text)), 'is not a time');
const text = z
  .string()
  .max(TEXT_MAX)
  .regex(/^\P{Cc}*$/u, 'has control characters');
const stored = z.looseObject({
  key: z.string().regex(/^(base|files)\/[\w.-]{1,200}$/, 'is not a key of a remote warehouse'),
  bytes: z.int().min(0).max(BYTES_MAX),
  sha256: z.string().regex(/^[0-9a-f]{64}$/, 'is not a SHA-256'),
});
const base = stored.extend({ savedAt: time }).nullable();
const pieces = z.int().min(0).max(PIECES_MAX);
const recordSchema = z.looseObject({
  format: z.literal(1),
  epoch: z.int().min(0).max(EPOCH_MAX),
  claim: z.looseObject({ id: text, holder: text, via: text.nullable(), until: time }).nullable(),
  base,
  checkedIn: base,
  // The path is written to, so it must stay inside the folder.
  files: z.array(stored.extend({ path: z.string().refine(isInnerPath, 'leads out of the folder') })),
  journal: z
    .array(z.looseObject({ prefix: z.string().regex(/^journal\/[\w-]{1,100}\/$/), pieces: pieces.nullable() }))
    .max(SEGMENTS_MAX),
  journalPieces: z.int().min(0),
  former: z.array(z.looseObject({ key: stored.shape.key, since: time })),
  sweptAt: time,
});

/** A file in the store. Its key is never used for another file. */
export interface StoredFile extends Pick<FileToSend, 'bytes' | 'sha256'> {
  readonly key: string;
}

/** A saved warehouse file; `savedAt` is ISO 8601. */
export interface StoredBase extends StoredFile {
  readonly savedAt: string;
}

/** Another file of the workspace's folder; `path` is relative to the folder. */
export interface StoredPath extends StoredFile {
  readonly path: string;
}

/** Pieces of a journal under one prefix, numbered from 1. `pieces` is null while the writer still adds some. */
export interface Segment {
  readonly prefix: string;
  readonly pieces: number | null;
}

/** Content of `home.json`. */
export interface RemoteRecord {
  readonly format: 1;
  readonly epoch: number;
  /** The lease; null if it is free. */
  readonly claim: {
    readonly id: string;
    readonly holder: string;
    readonly via: string | null;
    readonly until: string;
  } | null;
  /** The warehouse file to which the journal applies. */
  readonly base: StoredBase | null;
  /** The warehouse file for readers. A base that was saved between two steps of a job is not for them. */
  readonly checkedIn: StoredBase | null;
  readonly files: readonly StoredPath[];
  readonly journal: readonly Segment[];
  /** Number of pieces in the journal at the last renewal of the lease. */
  readonly journalPieces: number;
  /** Earlier files for readers, and since when they are superseded. They stay for a while. */
  readonly former: readonly { readonly key: string; readonly since: string }[];
  /** Time of the last search for leftovers of killed processes. */
  readonly sweptAt: string;
}

/** A record with its version and its age by the store's clock; null if the store does not report its time. */
export interface ReadRemote {
  readonly record: RemoteRecord;
  readonly version: string;
  readonly modifiedAt: number | null;
  readonly ageMs: number | null;
}

/** Returns the record of an unused remote warehouse; `now` is epoch milliseconds. */
export function firstRecord(now: number): RemoteRecord {
  const nothing = { claim: null, base: null, checkedIn: null, files: [], journal: [], journalPieces: 0, former: [] };
  return { format: 1, epoch: 0, ...nothing, sweptAt: new Date(now).toISOString() };
}

/**
 * Reads the record; null if there is none.
 * @throws `remote_failed` if the object is not a valid record
 */
export async function readRemote(store: ObjectStore): Promise<ReadRemote | null> {
  const found = await store.read(HOME);
  if (found === null) return null;
  const { body, version, modifiedAt, readAt } = found;
  const record = toRecord(store.location + HOME, body.toString());
  const ageMs = modifiedAt === null || readAt === null ? null : readAt - modifiedAt;
  return { record, version, modifiedAt, ageMs };
}

/** Serializes a record. */
export function toRemoteBody(record: RemoteRecord): Buffer {
  return Buffer.from(`${JSON.stringify(record, null, 1)}\n`);
}

/** Reports whether the lease is free for a process that works for the task `via`; `now` is epoch milliseconds. */
export function isFree(
  { record: { claim }, modifiedAt, ageMs }: ReadRemote,
  via: string | null,
  now: number,
  leaseMs: number,
): boolean {
  if (claim === null || (via !== null && claim.via === via)) return true;
  if (ageMs !== null) return ageMs > leaseMs + ROUNDING_MS;
  const renewedAt = modifiedAt ?? Date.parse(claim.until) - leaseMs;
  return now - renewedAt > leaseMs + SKEW_MS;
}

function toRecord(location: string, body: string): RemoteRecord {
  const refuse = (why: string): SightlineError => {
    const message = `${location} is not a record of this version of sightline and is not replaced: ${why}; restore an earlier version of that object`;
    return new SightlineError('remote_failed', message);
  };
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    throw refuse('it is not JSON');
  }
  const parsed = recordSchema.safeParse(value);
  if (parsed.success) return parsed.data as RemoteRecord;
  const [issue] = parsed.error.issues;
  throw refuse(`${issue?.path.join('.') || 'it'}: ${issue?.message ?? 'unknown'}`);
}

/** Reports whether a path of a record or a journal stays inside the folder that it is relative to. */
export function isInnerPath(path: unknown): path is string {
  return typeof path === 'string' && /^[\w.-]+(\/[\w.-]+)*$/.test(path) && !/(^|\/)\.\.?(\/|$)/.test(path);
}
