import { existsSync } from 'node:fs';
import { readdir, readFile, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { SightlineError } from '../../base/errors.ts';
import { publishByRename, syncToDisk } from '../../base/files.ts';
import { isRecord } from '../../base/json.ts';
import { isAlive } from '../../base/process-alive.ts';
import type { PlainFile } from '../../publish/snapshot/plain-files.ts';
import type { ChangeRange } from './export-base.ts';

/** Lists the files that an export wrote to a folder. A later export may replace these files only. */
const LISTING = 'export.json';
/** Exports with a position into one dated folder, such as those of a day. */
const SAME_NAME_MAX = 99;

/** Content of the listing besides the files: selection, format, and the range of changes of an incremental export. */
export interface ListingHead {
  readonly changes: ChangeRange | null;
  readonly [setting: string]: unknown;
}

/**
 * Returns the first folder whose changes an export with a position may replace: a missing or empty one, or one that begins at the
 * same position, which an export left that was killed before it moved the position. Tries `folder`, then `folder-02` and so on, each
 * with `subfolder` below it.
 *
 * @throws `usage` if there are too many
 */
export async function chooseDatedFolder(folder: string, subfolder: string, range: ChangeRange): Promise<string> {
  for (let number = 1; number <= SAME_NAME_MAX; number++) {
    const candidate = join(number === 1 ? folder : `${folder}-${String(number).padStart(2, '0')}`, subfolder);
    const listing = await readListing(candidate);
    if (listing === null) return candidate;
    const other = isRecord(listing['changes']) ? listing['changes'] : {};
    const begins = isRecord(other['since']) ? other['since']['position'] : null;
    if (other['name'] === range.name && begins === (range.since?.position ?? null)) return candidate;
  }
  const allowed = 'a path with more parts of the time, such as %H%M%S';
  throw new SightlineError(
    'usage',
    `${folder} and the ${SAME_NAME_MAX - 1} folders after it exist; allowed: ${allowed}`,
  );
}

/** Writes the listing of an export into its folder. */
export async function writeListing(folder: string, head: ListingHead, tables: readonly PlainFile[]): Promise<void> {
  const listing = { sightlineExport: 1, ...head, tables };
  await writeFile(join(folder, LISTING), `${JSON.stringify(listing, null, 2)}\n`);
  await syncToDisk(join(folder, LISTING));
  await syncToDisk(folder);
}

/**
 * Checks that a folder may be replaced: it is missing or empty, or an export wrote all its files.
 *
 * @throws `usage`
 */
export async function checkReplaceable(folder: string): Promise<void> {
  const found = await stat(folder).catch(() => null);
  if (found === null) return;
  const refuse = (why: string): SightlineError => {
    const allowed = 'a new folder, an empty one, or one that an export wrote';
    return new SightlineError('usage', `--output ${folder} ${why}; allowed: ${allowed}`);
  };
  if (!found.isDirectory()) throw refuse('is not a folder');
  const names = await readdir(folder);
  if (names.length === 0) return;
  const listing = await readListing(folder);
  const own = listing === null ? [] : [LISTING, ...listing.tables.map((table) => String(table['file']))];
  const others = names.filter((name) => !own.includes(name));
  if (others.length > 0) throw refuse(`contains ${JSON.stringify(others[0])}, which no export wrote`);
}

async function readListing(
  folder: string,
): Promise<(Record<string, unknown> & { tables: Record<string, unknown>[] }) | null> {
  try {
    const listing: unknown = JSON.parse(await readFile(join(folder, LISTING), 'utf8'));
    if (!isRecord(listing) || listing['sightlineExport'] !== 1 || !Array.isArray(listing['tables'])) return null;
    return { ...listing, tables: listing['tables'].filter(isRecord) };
  } catch {
    return null;
  }
}

/**
 * Removes temporary folders of killed exports. A process killed between the two renames of `replaceFolder` has left the earlier
 * export under its temporary name, so that one is renamed back. In a container a new process may reuse the pid of a killed one.
 */
export async function removeLeftovers(folder: string): Promise<void> {
  const parent = dirname(folder);
  const [fresh, old] = [`.${basename(folder)}.new-`, `.${basename(folder)}.old-`];
  for (const name of await readdir(parent)) {
    const pid = [fresh, old].filter((prefix) => name.startsWith(prefix)).map((prefix) => name.slice(prefix.length))[0];
    if (pid === undefined || !/^\d+$/.test(pid) || (Number(pid) !== process.pid && isAlive(Number(pid)))) continue;
    if (name.startsWith(old) && !existsSync(folder)) await rename(join(parent, name), folder);
    else await rm(join(parent, name), { recursive: true, force: true });
  }
}

/**
 * Moves the folder `aside` to `folder`. Two folders cannot be swapped atomically: for a moment the folder is missing, but it is
 * never incomplete.
 */
export async function replaceFolder(folder: string, aside: string): Promise<void> {
  const old = join(dirname(folder), `.${basename(folder)}.old-${process.pid}`);
  const names = await readdir(folder).catch(() => null);
  if (names === null) await publishByRename(aside, folder);
  else if (names.length === 0) {
    await rmdir(folder);
    await publishByRename(aside, folder);
  } else {
    await rename(folder, old);
    await publishByRename(aside, folder);
    await rm(old, { recursive: true, force: true });
  }
}
