import { constants, copyFile, link, lstat, mkdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { syncToDisk } from '../base/files.ts';
import { DAY_MS } from '../contract/time.ts';
import { MANIFEST, readManifest, type SnapshotFile } from './manifest.ts';
import { hashFile } from './parquet.ts';

/** Nights over which every file that goes on being used is read whole once. */
const CHECK_NIGHTS = 7;
/** How a file system says that it makes no hard links, no more of them, or none across its borders. */
const NO_LINKS = new Set(['EPERM', 'EACCES', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EXDEV', 'EMLINK', 'EINVAL']);

/** Files of the snapshot before, by the folder of their part. */
export interface Previous {
  readonly id: string;
  /** Puts the file that holds these rows below `folder` and returns it; null where there is none that is sound. */
  reuse(partFolder: string, fingerprint: string, folder: string): Promise<SnapshotFile | null>;
}

/** Opens the snapshot at `path` for its files to be used again; null where there is none. `now` is epoch milliseconds. */
export async function openPrevious(path: string, now: number): Promise<Previous | null> {
  const manifest = await readManifest(path);
  if (manifest === null) return null;
  const { mtimeMs: listedAt } = await stat(join(path, MANIFEST));
  const files = new Map<string, SnapshotFile>();
  for (const file of manifest.tables.flatMap((table) => table.files)) {
    if (file.fingerprint !== undefined) files.set(`${dirname(file.path)} ${file.fingerprint}`, file);
  }
  return {
    id: manifest.id,
    reuse: async (partFolder, fingerprint, folder) => {
      const file = files.get(`${partFolder} ${fingerprint}`);
      if (file === undefined || !(await isSound(join(path, file.path), file, listedAt, now))) return null;
      await mkdir(join(folder, partFolder), { recursive: true });
      return (await place(join(path, file.path), join(folder, file.path), file)) ? file : null;
    },
  };
}

/**
 * Whether a file still is what the manifest says. Its size and its time of change are looked at each night; that it is read
 * whole each night would cost as much as half of the nightly snapshot, so that is done with a seventh of all files a night,
 * which finds what a disk has lost within a week, and with every file that was changed since it was listed.
 */
async function isSound(path: string, file: SnapshotFile, listedAt: number, now: number): Promise<boolean> {
  const found = await lstat(path).catch(() => null);
  if (found === null || !found.isFile() || found.size !== file.bytes) return false;
  return (!isTurnOf(file, now) && found.mtimeMs <= listedAt) || (await hashFile(path)) === file.sha256;
}

/** Whether it is this night's turn of a file to be looked at again; each has one within a week. `now` is epoch milliseconds. */
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
