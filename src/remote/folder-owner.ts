import { existsSync } from 'node:fs';
import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { SightlineError } from '../base/errors.ts';
import { publishByRename } from '../base/files.ts';
import { isRecord } from '../base/json.ts';
import { hashFile } from '../warehouse/file/hash-file.ts';
import type { RemoteRecord } from './remote-record.ts';

/** Content of the file that marks a folder as a copy of a remote warehouse. */
export interface FolderMark {
  /** Address of the remote warehouse. */
  readonly location: string;
  /** True if the remote warehouse had data when this folder last saw it. */
  readonly hasData: boolean;
}

/** Returns the path of the mark of a folder. */
export function markPath(folder: string): string {
  return join(folder, 'home.json');
}

/**
 * Reads the mark of a folder; null if the folder is not a copy.
 * @throws `remote_failed` if the mark cannot be parsed, because the folder may be an old copy
 */
export async function readMark(folder: string): Promise<FolderMark | null> {
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
    // Reported below.
  }
  const way = `remove the file if ${folder} has the newest data, or move ${folder} away to download the remote data`;
  throw new SightlineError(
    'remote_failed',
    `${path} is damaged, so the remote warehouse of this folder is unknown; ${way}`,
  );
}

/** Marks a folder as a copy of a remote warehouse. */
export async function writeMark(folder: string, mark: FolderMark): Promise<void> {
  const aside = `${markPath(folder)}.new`;
  await writeFile(aside, `${JSON.stringify(mark)}\n`);
  await publishByRename(aside, markPath(folder));
}

/** Removes the mark: the folder is no longer a copy. */
export function removeMark(folder: string): Promise<void> {
  return rm(markPath(folder), { force: true });
}

/**
 * Checks that a folder that is to keep the data itself is not a copy of a remote warehouse.
 * @throws `remote_failed` if it is a copy
 */
export async function refuseCopy(folder: string): Promise<void> {
  const mark = await readMark(folder);
  if (mark === null) return;
  const way = `restore a backup of it, or remove ${markPath(folder)} to continue with the local data`;
  throw new SightlineError(
    'remote_failed',
    `${folder} is a copy of ${mark.location}, which may have newer data; ${way}`,
  );
}

/**
 * Decides what a check-out does with the warehouse file of a folder. `replace`: the file is missing or a copy of a
 * remote warehouse. `take in`: the file is the only data and the remote warehouse was never used, so the file becomes
 * its first state.
 * @throws `remote_failed` if either would lose data: both have data of their own, or the remote warehouse was emptied
 */
export async function judgeFolder(
  warehouse: string,
  location: string,
  { base }: Pick<RemoteRecord, 'base'>,
): Promise<'replace' | 'take in'> {
  if (!existsSync(warehouse)) return 'replace';
  const folder = dirname(warehouse);
  const mark = await readMark(folder);
  if (mark !== null && (mark.location !== location || base !== null || !mark.hasData)) return 'replace';
  if (mark !== null) {
    const ways = `remove ${markPath(folder)} to start with the copy, or ${warehouse} to start over`;
    throw new SightlineError('remote_failed', `${location} is empty, but this machine has a copy of it; ${ways}`);
  }
  if (base === null) return 'take in';
  const { size } = await stat(warehouse);
  if (size === base.bytes && (await hashFile(warehouse)) === base.sha256) return 'replace';
  const ways = `move ${folder} away, or replace the remote data with \`sightline restore FILE --force\``;
  throw new SightlineError(
    'remote_failed',
    `${warehouse} is not a copy of ${location}, which has data of its own; ${ways}`,
  );
}
