import { randomBytes, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { link, open, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { SightlineError } from '../base/errors.ts';
import { ensureWritableFolder, publishByRename } from '../base/files.ts';

/** How long a change waits for another process's. */
const LOCK_WAIT_MS = 5_000;
const LOCK_POLL_MS = 15;
/** A change takes milliseconds; a lock this old was left by a process that is gone, whoever has its id now. */
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

/** What the file of keys holds; a key itself is not among it. */
export type KeyFile = z.infer<typeof fileSchema>;

/** A key as it is stored: its SHA-256 in hex, never its text. */
export type StoredKey = KeyFile['keys'][number];

/** Where a workspace's keys are. */
export function keyFilePath(folder: string): string {
  return join(folder, 'keys.json');
}

/** Reads a workspace's keys; null where there is no file yet. Throws `config_invalid` when it is damaged. */
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
  throw damaged(path, `${issue?.path.join('.') || 'it'} is not what it should be`);
}

/**
 * Changes a workspace's keys as one step among processes: what `change` returns replaces the file by rename. `null`
 * leaves it as it is. Throws `warehouse_locked` when another process keeps the lock, and what `change` throws.
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
    if (!(await lock.isHeld())) throw locked('another process took over the lock');
    await publishByRename(aside, path);
  } catch (thrown) {
    await rm(aside, { force: true });
    throw thrown;
  }
}

/** A lock that is held. */
export interface Lock {
  isHeld(): Promise<boolean>;
  release(): Promise<void>;
}

/** Takes a lock among processes for a moment's work. Throws `warehouse_locked` when another keeps it for long. */
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
  throw locked(`another process ${work}, and holds ${path}`);
}

// Linked into place with its text, so that no lock is ever seen without its owner.
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

// Taken away by rename, so that of several who find it stale one does it; what turns out to be another's is put back.
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
  const advice = 'move it away, then make new keys with `sightline keys create NAME`';
  return new SightlineError('config_invalid', `${path} is damaged: ${what}; ${advice}`);
}
