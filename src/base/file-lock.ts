import { randomUUID } from 'node:crypto';
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { SightlineError } from './errors.ts';
import { isAlive } from './process-alive.ts';

/** How long a change waits for the lock of another process. */
const LOCK_WAIT_MS = 5_000;
const LOCK_POLL_MS = 15;
const LOCK_STALE_MS = 30_000;

/** An acquired lock. */
export interface Lock {
  isHeld(): Promise<boolean>;
  release(): Promise<void>;
}

/**
 * Acquires a lock between processes for a short operation.
 *
 * @throws SightlineError `warehouse_locked` if another process keeps the lock for 5 seconds
 */
export async function takeLock(path: string, work: string): Promise<Lock> {
  const mine = JSON.stringify({ pid: process.pid, token: randomUUID(), atMs: Date.now() });
  const isHeld = async (): Promise<boolean> => (await textOf(path)) === mine;
  const release = async (): Promise<void> => {
    if (await isHeld()) await rm(path, { force: true });
  };
  for (let waitedMs = 0; waitedMs <= LOCK_WAIT_MS; waitedMs += LOCK_POLL_MS) {
    if (await createExclusively(path, mine)) return { isHeld, release };
    const theirs = await textOf(path);
    if (theirs !== null && isStale(theirs)) await breakLock(path, theirs);
    else await delay(LOCK_POLL_MS);
  }
  throw locked(`another process ${work} and has locked ${path}; try again`);
}

// Creates the lock with link(2), so that a lock file always contains its owner.
async function createExclusively(path: string, text: string): Promise<boolean> {
  const aside = `${path}.${randomUUID()}`;
  await writeFile(aside, text, { mode: 0o600 });
  try {
    await link(aside, path);
    return true;
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw thrown;
  } finally {
    await rm(aside, { force: true });
  }
}

// Removes a stale lock by rename, so that only one process does it. If the lock has changed meanwhile, it is put back.
async function breakLock(path: string, seen: string): Promise<void> {
  const aside = `${path}.${randomUUID()}`;
  try {
    await rename(path, aside);
  } catch {
    return;
  }
  const taken = await textOf(aside);
  if (taken !== null && taken !== seen) await createExclusively(path, taken);
  await rm(aside, { force: true });
}

function isStale(text: string): boolean {
  let held: { pid?: unknown; atMs?: unknown };
  try {
    held = JSON.parse(text) as typeof held;
  } catch {
    return true;
  }
  if (Date.now() - Number(held.atMs) > LOCK_STALE_MS) return true;
  return !isAlive(Number(held.pid));
}

async function textOf(path: string): Promise<string | null> {
  return readFile(path, 'utf8').catch(() => null);
}

function locked(message: string): SightlineError {
  return new SightlineError('warehouse_locked', message);
}
