import { createHmac, timingSafeEqual } from 'node:crypto';
import { ParameterError } from '../contract/query.ts';

/** Bytes of the signature: 128 bits, which nobody guesses at 120 requests a minute. */
const SIGNATURE_BYTES = 16;

/** Where a page ended, and the range as it was resolved for the first page. */
export interface Position {
  /** Value of the column that orders the list, as text; null where the row has none. */
  readonly at: string | null;
  readonly id: string;
  readonly from: string;
  readonly to: string;
}

/** Writes and reads cursors that only this workspace can have made. */
export interface CursorSigner {
  /** An opaque cursor; `bindingOf` says of a range everything that must stay as it is from page to page. */
  write(position: Position, bindingOf: (range: { from: string; to: string }) => string): string;
  /** The position, or a ParameterError for a cursor that is garbled, forged or made for another request. */
  read(cursor: string, bindingOf: (range: { from: string; to: string }) => string): Position;
}

/** Signs with HMAC-SHA256 under the workspace's secret. */
export function createCursorSigner(secret: Uint8Array): CursorSigner {
  const sign = (payload: string, binding: string): Buffer =>
    createHmac('sha256', secret).update(`${binding}\n${payload}`).digest().subarray(0, SIGNATURE_BYTES);
  return {
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
      // Decoding skips characters that do not belong, so only a cursor that encodes back to itself is one of ours.
      const isWhole = bytes.toString('base64url') === cursor && signature.length === SIGNATURE_BYTES;
      if (position !== null && isWhole && timingSafeEqual(sign(payload, bindingOf(position)), signature))
        return position;
      const allowed = 'the nextCursor of the page before, with every other parameter as it was';
      throw new ParameterError('cursor', cursor, allowed);
    },
  };
}

// What comes in here may be anything; it counts only once its signature does.
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
