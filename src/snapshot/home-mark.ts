import { existsSync } from 'node:fs';
import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { SightlineError } from '../base/errors.ts';
import { publishByRename } from '../base/files.ts';
import { isRecord } from '../base/json.ts';
import type { HomeRecord } from './home-record.ts';
import { hashFile } from './parquet.ts';

/** What a folder says of the home of whose warehouse it holds a copy. */
export interface HomeMark {
  /** Address of the home. */
  readonly location: string;
  /** Whether that had a warehouse when it was looked at from here last. */
  readonly hasData: boolean;
}

/** Where the mark of a folder is. */
export function markPath(folder: string): string {
  return join(folder, 'home.json');
}

/**
 * Reads the mark of a folder; null for a folder that is not a copy.
 * @throws `home_failed` for a mark that cannot be read: the folder may be an old copy
 */
export async function readMark(folder: string): Promise<HomeMark | null> {
  const path = markPath(folder);
  const text = await readFile(path, 'utf8').catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === 'ENOENT') return null;
    throw thrown;
  });
  if (text === null) return null;
  try {
    const value: unknown = JSON.parse(text);
    if (isRecord(value) && typeof value['location'] === 'string') {
      return { location: value['location'], hasData: value['hasData'] === true };
    }
  } catch {
    // It is told below.
  }
  const way = `remove it if ${folder} holds the newest data, or move ${folder} away to receive the home's`;
  throw new SightlineError(
    'home_failed',
    `${path} is damaged, so it is unknown of which home the folder is a copy: ${way}`,
  );
}

/** Has a folder say of what it is a copy. */
export async function writeMark(folder: string, mark: HomeMark): Promise<void> {
  const aside = `${markPath(folder)}.new`;
  await writeFile(aside, `${JSON.stringify(mark)}\n`);
  await publishByRename(aside, markPath(folder));
}

/** Has a folder be nobody's copy. */
export function removeMark(folder: string): Promise<void> {
  return rm(markPath(folder), { force: true });
}

/** Throws `home_failed` where a folder that is to be the home itself is a copy of another one. */
export async function refuseCopy(folder: string): Promise<void> {
  const mark = await readMark(folder);
  if (mark === null) return;
  const way = `restore a backup of that, or remove ${markPath(folder)} to go on with what is here`;
  throw new SightlineError('home_failed', `${folder} is a copy of ${mark.location}, where newer data may be: ${way}`);
}

/**
 * What is to be done with the warehouse that a folder has when the workspace is checked out: `replace` a copy of this home or
 * of another, or `take in` one that nobody else has, by a home that never had any. Throws `home_failed` where that would lose
 * data: where both have their own, or the home was emptied.
 */
export async function judgeFolder(
  warehouse: string,
  location: string,
  { base }: Pick<HomeRecord, 'base'>,
): Promise<'replace' | 'take in'> {
  if (!existsSync(warehouse)) return 'replace';
  const folder = dirname(warehouse);
  const mark = await readMark(folder);
  if (mark !== null && (mark.location !== location || base !== null || !mark.hasData)) return 'replace';
  if (mark !== null) {
    const ways = `remove ${markPath(folder)} to begin with that, or ${warehouse} to begin anew`;
    throw new SightlineError('home_failed', `${location} holds nothing any more, but this machine has a copy: ${ways}`);
  }
  if (base === null) return 'take in';
  const { size } = await stat(warehouse);
  if (size === base.bytes && (await hashFile(warehouse)) === base.sha256) return 'replace';
  const ways = `move ${folder} away; \`sightline restore FILE --force\` puts a warehouse in the place of what is there`;
  throw new SightlineError('home_failed', `${warehouse} is not of ${location}, which has data of its own: ${ways}`);
}
