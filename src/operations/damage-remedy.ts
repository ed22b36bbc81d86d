import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { DEFAULT_WORKSPACE } from '../base/config/workspace-names.ts';
import { SightlineError } from '../base/errors.ts';
import { quotedArgument } from '../base/visible.ts';
import { type Layout, layoutOf } from '../publish/snapshot/layout.ts';
import { isSnapshotId } from '../publish/snapshot/manifest.ts';
import { listRawFiles } from '../sync/raw/raw-log.ts';
import { DamagedFile } from '../warehouse/errors.ts';
import { readBackupFile, readWhole } from '../warehouse/file/copy-check.ts';
import { builtInCatalogue } from '../workspace/catalogues.ts';
import { findDamagedFiles, readSnapshot } from './backup/restore-snapshot.ts';

/** Snapshots that are checked, newest first, to find one to restore from. */
const SNAPSHOTS_CHECKED_MAX = 10;

/**
 * Appends the repair command to the error of a damaged workspace file. Returns any other error unchanged. `folder` is the
 * current directory of the user.
 */
export async function withRemedy(error: SightlineError, folder: string): Promise<SightlineError> {
  if (!(error instanceof DamagedFile)) return error;
  const remedy = await remedyOf(error.path, folder);
  if (remedy === null) return error;
  return new SightlineError(error.code, `${error.message}; ${remedy}`, { cause: error.cause });
}

/**
 * Returns the repair command for a damaged warehouse or replica, such as "run `sightline replay`": the one that loses the
 * least data and whose source is readable. Returns null for any other file.
 */
export async function remedyOf(path: string, folder: string): Promise<string | null> {
  const layout = layoutOf(dirname(path));
  const isReplica = path === layout.analytics;
  if (path !== layout.warehouse && !isReplica) return null;
  const command = (name: string): string => `\`${commandLine(name, layout, folder)}\``;
  if (isReplica && existsSync(layout.warehouse) && (await isReadable(layout.warehouse))) {
    return `run ${command('doctor --fix')}`;
  }
  if (!isReplica && (await isReadable(layout.analytics))) {
    return `run ${command(`restore ${quotedArgument(layout.analytics)} --force`)}`;
  }
  if ((await listRawFiles(layout.raw)).length > 0) return `run ${command('replay')}`;
  const snapshot = await findSnapshot(layout);
  if (snapshot !== null) return `run ${command(`restore ${quotedArgument(snapshot)} --force`)}`;
  const file = quotedArgument(path);
  return `run \`mv ${file} ${file}.damaged\`, then ${command('sync')}, which fetches all data again`;
}

// Leaves out flags that the command does not need to find the workspace.
function commandLine(command: string, { warehouse }: Layout, folder: string): string {
  const workspace = dirname(warehouse);
  const name = basename(workspace);
  const data = dirname(workspace);
  const flags = [
    ...(name === DEFAULT_WORKSPACE ? [] : [`--workspace ${name}`]),
    ...(data === resolve(folder, 'data') ? [] : [`--data-dir ${quotedArgument(data)}`]),
  ];
  return ['sightline', command, ...flags].join(' ');
}

async function isReadable(path: string): Promise<boolean> {
  try {
    await readBackupFile(path, builtInCatalogue);
    await readWhole(path);
    return true;
  } catch (thrown) {
    // A locked warehouse is in use by another process, so it can be opened.
    return thrown instanceof SightlineError && thrown.code === 'warehouse_locked';
  }
}

async function findSnapshot({ snapshots, latest }: Layout): Promise<string | null> {
  const ids = (await readdir(snapshots).catch(() => [])).filter(isSnapshotId).sort().reverse();
  for (const path of [latest, ...ids.map((id) => join(snapshots, id))].slice(0, SNAPSHOTS_CHECKED_MAX)) {
    const manifest = await readSnapshot(path).catch(() => null);
    if (manifest !== null && (await findDamagedFiles(path, manifest)).length === 0) return path;
  }
  return null;
}
