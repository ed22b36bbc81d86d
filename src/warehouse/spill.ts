import { randomUUID } from 'node:crypto';
import { readdir, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { DAY_MS } from '../contract/time.ts';

const MARK = '.spill-';

/**
 * A folder for what one reader of a file puts aside when memory runs short; DuckDB makes it when it must, and removes it.
 * By itself DuckDB has one folder for all that read a file, and two that spill at once end in a segmentation fault.
 */
export function spillFolder(path: string): string {
  return `${path}${MARK}${randomUUID()}`;
}

/** Removes what readers of a file left that were killed: folders in which nothing was made for a day. `now` is epoch ms. */
export async function clearSpills(path: string, now: number): Promise<void> {
  const folder = dirname(path);
  for (const name of await readdir(folder)) {
    if (!name.startsWith(`${basename(path)}${MARK}`)) continue;
    const found = await stat(join(folder, name)).catch(() => null);
    if (found !== null && found.mtimeMs < now - DAY_MS) await rm(join(folder, name), { recursive: true, force: true });
  }
}
