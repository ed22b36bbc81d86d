import { existsSync } from 'node:fs';
import { access, constants, mkdir, open, rename, rm, stat, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { SightlineError } from './errors.ts';

/** Makes the folder if need be and checks that files can be made in it; throws `folder_unwritable`. */
export async function ensureWritableFolder(folder: string): Promise<void> {
  try {
    await makeFolders(folder);
    await access(folder, constants.W_OK | constants.X_OK);
  } catch (thrown) {
    const code = (thrown as NodeJS.ErrnoException).code ?? 'unknown error';
    if (code === 'ENOSPC') throw thrown;
    throw new SightlineError('folder_unwritable', `cannot write to the folder ${folder} (${code})`, { cause: thrown });
  }
}

// Step by step: Node's own recursive mkdir never returns where a file system says that a parent it shows is not there.
async function makeFolders(folder: string, isSecondTry = false): Promise<void> {
  try {
    await mkdir(folder);
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === 'EEXIST' && (await stat(folder)).isDirectory()) return;
    const parent = dirname(folder);
    if (code !== 'ENOENT' || parent === folder || isSecondTry) throw thrown;
    // Somebody else may be making the same folders at this moment.
    if (!existsSync(parent)) await makeFolders(parent);
    await makeFolders(folder, true);
  }
}

/** Makes what was written to a file or to a folder's entries survive a power cut. */
export async function syncToDisk(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Moves a finished file or folder to its public name in one step that survives a power cut. */
export async function publishByRename(from: string, to: string): Promise<void> {
  await rename(from, to);
  await syncToDisk(dirname(to));
}

/** Points the symlink `link` at `target` (relative to the link) without a moment in which there is no link. */
export async function swapSymlink(target: string, link: string): Promise<void> {
  const aside = join(dirname(link), `.${process.pid}-${Date.now()}-link`);
  await symlink(target, aside);
  try {
    await publishByRename(aside, link);
  } catch (thrown) {
    await rm(aside, { force: true });
    throw thrown;
  }
}
