import { constants, copyFile, link, lstat, mkdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { syncToDisk } from '../../base/files.ts';
import { DAY_MS } from '../../contract/time.ts';
import type { Days } from '../../warehouse/file/copy-contents.ts';
import { hashFile } from '../../warehouse/file/hash-file.ts';
import { MANIFEST, readManifest, type SnapshotFile } from './manifest.ts';
import { filesByDay } from './parts.ts';

/** Days within which every reused file is read completely once. */
const CHECK_NIGHTS = 7;
/** Error codes of a file system that cannot create the hard link: unsupported, too many links, or another device. */
const NO_LINKS = new Set(['EPERM', 'EACCES', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EXDEV', 'EMLINK', 'EINVAL']);

/** The files of the previous snapshot that can be reused. */
export interface Previous {
  readonly id: string;
  /** Links the file with this fingerprint into `folder` and returns it; null if there is none or it is damaged. */
  reuse(partFolder: string, fingerprint: string, folder: string): Promise<SnapshotFile | null>;
  /**
   * Links the files of a table that have unchanged origins into `folder` and returns them. Omits later files of a month with
   * another file, because they may begin with another day now.
   */
  keep(table: string, originOf: (days: Days) => string | undefined, folder: string): Promise<SnapshotFile[]>;
}

/** Opens the snapshot at `path` so that its files can be reused; null if there is none. `now` is epoch milliseconds. */
export async function openPrevious(path: string, now: number): Promise<Previous | null> {
  const manifest = await readManifest(path);
  if (manifest === null) return null;
  const { mtimeMs: listedAt } = await stat(join(path, MANIFEST));
  const files = new Map(
    manifest.tables.flatMap((table) => table.files.map((file) => [`${dirname(file.path)} ${file.fingerprint}`, file])),
  );
  const isUsable = (file: SnapshotFile): Promise<boolean> => isSound(join(path, file.path), file, listedAt, now);
  const placeIn = async (folder: string, file: SnapshotFile): Promise<SnapshotFile | null> => {
    await mkdir(join(folder, dirname(file.path)), { recursive: true });
    return (await place(join(path, file.path), join(folder, file.path), file)) ? file : null;
  };
  const reuse: Previous['reuse'] = async (partFolder, fingerprint, folder) => {
    const file = files.get(`${partFolder} ${fingerprint}`);
    return file !== undefined && (await isUsable(file)) ? placeIn(folder, file) : null;
  };
  const keep: Previous['keep'] = async (table, originOf, folder) => {
    const listed = filesByDay(manifest.tables.find(({ name }) => name === table)?.files ?? []);
    const usable = await Promise.all(
      listed.map(async ({ file, days }) => {
        return file.origin !== undefined && file.origin === originOf(days) && (await isUsable(file));
      }),
    );
    const changed = new Set<string>();
    const unchanged = listed.filter(({ file }, index) => {
      if (usable[index] !== true) changed.add(dirname(file.path));
      return !changed.has(dirname(file.path));
    });
    const kept = await Promise.all(unchanged.map(({ file }) => placeIn(folder, file)));
    return kept.filter((file) => file !== null);
  };
  return { id: manifest.id, reuse, keep };
}

/**
 * Reports whether a file still matches the manifest. Size and modification time are checked each night. Hashing all
 * files each night would cost half as much as the nightly snapshot, so only a seventh of them is hashed, which finds
 * disk errors within a week, and every file that was modified since it was listed.
 */
async function isSound(path: string, file: SnapshotFile, listedAt: number, now: number): Promise<boolean> {
  const found = await lstat(path).catch(() => null);
  if (found === null || !found.isFile() || found.size !== file.bytes) return false;
  return (!isTurnOf(file, now) && found.mtimeMs <= listedAt) || (await hashFile(path)) === file.sha256;
}

/**
 * Reports whether a file is due for a full check on this day; each file is due once a week. `now` is epoch
 * milliseconds.
 */
export function isTurnOf({ sha256 }: Pick<SnapshotFile, 'sha256'>, now: number): boolean {
  return Number.parseInt(sha256.slice(0, 8), 16) % CHECK_NIGHTS === Math.floor(now / DAY_MS) % CHECK_NIGHTS;
}

async function place(from: string, to: string, file: SnapshotFile): Promise<boolean> {
  try {
    await link(from, to);
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === 'ENOENT') return false;
    if (code === undefined || !NO_LINKS.has(code)) throw thrown;
    await copyFile(from, to, constants.COPYFILE_FICLONE);
    if ((await hashFile(to)) !== file.sha256) {
      await rm(to, { force: true });
      return false;
    }
    await syncToDisk(to);
  }
  await syncToDisk(dirname(to));
  return true;
}
