import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import PQueue from 'p-queue';
import { SightlineError } from '../base/errors.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import { hashFile } from '../warehouse/file/hash-file.ts';
import type { StoredFile, StoredPath } from './remote-record.ts';

/** Files transferred at the same time. */
const FILES_AT_ONCE = 4;
const RECEIVING = '.receiving';
/** A file that is being received changes constantly; one unchanged for this long was left by a killed process. */
const LEFT_MS = 3_600_000;

/**
 * Files of a workspace's folder, besides the warehouse, that the remote warehouse keeps. Names are relative to the
 * folder.
 */
export interface KeptFiles {
  readonly files: readonly string[];
  /** Folders whose files are only appended to or removed. */
  readonly folders: readonly string[];
}

/** Reports whether a path, relative to the folder, belongs to a kept file. */
export function isKept({ files, folders }: KeptFiles, path: string): boolean {
  return files.includes(path) || folders.some((name) => path.startsWith(`${name}/`));
}

/** Lists the kept files that exist: sizes in bytes by path relative to the folder. */
export async function listKept(folder: string, kept: KeptFiles): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  const add = async (path: string): Promise<void> => {
    // The file may be removed meanwhile.
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
 * Uploads the kept files that are new or changed, each under a new key, and returns all kept files. A file that grows
 * meanwhile is uploaded as it was when it was copied.
 */
export async function sendKept(
  store: ObjectStore,
  folder: string,
  kept: KeptFiles,
  known: readonly StoredPath[],
  nextKey: (sha256: string) => string,
): Promise<StoredPath[]> {
  const found = [...(await listKept(folder, kept))];
  // An append-only file of the same length is unchanged. These files can have gigabytes, so they are not hashed each
  // time.
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

/** Makes the kept files of a folder equal to those of the remote warehouse. Downloads only files that differ. */
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
 * Downloads an object to a temporary file, verifies it and renames it to `path`. Does nothing if `path` is already
 * equal.
 * @throws `remote_failed` if the object is missing
 */
export async function bring(store: ObjectStore, { key, bytes, sha256 }: StoredFile, path: string): Promise<void> {
  const here = await stat(path).catch(() => null);
  if (here?.size === bytes && (await hashFile(path)) === sha256) return;
  await clearReceived(path);
  // Several processes of a machine may download the same file at the same time.
  const aside = `${path}.${randomUUID()}${RECEIVING}`;
  if (!(await store.receiveFile(key, { path: aside, bytes, sha256 }))) {
    throw new SightlineError('remote_failed', `${store.location}${key} is missing, although home.json names it`);
  }
  await rename(aside, path);
}

// Removes leftovers of killed processes.
async function clearReceived(path: string): Promise<void> {
  const folder = dirname(path);
  for (const name of await readdir(folder)) {
    if (!name.startsWith(`${basename(path)}.`) || !name.endsWith(RECEIVING)) continue;
    const left = await stat(join(folder, name)).catch(() => null);
    if (left !== null && left.mtimeMs + LEFT_MS < Date.now()) await rm(join(folder, name), { force: true });
  }
}

/**
 * Runs `work` for several items at a time. After an error, items that have not started are skipped and the others are
 * waited for.
 */
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
