import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { WorkspaceConfig } from '../base/config/config.ts';
import { SightlineError, toSightlineError } from '../base/errors.ts';
import { publishByRename } from '../base/files.ts';
import { isRecord } from '../base/json.ts';
import type { HomeFile, HomeResults, HomeState, HomeWork } from '../publish/destinations/home-protocol.ts';
import { runAtHome } from '../publish/destinations/run-child.ts';
import { layoutOf } from '../publish/snapshot/layout.ts';
import { logOf } from '../warehouse/file/open-files.ts';
import { spillFolder } from '../warehouse/file/spill.ts';

/** Settings of a workspace with a home. */
export type HomeConfig = Pick<WorkspaceConfig, 'name' | 'folder' | 'home' | 'destination' | 'extensions'>;

/** What the folder of a workspace is a copy of. */
interface Mark {
  /** Name of the destination that is the home. */
  readonly home: string;
  /** Time of the save that the folder continues, ISO 8601; null if the folder is incomplete. */
  readonly savedAt: string | null;
}

/**
 * Works on the home of a workspace in a child process. Calls `onStaged` when a save has read its files, which nothing may write to before.
 *
 * @throws `config_invalid` like `WorkspaceConfig.destination`, `destination_failed` and `extension_missing` with the name of the destination,
 * and the signal's reason; nothing is written then
 */
export async function atHome<W extends HomeWork>(
  { name, folder, home, destination, extensions }: HomeConfig,
  work: W,
  signal: AbortSignal,
  onStaged?: () => void,
): Promise<HomeResults[W['do']]> {
  if (home === null) throw new SightlineError('internal', `workspace ${name} has no home`);
  const target = destination(home);
  const temporary = spillFolder(layoutOf(folder).analytics);
  try {
    return await runAtHome({ home: work, workspace: name, target, temporary, extensions }, signal, onStaged);
  } catch (thrown) {
    signal.throwIfAborted();
    const { code, message } = toSightlineError(thrown);
    throw new SightlineError(code, `destination ${home}: ${message}`, { cause: thrown });
  }
}

/** Returns the state of a workspace in its home; null if the home has none. */
export async function readHome(config: HomeConfig, signal: AbortSignal): Promise<HomeState | null> {
  const states = await atHome(config, { do: 'state' }, signal);
  return states.find(({ workspace }) => workspace === config.name) ?? null;
}

/** Files of a workspace that its home keeps. The log comes after the file to which it belongs. */
export function keptFiles(folder: string): HomeFile[] {
  const { warehouse, jobLog, loads, notifications } = layoutOf(folder);
  return [warehouse, logOf(warehouse), jobLog, loads, notifications].map((path) => ({ name: basename(path), path }));
}

/** Path of the file that marks a folder as a copy. */
export function markPath(folder: string): string {
  return join(folder, 'home.json');
}

/** Records which save of its home a folder continues. */
export async function writeMark({ folder, home }: HomeConfig, savedAt: string | null): Promise<void> {
  const aside = `${markPath(folder)}.new`;
  await writeFile(aside, `${JSON.stringify({ home, savedAt })}\n`);
  await publishByRename(aside, markPath(folder));
}

/** Removes the mark: the folder is no longer a copy. */
export function removeMark(folder: string): Promise<void> {
  return rm(markPath(folder), { force: true });
}

async function readMark(folder: string): Promise<Mark | null> {
  const text = await readFile(markPath(folder), 'utf8').catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === 'ENOENT') return null;
    throw thrown;
  });
  if (text === null) return null;
  try {
    const value: unknown = JSON.parse(text);
    if (isRecord(value) && typeof value['home'] === 'string') {
      const { home, savedAt } = value;
      if (savedAt === null || typeof savedAt === 'string') return { home, savedAt };
    }
  } catch {
    // Reported below.
  }
  const way = `remove the file if ${folder} has the newest data, or move ${folder} away to fetch the data of its home`;
  throw new SightlineError('home_conflict', `${markPath(folder)} is damaged; ${way}`);
}

/**
 * Checks that a folder that is to keep the data itself is not a copy of what a home has.
 * @throws `home_conflict`
 */
export async function refuseCopy(folder: string): Promise<void> {
  const mark = await readMark(folder);
  if (mark === null) return;
  const way = `restore a backup of it, or remove ${markPath(folder)} to continue with the data of the folder`;
  throw new SightlineError(
    'home_conflict',
    `${folder} is a copy of a workspace in destination ${mark.home}, which may have newer data; ${way}`,
  );
}

/** Whether a folder has the last save of its home. */
export async function isFetched(config: HomeConfig, savedAt: string): Promise<boolean> {
  const mark = await readMark(config.folder);
  return existsSync(layoutOf(config.folder).warehouse) && mark?.home === config.home && mark?.savedAt === savedAt;
}

/**
 * Makes a folder equal to the last save of its home, unless the folder continues that save. Data of a folder that was never in a home become
 * the first save of an empty one.
 *
 * @throws `home_conflict` if data of the folder would be lost
 */
export async function makeEqual(config: HomeConfig, before: HomeState | null, signal: AbortSignal): Promise<void> {
  const { folder, home, name } = config;
  const { warehouse } = layoutOf(folder);
  const savedAt = before?.savedAt ?? null;
  const mark = await readMark(folder);
  const isHere = existsSync(warehouse);
  if (savedAt === null) {
    if (!isHere || mark === null || mark.home !== home || mark.savedAt === null) return;
    const ways = `remove ${markPath(folder)} to start with the copy, or ${warehouse} to start over`;
    throw new SightlineError(
      'home_conflict',
      `destination ${home} has no data of workspace ${name}, but this machine has a copy of it; ${ways}`,
    );
  }
  if (await isFetched(config, savedAt)) return;
  if (isHere && (mark === null || (mark.home === home && (mark.savedAt ?? '') > savedAt))) {
    const ways = `move ${folder} away to use the data of the home, and restore a backup of it to replace them`;
    throw new SightlineError(
      'home_conflict',
      `${warehouse} is not a copy of workspace ${name} in destination ${home}, which has data of its own; ${ways}`,
    );
  }
  await fetchHome(config, signal);
}

// Until the mark is written again, the folder counts as incomplete.
async function fetchHome(config: HomeConfig, signal: AbortSignal): Promise<void> {
  const { folder } = config;
  const aside = join(folder, '.fetched');
  await rm(aside, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  try {
    const kept = keptFiles(folder);
    const work = { do: 'fetch', folder: aside, names: kept.map(({ name }) => name) } as const;
    const fetched = await atHome(config, work, signal);
    if (fetched === null) throw new SightlineError('destination_failed', 'the home was emptied meanwhile');
    const names = await readdir(aside);
    await writeMark(config, null);
    // A log must not be applied to another file.
    for (const { path } of kept.toReversed()) await rm(path, { force: true });
    for (const { name, path } of kept) if (names.includes(name)) await rename(join(aside, name), path);
    await writeMark(config, fetched.savedAt);
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
}
