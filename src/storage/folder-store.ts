import { createHash, randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { copyFile, link, mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, resolve, sep } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { SightlineError, toSightlineError } from '../base/errors.ts';
import { syncToDisk } from '../base/files.ts';
import { hashFile } from '../warehouse/file/hash-file.ts';
import type { ObjectStore } from './object-store.ts';

/** Suffix of files that are being written. */
const ASIDE = '.aside';
/** Suffix of the lock file that exists while an object is being replaced. */
const LOCK = '.lock';
/** A lock file older than this was left by a process that crashed. */
const LOCK_MS = 30_000;
const POLL_MS = 20;

/** Options of `openFolderStore`. */
export interface FolderStoreOptions {
  /** Subfolder of the path, such as a workspace's name. */
  readonly folder: string;
  readonly signal: AbortSignal;
}

/**
 * Opens a folder of a file system as an object store. An object is written completely or not at all. Conditional writes
 * are safe among all processes that see the folder, if its file system supports hard links.
 */
export function openFolderStore(path: string, { folder, signal }: FolderStoreOptions): ObjectStore {
  const root = resolve(path, folder);
  const pathOf = (key: string): string => join(root, key);
  const trying = async <T>(what: string, key: string, work: (path: string) => Promise<T>): Promise<T> => {
    signal.throwIfAborted();
    try {
      return await work(pathOf(key));
    } catch (thrown) {
      signal.throwIfAborted();
      const { message } = toSightlineError(thrown);
      throw new SightlineError('publish_failed', `${what} ${pathOf(key)} failed: ${message}`, { cause: thrown });
    }
  };
  return {
    location: `file://${root}/`,
    head: (key) =>
      trying('checking', key, (at) =>
        orNull(async () => {
          const { size, mtimeMs } = await stat(at);
          return { bytes: size, sha256: await hashFile(at), modifiedAt: mtimeMs };
        }),
      ),
    read: (key) =>
      trying('reading', key, (at) =>
        orNull(async () => {
          const body = await readFile(at);
          return { body, version: versionOf(body) };
        }),
      ),
    sendFile: (key, file) =>
      trying('writing', key, async (at) => {
        await placeAside(at, async (aside) => {
          await copyFile(file.path, aside, constants.COPYFILE_FICLONE);
          if ((await hashFile(aside)) !== file.sha256) throw new Error('its SHA-256 differs from the expected one');
          await syncToDisk(aside);
          await rename(aside, at);
        });
      }),
    create: (key, body) => trying('writing', key, (at) => createFile(at, body)),
    replace: (key, body, version) =>
      trying('writing', key, (at) =>
        whileLocked(at, signal, async () => {
          const now = await orNull(() => readFile(at));
          if (now === null || versionOf(now) !== version) return false;
          await placeAside(at, async (aside) => {
            await writeFile(aside, body);
            await syncToDisk(aside);
            await rename(aside, at);
          });
          return true;
        }),
      ),
    list: (prefix) => listBelow(root, prefix),
    remove: (key) =>
      trying('deleting', key, async (at) => {
        await rm(at, { force: true });
      }),
    close: () => undefined,
  };
}

async function placeAside(at: string, place: (aside: string) => Promise<void>): Promise<void> {
  await mkdir(dirname(at), { recursive: true });
  // Readers of the folder ignore this name.
  const aside = join(dirname(at), `.${randomUUID()}${ASIDE}`);
  try {
    await place(aside);
    await syncToDisk(dirname(at));
  } finally {
    await rm(aside, { force: true });
  }
}

// `link` fails if the target exists, and the linked file is already complete.
async function createFile(at: string, body: Buffer): Promise<boolean> {
  let isMade = true;
  await placeAside(at, async (aside) => {
    await writeFile(aside, body);
    await syncToDisk(aside);
    await link(aside, at).catch((thrown: NodeJS.ErrnoException) => {
      if (thrown.code !== 'EEXIST') throw thrown;
      isMade = false;
    });
  });
  return isMade;
}

// A file system has no compare-and-swap, so a lock file protects the comparison. A lock file older than LOCK_MS is left
// over from a crash.
async function whileLocked<T>(at: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const lock = at + LOCK;
  await mkdir(dirname(at), { recursive: true });
  for (;;) {
    signal.throwIfAborted();
    const handle = await open(lock, 'wx').catch((thrown: NodeJS.ErrnoException) => {
      if (thrown.code !== 'EEXIST') throw thrown;
      return null;
    });
    if (handle !== null) {
      await handle.close();
      try {
        return await work();
      } finally {
        await rm(lock, { force: true });
      }
    }
    const held = await orNull(() => stat(lock));
    if (held !== null && held.mtimeMs + LOCK_MS < Date.now()) await rm(lock, { force: true });
    else await delay(POLL_MS, undefined, { signal });
  }
}

async function* listBelow(root: string, prefix: string): AsyncGenerator<{ key: string; modifiedAt: number }> {
  const names = await orNull(() => readdir(join(root, prefix), { recursive: true }));
  for (const name of names ?? []) {
    const found = await orNull(() => stat(join(root, prefix, name)));
    if (found?.isFile()) yield { key: prefix + name.split(sep).join('/'), modifiedAt: found.mtimeMs };
  }
}

function versionOf(body: Buffer): string {
  return createHash('sha256').update(body).digest('hex');
}

async function orNull<T>(work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw thrown;
  }
}
