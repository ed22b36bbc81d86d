import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { access, constants, mkdir, open, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SightlineError } from './errors.ts';

/**
 * Creates the folder and its parents if missing and checks that files can be created in it.
 * @throws `folder_unwritable`; a full disk (ENOSPC) is thrown unchanged
 */
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

// Creates one level at a time: Node's recursive mkdir loops forever on file systems that report ENOENT for an existing parent.
async function makeFolders(folder: string, isSecondTry = false): Promise<void> {
  try {
    await mkdir(folder);
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === 'EEXIST' && (await stat(folder)).isDirectory()) return;
    const parent = dirname(folder);
    if (code !== 'ENOENT' || parent === folder || isSecondTry) throw thrown;
    // Another process may be creating the same folders.
    if (!existsSync(parent)) await makeFolders(parent);
    await makeFolders(folder, true);
  }
}

/** Flushes a file, or the entries of a folder, to disk (fsync), so that they survive a power cut. */
export async function syncToDisk(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Throws `usage` if a path is a device, pipe or socket, such as /dev/stdout, which a rename by root would replace for all programs. */
export async function checkReplaceable(path: string): Promise<void> {
  const there = await stat(path).catch(() => null);
  if (there === null || there.isFile() || there.isDirectory()) return;
  throw new SightlineError('usage', `${path} is a device, pipe or socket; allowed: a file`);
}

/** Renames a finished file or folder to its public name atomically and durably. Throws like `checkReplaceable`. */
export async function publishByRename(from: string, to: string): Promise<void> {
  await checkReplaceable(to);
  await rename(from, to);
  await syncToDisk(dirname(to));
}

/** Points the symlink `link` to `target` (relative to the link) atomically: readers see the old or the new target. */
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

/** Replaces the contents of a file in one step. */
export async function replaceFile(path: string, content: string | Uint8Array): Promise<void> {
  const aside = `${path}.${randomUUID()}`;
  try {
    await writeFile(aside, content);
    await rename(aside, path);
  } finally {
    await rm(aside, { force: true });
  }
}

/** Returns a text that changes when the file or folder at a path is changed or replaced; empty if there is none. */
export function fileIdentity(path: string): string {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats === undefined ? '' : `${stats.dev}:${stats.ino}:${stats.mtimeNs}:${stats.size}`;
}

/**
 * Imports the other modules in a module's folder and returns the value that each exports, by the order of their `position`;
 * values without a position come last, by file name. `self` is the module's `import.meta.url`. Ignores subfolders.
 * @throws TypeError with the file if a module does not export exactly one value
 */
export async function importSiblings<T extends { readonly position?: number | undefined }>(self: string): Promise<T[]> {
  const own = basename(fileURLToPath(self));
  const files = readdirSync(new URL('.', self)).filter((file) => /^[\w-]+\.[jt]s$/.test(file) && file !== own);
  const modules = await Promise.all(
    files.sort().map(async (file) => {
      const values = Object.values((await import(new URL(file, self).href)) as Record<string, T>);
      if (values.length !== 1) throw new TypeError(`${file} exports ${values.length} values; allowed: 1`);
      return values[0] as T;
    }),
  );
  const last = Number.MAX_SAFE_INTEGER;
  return modules.sort((a, b) => (a.position ?? last) - (b.position ?? last));
}
