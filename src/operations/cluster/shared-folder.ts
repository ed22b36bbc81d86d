import { randomUUID } from 'node:crypto';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { type Clock, systemClock } from '../../base/clock.ts';
import type { WorkspaceConfig } from '../../base/config/config.ts';
import type { RunnerSettings } from '../../base/config/runner-settings.ts';
import { SightlineError } from '../../base/errors.ts';
import { ensureWritableFolder } from '../../base/files.ts';
import type { Runner } from '../../jobs/runner.ts';

/** The file that identifies a data folder. */
const ID_FILE = '.folder-id';
/** Another worker may be writing the file at this moment. */
const READS_MAX = 40;
const READ_PAUSE_MS = 25;
/** Workspaces that a message lists. */
const NAMED_MAX = 5;

const sharedFolderSchema = z.object({
  /** `id` is the content of the file and `inode` its inode. A copied folder has another inode. */
  id: z.uuid(),
  inode: z.string(),
  /** `path` and `host` are used in messages only. */
  path: z.string(),
  host: z.string(),
});
type SharedFolder = z.infer<typeof sharedFolderSchema>;

/** Workspaces whose warehouse exists only in the data folder. */
export function withLocalWarehouse(configs: readonly WorkspaceConfig[]): WorkspaceConfig[] {
  return configs.filter(({ home }) => home === null);
}

/**
 * Checks that a shared queue has no workspaces with a local warehouse, because each machine would build a separate one. Returns
 * `config_invalid`, or null if the settings are compatible.
 */
export function rejectLocalWarehouses(
  settings: RunnerSettings,
  configs: readonly WorkspaceConfig[],
): SightlineError | null {
  if (settings.kind === 'process' || settings.sharedFolder) return null;
  const local = withLocalWarehouse(configs);
  const [first] = local;
  if (first === undefined) return null;
  const message =
    `home is not set for ${namesOf(local)} (${first.folder}), and runner is "${settings.kind}", ` +
    'so each machine with a worker would build its own warehouse; ' +
    'allowed: home with the name of a destination, or runner with "sharedFolder": true if all workers use one data folder of one machine';
  return new SightlineError('config_invalid', message);
}

/** Options of `recordSharedFolder`. */
export interface RecordOptions {
  /** Whether this folder replaces a different recorded folder. */
  readonly moves: boolean;
  readonly clock?: Clock;
}

/**
 * Records the data folder as the one with the local warehouses of all workers of the queue, unless one is recorded already.
 *
 * @throws `config_invalid` if another folder, or the folder of another machine, is recorded.
 */
export async function recordSharedFolder(
  runner: Runner,
  configs: readonly WorkspaceConfig[],
  { moves, clock = systemClock }: RecordOptions,
): Promise<void> {
  const [first] = withLocalWarehouse(configs);
  if (first === undefined) return;
  const own = await identify(dirname(first.folder), clock);
  const recorded = await runner.recordFolder(JSON.stringify(own), moves);
  const error = compare(recorded, own, withLocalWarehouse(configs));
  if (error !== null) throw error;
}

/** Checks like `recordSharedFolder` without recording anything. Returns whether a folder is recorded. */
export async function checkSharedFolder(runner: Runner, configs: readonly WorkspaceConfig[]): Promise<boolean> {
  const local = withLocalWarehouse(configs);
  const [first] = local;
  const recorded = await runner.recordedFolder();
  if (first === undefined || recorded === null) return false;
  const error = compare(recorded, await read(dirname(first.folder)), local);
  if (error !== null) throw error;
  return true;
}

function compare(text: string, own: SharedFolder | null, local: readonly WorkspaceConfig[]): SightlineError | null {
  const recorded = parse(text);
  if (own !== null && recorded?.id === own.id && recorded.inode === own.inode) return null;
  const location = recorded === null ? 'an unreadable folder record' : `${recorded.path} on ${recorded.host}`;
  const message =
    `home is not set for ${namesOf(local)}, and the queue records that their warehouses are in ${location}, ` +
    `not in ${own?.path ?? dirname(local[0]?.folder ?? '')} on ${hostname()}; allowed: workers with that folder, home with the name of a destination, or, ` +
    'after the warehouses were moved here, `sightline worker --move-folder`';
  return new SightlineError('config_invalid', message);
}

async function identify(folder: string, clock: Clock): Promise<SharedFolder> {
  await ensureWritableFolder(folder);
  const path = join(folder, ID_FILE);
  await writeFile(path, randomUUID(), { flag: 'wx', mode: 0o600 }).catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code !== 'EEXIST') throw thrown;
  });
  for (let reads = 0; reads < READS_MAX; reads++) {
    const found = await read(folder);
    if (found !== null) return found;
    await clock.sleep(READ_PAUSE_MS);
  }
  throw new SightlineError(
    'config_invalid',
    `${path} does not contain a UUID; remove it, and the next worker writes it`,
  );
}

async function read(folder: string): Promise<SharedFolder | null> {
  const path = join(folder, ID_FILE);
  try {
    const [id, { ino }] = await Promise.all([readFile(path, 'utf8'), stat(path, { bigint: true })]);
    return sharedFolderSchema.parse({ id, inode: String(ino), path: folder, host: hostname() });
  } catch {
    return null;
  }
}

function parse(text: string): SharedFolder | null {
  try {
    return sharedFolderSchema.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

function namesOf(local: readonly WorkspaceConfig[]): string {
  const names = local.slice(0, NAMED_MAX).map(({ name }) => name);
  const more = local.length - names.length;
  return `workspace${local.length === 1 ? '' : 's'} ${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
