import { SightlineError } from '../base/errors.ts';
import { isRecord } from '../base/json.ts';
import type { FileToSend, ObjectStore } from './object-store.ts';

/** The one object of a home that changes, by compare-and-swap. */
export const HOME = 'home.json';
/** How long a claim holds after it was renewed last. */
export const CLAIM_MS = 20_000;
/** Stores tell their time in whole seconds. */
const ROUNDING_MS = 2_000;
/** Where a store does not tell its time the clocks of two machines may differ by so much. */
const SKEW_MS = 30_000;

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
  const record = toRecord(body.toString());
  if (record === null) {
    const message = `${store.location}${HOME} is not what this version of sightline writes, and is not replaced`;
    throw new SightlineError('home_failed', message);
  }
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

function toRecord(text: string): HomeRecord | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isRecord(value) || value['format'] !== 1 || !Number.isSafeInteger(value['epoch'])) return null;
  const { claim, base, checkedIn, files, journal, former } = value;
  if (claim !== null && !(isRecord(claim) && typeof claim['holder'] === 'string')) return null;
  if (![base, checkedIn].every((file) => file === null || isStored(file))) return null;
  if (![files, journal, former].every(Array.isArray) || !(files as unknown[]).every(isStoredPath)) return null;
  return value as unknown as HomeRecord;
}

function isStored(value: unknown): value is Record<string, unknown> {
  if (!isRecord(value)) return false;
  const { key, bytes, sha256 } = value;
  return typeof key === 'string' && Number.isSafeInteger(bytes) && typeof sha256 === 'string';
}

// A path is written to: it must not lead out of the folder.
function isStoredPath(value: unknown): boolean {
  return isStored(value) && isInnerPath(value['path']);
}

/** Whether a path of a record or of a journal stays within the folder that it is relative to. */
export function isInnerPath(path: unknown): path is string {
  return typeof path === 'string' && /^[\w.-]+(\/[\w.-]+)*$/.test(path) && !/(^|\/)\.\.?(\/|$)/.test(path);
}
