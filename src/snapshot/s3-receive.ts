import { createHash } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { SightlineError, toSightlineError } from '../base/errors.ts';
import type { FileToSend, StoreUse } from './object-store.ts';
import { failureOf } from './s3-errors.ts';

/** How often a connection may break without one byte more having come. */
const BREAKS_MAX = 5;
const PAUSE_MS = 200;

/** What receiving is told of the object. */
export interface Receiving {
  /** Its address, for messages. */
  readonly location: string;
  readonly use: StoreUse;
  readonly signal: AbortSignal;
}

/**
 * Receives an object into a file that is not there yet. `ask` gives its bytes from an offset on, and null where there is no
 * such object; a connection that breaks is taken up where it did. Checks size and SHA-256, and removes what is not as it
 * should be. False where there is no such object.
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
    for (let breaks = 0; received < bytes || received === 0; ) {
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
        // What the store refuses it refuses again; what is cut off comes without a status.
        if (failureOf(thrown).status !== undefined || breaks > BREAKS_MAX) throw thrown;
      }
      if (breaks > BREAKS_MAX) break;
      await delay(PAUSE_MS * breaks, undefined, { signal });
    }
    isWhole = received === bytes && hash.digest('hex') === sha256;
    if (!isWhole) {
      const message = `${location} is not what was sent there: ${received} bytes of ${bytes}, or another SHA-256`;
      throw new SightlineError(use.code, message);
    }
    await handle.sync();
    return true;
  } finally {
    await handle.close();
    if (!isWhole) await rm(path, { force: true });
  }
}

// A disk that is full is not the store's fault.
function isOfThisMachine(thrown: unknown): boolean {
  return (thrown as NodeJS.ErrnoException).syscall === 'write';
}
