import { realpath } from 'node:fs/promises';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { SightlineError } from '../base/errors.ts';

/**
 * Checks that a file that a command is to write does not lie in the workspace's folder, where it could replace the warehouse or
 * be read as its log. Returns the file's path, in a folder without symbolic links. Throws `usage`; `name` is how the message
 * calls the file, such as "--output rows.csv".
 */
export async function checkNotOwnFile(folder: string, path: string, name: string): Promise<string> {
  const own = await withoutLinks(resolve(folder));
  const given = resolve(path);
  const target = join(await withoutLinks(dirname(given)), basename(given));
  if (target !== own && !target.startsWith(`${own}${sep}`)) return target;
  throw new SightlineError('usage', `${name} lies in the workspace's own folder ${folder}; allowed: a file elsewhere`);
}

// As far as the folders exist; a path that does not exist has no links.
async function withoutLinks(path: string): Promise<string> {
  const found = await realpath(path).catch(() => null);
  if (found !== null || path === dirname(path)) return found ?? path;
  return join(await withoutLinks(dirname(path)), basename(path));
}
