import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import PQueue from 'p-queue';
import { SightlineError } from '../base/errors.ts';
import type { StoredFile, StoredPath } from './home-record.ts';
import type { ObjectStore } from './object-store.ts';
import { hashFile } from './parquet.ts';

/** Files that are sent or received at once. */
const FILES_AT_ONCE = 4;
const RECEIVING = '.receiving';
/** A file that is being received is written to all the time: one as old as this was left. */
const LEFT_MS = 3_600_000;

/** What of a workspace's folder outlives whoever works on it, besides the warehouse; names relative to the folder. */
export interface KeptFiles {
  readonly files: readonly string[];
  /** Whose files are only ever appended to, or removed. */
  readonly folders: readonly string[];
}

/** Whether a path, relative to the folder, is of a file that is kept. */
export function isKept({ files, folders }: KeptFiles, path: string): boolean {
  return files.includes(path) || folders.some((name) => path.startsWith(`${name}/`));
}

/** The files that there are of those to be kept, by their paths relative to the folder, with their sizes in bytes. */
export async function listKept(folder: string, kept: KeptFiles): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  const add = async (path: string): Promise<void> => {
    // It may be removed at this moment.
    const stats = await stat(join(folder, path)).catch(() => null);
    if (stats?.isFile() === true) found.set(path, stats.size);
  };
  for (const name of kept.files) await add(name);
  for (const name of kept.folders) {
    if (!existsSync(join(folder, name))) continue;
    const entries = await readdir(join(folder, name), { recursive: true, withFileTypes: true });
    for (const entry of entries) {
      if (entry.isFile()) await add(join(entry.parentPath, entry.name).slice(folder.length + 1));
    }
  }
  return found;
}

/**
 * Sends those of the files that are not in the store as they are here, each under a key that was never used, and gives what
 * there is then. Of a file that grows meanwhile, what it was is sent.
 */
export async function sendKept(
  store: ObjectStore,
  folder: string,
  kept: KeptFiles,
  known: readonly StoredPath[],
  nextKey: (sha256: string) => string,
): Promise<StoredPath[]> {
  const found = [...(await listKept(folder, kept))];
  // What is only appended to and has its length is what it was: gigabytes of it need not be read each time.
  const sameLength = ([path, bytes]: readonly [string, number]): StoredPath | undefined => {
    const isAppended = kept.folders.some((name) => path.startsWith(`${name}/`));
    return isAppended ? known.find((file) => file.path === path && file.bytes === bytes) : undefined;
  };
  const unchanged = found.flatMap((file) => sameLength(file) ?? []);
  const paths = found.filter((file) => sameLength(file) === undefined).map(([path]) => path);
  const aside = await mkdtemp(join(folder, '.sending-'));
  const sent: StoredPath[] = [...unchanged];
  try {
    await atOnce(paths, async (path, index) => {
      const copy = join(aside, String(index));
      const isThere = await copyFile(join(folder, path), copy).then(
        () => true,
        (thrown: NodeJS.ErrnoException) => {
          if (thrown.code === 'ENOENT') return false;
          throw thrown;
        },
      );
      if (!isThere) return;
      const [sha256, { size: bytes }] = [await hashFile(copy), await stat(copy)];
      const same = known.find((file) => file.path === path && file.sha256 === sha256);
      const key = same?.key ?? nextKey(sha256);
      if (same === undefined) await store.sendFile(key, { path: copy, bytes, sha256 });
      await rm(copy, { force: true });
      sent.push({ path, key, bytes, sha256 });
    });
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
  return sent.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** Makes the kept files of a folder those of the home; what is here already as it is there is not asked for. */
export async function receiveKept(
  store: ObjectStore,
  folder: string,
  kept: KeptFiles,
  wanted: readonly StoredPath[],
): Promise<void> {
  const names = new Set(wanted.map(({ path }) => path));
  for (const path of (await listKept(folder, kept)).keys()) {
    if (!names.has(path)) await rm(join(folder, path), { force: true });
  }
  await atOnce(wanted, async (file) => {
    const path = join(folder, file.path);
    await mkdir(dirname(path), { recursive: true });
    await bring(store, file, path);
  });
}

/**
 * Makes a file what the store has under a key: received aside, checked and renamed, unless it is that already. Throws
 * `home_failed` where it is not there.
 */
export async function bring(store: ObjectStore, { key, bytes, sha256 }: StoredFile, path: string): Promise<void> {
  const here = await stat(path).catch(() => null);
  if (here?.size === bytes && (await hashFile(path)) === sha256) return;
  await clearReceived(path);
  // Several processes of a machine may bring the same at one time.
  const aside = `${path}.${randomUUID()}${RECEIVING}`;
  if (!(await store.receiveFile(key, { path: aside, bytes, sha256 }))) {
    throw new SightlineError('home_failed', `${store.location}${key} is missing, which the home names`);
  }
  await rename(aside, path);
}

// What processes left that were killed.
async function clearReceived(path: string): Promise<void> {
  const folder = dirname(path);
  for (const name of await readdir(folder)) {
    if (!name.startsWith(`${basename(path)}.`) || !name.endsWith(RECEIVING)) continue;
    const left = await stat(join(folder, name)).catch(() => null);
    if (left !== null && left.mtimeMs + LEFT_MS < Date.now()) await rm(join(folder, name), { force: true });
  }
}

/** Works on several things at once; when one fails those that were not begun are left out, and the others waited for. */
export async function atOnce<T>(items: readonly T[], work: (item: T, index: number) => Promise<void>): Promise<void> {
  const queue = new PQueue({ concurrency: FILES_AT_ONCE });
  try {
    await Promise.all(items.map((item, index) => queue.add(() => work(item, index))));
  } catch (thrown) {
    queue.clear();
    await queue.onIdle();
    throw thrown;
  }
}
