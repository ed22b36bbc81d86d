import { z } from 'zod';
import { SightlineError } from '../base/errors.ts';
import type { FileToSend, ObjectStore } from './object-store.ts';

/** The one object of a home that changes, by compare-and-swap. */
export const HOME = 'home.json';
/** How long a claim holds after it was renewed last. */
export const CLAIM_MS = 20_000;
/** Stores tell their time in whole seconds. */
const ROUNDING_MS = 2_000;
/** Where a store does not tell its time the clocks of two machines may differ by so much. */
const SKEW_MS = 30_000;
/** Check-outs of a home, at most: one a second for 30,000 years. A larger epoch could not be raised exactly. */
export const EPOCH_MAX = 2 ** 40;
/** Bytes of one file: 16 TB. */
const BYTES_MAX = 2 ** 44;
/** A journal is ended after 10,000 pieces (journal.ts), and each check-out adds one segment. */
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
  key: z.string().regex(/^(base|files)\/[\w.-]{1,200}$/, 'is not a key of a home'),
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
  // A path is written to: it must not lead out of the folder.
  files: z.array(stored.extend({ path: z.string().refine(isInnerPath, 'leads out of the folder') })),
  journal: z
    .array(z.looseObject({ prefix: z.string().regex(/^journal\/[\w-]{1,100}\/$/), pieces: pieces.nullable() }))
    .max(SEGMENTS_MAX),
  journalPieces: z.int().min(0),
  former: z.array(z.looseObject({ key: stored.shape.key, since: time })),
  sweptAt: time,
});

/** A file that is in the store; nothing else is ever written under its key. */
export interface StoredFile extends Pick<FileToSend, 'bytes' | 'sha256'> {
  readonly key: string;
}

/** A warehouse file, and when it was saved, ISO 8601. */
export interface StoredBase extends StoredFile {
  readonly savedAt: string;
}

/** Another file of the workspace's folder; the path is relative to that. */
export interface StoredPath extends StoredFile {
  readonly path: string;
}

/** Pieces of a journal under one prefix, numbered from 1; null for as many as are there, which only its writer adds to. */
export interface Segment {
  readonly prefix: string;
  readonly pieces: number | null;
}

/** What `home.json` holds. */
export interface HomeRecord {
  readonly format: 1;
  readonly epoch: number;
  readonly claim: {
    readonly id: string;
    readonly holder: string;
    readonly via: string | null;
    readonly until: string;
  } | null;
  /** What the journal goes on from. */
  readonly base: StoredBase | null;
  /** What readers are given: a base between two steps of a job is not for them. */
  readonly checkedIn: StoredBase | null;
  readonly files: readonly StoredPath[];
  readonly journal: readonly Segment[];
  /** Pieces in the journal, as its writer told when it last renewed its claim. */
  readonly journalPieces: number;
  /** What readers were given before, and since when they are not: it stays for a while. */
  readonly former: readonly { readonly key: string; readonly since: string }[];
  /** When it was last looked for what killed processes had left. */
  readonly sweptAt: string;
}

/** The record as it was read, with its version and its age by the store's clock; null where that is not told. */
export interface ReadHome {
  readonly record: HomeRecord;
  readonly version: string;
  readonly modifiedAt: number | null;
  readonly ageMs: number | null;
}

/** The record of a home that was never used. */
export function firstRecord(now: number): HomeRecord {
  const nothing = { claim: null, base: null, checkedIn: null, files: [], journal: [], journalPieces: 0, former: [] };
  return { format: 1, epoch: 0, ...nothing, sweptAt: new Date(now).toISOString() };
}

/** Reads the record; null where there is none. Throws `home_failed` for what is no record of ours. */
export async function readHome(store: ObjectStore): Promise<ReadHome | null> {
  const found = await store.read(HOME);
  if (found === null) return null;
  const { body, version, modifiedAt, readAt } = found;
  const record = toRecord(store.location + HOME, body.toString());
  const ageMs = modifiedAt === null || readAt === null ? null : readAt - modifiedAt;
  return { record, version, modifiedAt, ageMs };
}

/** The bytes of a record. */
export function toHomeBody(record: HomeRecord): Buffer {
  return Buffer.from(`${JSON.stringify(record, null, 1)}\n`);
}

/** Whether somebody who comes on behalf of `via` may take the workspace; `now` is epoch milliseconds. */
export function isFree(
  { record: { claim }, modifiedAt, ageMs }: ReadHome,
  via: string | null,
  now: number,
  claimMs: number,
): boolean {
  if (claim === null || (via !== null && claim.via === via)) return true;
  if (ageMs !== null) return ageMs > claimMs + ROUNDING_MS;
  const renewedAt = modifiedAt ?? Date.parse(claim.until) - claimMs;
  return now - renewedAt > claimMs + SKEW_MS;
}

function toRecord(location: string, body: string): HomeRecord {
  const refuse = (why: string): SightlineError => {
    const message = `${location} is not what this version of sightline writes, and is not replaced: ${why}; put an earlier version of that object back`;
    return new SightlineError('home_failed', message);
  };
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    throw refuse('it is not JSON');
  }
  const parsed = recordSchema.safeParse(value);
  if (parsed.success) return parsed.data as HomeRecord;
  const [issue] = parsed.error.issues;
  throw refuse(`${issue?.path.join('.') || 'it'}: ${issue?.message ?? 'unknown'}`);
}

/** Whether a path of a record or of a journal stays within the folder that it is relative to. */
export function isInnerPath(path: unknown): path is string {
  return typeof path === 'string' && /^[\w.-]+(\/[\w.-]+)*$/.test(path) && !/(^|\/)\.\.?(\/|$)/.test(path);
}
