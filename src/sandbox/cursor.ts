import { createHash } from 'node:crypto';
import { invalidParameter, type Place } from './fixture.ts';

/** Contents of a cursor: the position of the next page, and the range resolved for the first page. */
export interface Bookmark {
  readonly place: Place;
  readonly from: string;
  readonly to: string;
  readonly issuedAtMs: number;
}

const FORM = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]{16})$/;

/** Writes an opaque cursor that is valid only for the same list and parameters (`binding`). */
export function writeCursor(bookmark: Bookmark, binding: string): string {
  const { place, from, to, issuedAtMs } = bookmark;
  const text = JSON.stringify([place.atMs, place.id, from, to, issuedAtMs]);
  return Buffer.from(`${Buffer.from(text).toString('base64url')}.${seal(text, binding)}`).toString('base64url');
}

/**
 * Reads a cursor.
 *
 * @throws Refusal `invalid_parameter` if the cursor is malformed, belongs to other parameters, or is older than
 * `lifetimeMs`
 */
export function readCursor(cursor: string, binding: string, nowMs: number, lifetimeMs: number): Bookmark {
  const refuse = (allowed: string): never => {
    throw invalidParameter('cursor', cursor, allowed);
  };
  const bytes = Buffer.from(cursor, 'base64url');
  // Decoding ignores invalid characters, so accept a cursor only if it encodes back to itself.
  const match = bytes.toString('base64url') === cursor ? FORM.exec(bytes.toString('latin1')) : null;
  const text = Buffer.from(match?.[1] ?? '', 'base64url').toString('utf8');
  if (match?.[2] !== seal(text, binding)) {
    return refuse('the nextCursor of the previous page, with all other parameters unchanged');
  }
  const [atMs, id, from, to, issuedAtMs] = JSON.parse(text) as [number, string, string, string, number];
  if (nowMs - issuedAtMs > lifetimeMs) return refuse(`not older than ${Math.round(lifetimeMs / 60_000)} minutes`);
  return { place: { atMs, id }, from, to, issuedAtMs };
}

function seal(text: string, binding: string): string {
  return createHash('sha256').update(`${binding}\n${text}`).digest('base64url').slice(0, 16);
}
