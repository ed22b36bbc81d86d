import { createHash } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { SightlineError, toSightlineError } from '../base/errors.ts';
import type { FileToSend, StoreUse } from './object-store.ts';
import { failureOf } from './s3-errors.ts';

/** Broken connections in a row, without a new byte, after which a download fails. */
const BREAKS_MAX = 5;
const PAUSE_MS = 200;

/** Options of `receiveFile`. */
export interface Receiving {
  /** Address of the object, for messages. */
  readonly location: string;
  readonly use: StoreUse;
  readonly signal: AbortSignal;
}

/**
 * Downloads an object to a new file and verifies its size and SHA-256. `ask` returns the bytes from an offset on, or
 * null if the object does not exist. A broken connection is resumed at its offset. The file is removed if anything
 * fails. Returns false if the object does not exist.
 */
export async function receiveFile(
  { path, bytes, sha256 }: FileToSend,
  { location, use, signal }: Receiving,
  ask: (from: number) => Promise<AsyncIterable<Uint8Array> | null>,
): Promise<boolean> {
  const hash = createHash('sha256');
  const handle = await open(path, 'wx');
  let received = 0;
  let isWhole = false;
  try {
    for (let breaks = 0; received < bytes || received === 0;) {
      const before = received;
      try {
        const body = await ask(received);
        if (body === null) return false;
        for await (const chunk of body) {
          hash.update(chunk);
          received += chunk.length;
          if (received > bytes) break;
          await handle.writeFile(chunk);
        }
        if (received >= bytes) break;
        if (received === before) breaks += 1;
      } catch (thrown) {
        signal.throwIfAborted();
        breaks = received > before ? 1 : breaks + 1;
        if (isOfThisMachine(thrown)) throw toSightlineError(thrown);
        // An error with a status is final. A broken connection has no status.
        if (failureOf(thrown).status !== undefined || breaks > BREAKS_MAX) throw thrown;
      }
      if (breaks > BREAKS_MAX) break;
      await delay(PAUSE_MS * breaks, undefined, { signal });
    }
    isWhole = received === bytes && hash.digest('hex') === sha256;
    if (!isWhole) {
      const message = `${location} is damaged: received ${received} of ${bytes} bytes, or its SHA-256 differs`;
      throw new SightlineError(use.code, message);
    }
    await handle.sync();
    return true;
  } finally {
    await handle.close();
    if (!isWhole) await rm(path, { force: true });
  }
}

// An error of the local disk, such as a full one, is not an error of the store.
function isOfThisMachine(thrown: unknown): boolean {
  return (thrown as NodeJS.ErrnoException).syscall === 'write';
}
