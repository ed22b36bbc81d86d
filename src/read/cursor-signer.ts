import { createHmac, timingSafeEqual } from 'node:crypto';
import { ParameterError } from '../contract/query-parameters.ts';

/** Length of the signature: 128 bits, which cannot be guessed at 120 requests a minute. */
const SIGNATURE_BYTES = 16;

/** The position at which a page ended, and the range resolved for the first page. */
export interface Position {
  /** Value of the ordering column, as text; null if the row has none. */
  readonly at: string | null;
  readonly id: string;
  readonly from: string;
  readonly to: string;
}

/** Writes and verifies cursors signed by this workspace. */
export interface CursorSigner {
  /** Identifies the secret without revealing it. */
  readonly id: string;
  /** Returns an opaque cursor. `bindingOf` returns everything that must stay the same from page to page. */
  write(position: Position, bindingOf: (range: { from: string; to: string }) => string): string;
  /**
   * Returns the position in a cursor.
   *
   * @throws ParameterError if the cursor is malformed, forged or belongs to another request
   */
  read(cursor: string, bindingOf: (range: { from: string; to: string }) => string): Position;
}

/** Creates a signer that uses HMAC-SHA256 with the workspace's secret. */
export function createCursorSigner(secret: Uint8Array): CursorSigner {
  const sign = (payload: string, binding: string): Buffer =>
    createHmac('sha256', secret).update(`${binding}\n${payload}`).digest().subarray(0, SIGNATURE_BYTES);
  return {
    id: createHmac('sha256', secret).update('id').digest('hex').slice(0, 32),
    write: (position, bindingOf) => {
      const { at, id, from, to } = position;
      const payload = JSON.stringify([at, id, from, to]);
      return Buffer.concat([sign(payload, bindingOf(position)), Buffer.from(payload)]).toString('base64url');
    },
    read: (cursor, bindingOf) => {
      const bytes = Buffer.from(cursor, 'base64url');
      const [signature, rest] = [bytes.subarray(0, SIGNATURE_BYTES), bytes.subarray(SIGNATURE_BYTES)];
      const payload = rest.toString('utf8');
      const position = parse(payload);
      // Decoding ignores invalid characters, so accept a cursor only if it encodes back to itself.
      const isWhole = bytes.toString('base64url') === cursor && signature.length === SIGNATURE_BYTES;
      if (position !== null && isWhole && timingSafeEqual(sign(payload, bindingOf(position)), signature))
        return position;
      const allowed = 'the nextCursor of the previous page, with all other parameters unchanged';
      throw new ParameterError('cursor', cursor, allowed);
    },
  };
}

// The payload is untrusted until its signature is verified.
function parse(payload: string): Position | null {
  try {
    const values: unknown = JSON.parse(payload);
    if (!Array.isArray(values) || values.length !== 4) return null;
    const [at, id, from, to] = values as unknown[];
    const isText = [id, from, to].every((value) => typeof value === 'string');
    if (!isText || !(at === null || typeof at === 'string')) return null;
    return { at, id, from, to } as Position;
  } catch {
    return null;
  }
}
