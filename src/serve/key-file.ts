import { randomBytes, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { link, open, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { SightlineError } from '../base/errors.ts';
import { ensureWritableFolder, publishByRename } from '../base/files.ts';

/** How long a change waits for the lock of another process. */
const LOCK_WAIT_MS = 5_000;
const LOCK_POLL_MS = 15;
/**
 * A change takes milliseconds. A lock of this age belongs to a dead process, even if its process id is in use again.
 */
const LOCK_STALE_MS = 30_000;

const secretBytes = 32;
const base64url256 = z.string().regex(/^[A-Za-z0-9_-]{43}$/);
const keySchema = z.strictObject({
  id: z.guid(),
  name: z.string().min(1),
  prefix: z.string(),
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  createdAt: z.iso.datetime(),
  expiresAt: z.iso.datetime().nullable(),
});
const fileSchema = z.strictObject({
  version: z.literal(1),
  cursorSecret: base64url256,
  keys: z.array(keySchema),
});

/** Contents of the key file. Keys are stored only as hashes. */
export type KeyFile = z.infer<typeof fileSchema>;

/** A stored key: its SHA-256 in hex, never its text. */
export type StoredKey = KeyFile['keys'][number];

/** Returns the path of a workspace's key file. */
export function keyFilePath(folder: string): string {
  return join(folder, 'keys.json');
}

/**
 * Reads a workspace's key file; null if it does not exist.
 *
 * @throws SightlineError `config_invalid` if the file is damaged or cannot be read
 */
export function readKeyFile(folder: string): KeyFile | null {
  const path = keyFilePath(folder);
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw new SightlineError('config_invalid', `cannot read ${path} (${code})`, { cause: thrown });
  }
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw damaged(path, 'it is not JSON');
  }
  const parsed = fileSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw damaged(path, `${issue?.path.join('.') || 'its content'} is invalid`);
}

/**
 * Changes a workspace's keys atomically across processes: `after` replaces the file by rename, and null leaves it
 * unchanged.
 *
 * @throws SightlineError `warehouse_locked` if another process keeps the lock; also whatever `change` throws
 */
export async function changeKeyFile<T>(
  folder: string,
  change: (before: KeyFile) => { readonly after: KeyFile | null; readonly result: T },
): Promise<T> {
  await ensureWritableFolder(folder);
  const lock = await takeLock(`${keyFilePath(folder)}.lock`);
  try {
    const before = readKeyFile(folder);
    const { after, result } = change(before ?? emptyFile());
    if (after !== null) await write(folder, after, lock);
    return result;
  } finally {
    await lock.release();
  }
}

function emptyFile(): KeyFile {
  return { version: 1, cursorSecret: randomBytes(secretBytes).toString('base64url'), keys: [] };
}

async function write(folder: string, content: KeyFile, lock: Lock): Promise<void> {
  const path = keyFilePath(folder);
  const aside = `${path}.${randomUUID()}`;
  try {
    const handle = await open(aside, 'wx', 0o600);
    try {
      await handle.writeFile(`${JSON.stringify(content, null, 2)}\n`);
      await handle.sync();
    } finally {
      await handle.close();
    }
    if (!(await lock.isHeld())) throw locked('another process took over the lock; try again');
    await publishByRename(aside, path);
  } catch (thrown) {
    await rm(aside, { force: true });
    throw thrown;
  }
}

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
export async function takeLock(path: string, work = 'is changing the keys'): Promise<Lock> {
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
  try {
    process.kill(Number(held.pid), 0);
    return false;
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

async function textOf(path: string): Promise<string | null> {
  return readFile(path, 'utf8').catch(() => null);
}

function locked(message: string): SightlineError {
  return new SightlineError('warehouse_locked', message);
}

function damaged(path: string, what: string): SightlineError {
  const advice = 'move it away, then create new keys with `sightline keys create NAME`';
  return new SightlineError('config_invalid', `${path} is damaged: ${what}; ${advice}`);
}
