import { randomUUID } from 'node:crypto';
import { readdir, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { DAY_MS } from '../../contract/time.ts';

const MARK = '.spill-';

/**
 * Returns the path of a new spill folder for one reader of a file. DuckDB creates it when needed and removes it. By
 * default DuckDB uses one folder for all readers of a file, and two readers that spill at once cause a segmentation
 * fault.
 */
export function spillFolder(path: string): string {
  return `${path}${MARK}${randomUUID()}`;
}

/** Removes spill folders that killed readers of a file left: those unchanged for a day. `now` is epoch milliseconds. */
export async function clearSpills(path: string, now: number): Promise<void> {
  const folder = dirname(path);
  for (const name of await readdir(folder)) {
    if (!name.startsWith(`${basename(path)}${MARK}`)) continue;
    const found = await stat(join(folder, name)).catch(() => null);
    if (found !== null && found.mtimeMs < now - DAY_MS) await rm(join(folder, name), { recursive: true, force: true });
  }
}
