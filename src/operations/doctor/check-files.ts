import { existsSync, lstatSync, type Stats, statSync } from 'node:fs';
import { access, chmod, constants, opendir, readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { SightlineError } from '../../base/errors.ts';
import { readHolder } from '../../base/file-lock.ts';
import { freeBytes, megabytes, nearestExisting } from '../../base/free-space.ts';
import { DAY_MS } from '../../contract/time.ts';
import { readManifest } from '../../publish/snapshot/manifest.ts';
import { deadTickets } from '../../workspace/lock-driver.ts';
import { serverRecordPath } from '../../workspace/server-record.ts';
import { keyFilePath } from '../../workspace/stored-keys.ts';
import { sessionFilePath } from '../../workspace/stored-sessions.ts';
import { withWarehouse } from '../../workspace/workspace.ts';
import { SYNC_BYTES_MIN } from '../disk-estimates.ts';
import { type CheckContext, counted, type Finding } from './check-context.ts';

const GROUP = 0o070;
const OTHERS = 0o007;
/** Files and folders of a workspace whose permissions are checked, at most. */
const ENTRIES_MAX = 1_000_000;
/** Permissions of a file with secrets. */
const PRIVATE = 0o600;
/** Temporary files that a killed process leaves in a workspace's folder. A database has a write-ahead log beside it. */
const ASIDE =
  /^(\.(compact|replay|restore)\.duckdb(\.wal)?|analytics\.duckdb\.new(\.wal|\.delta|\.delta\.wal)?|\.temporary)$/;
const SPILL = /\.spill-[0-9a-f-]{36}$/;
/** Temporary entries that a killed process leaves among the snapshots. */
const SNAPSHOT_ASIDE = /^(\.new-.+|\.old-.+|\.\d+-\d+-link)$/;

/** Checks that the workspace's folder, or its nearest existing parent, is writable. */
export async function checkFolder({ context }: CheckContext): Promise<Finding[]> {
  const { folder } = context.config;
  const there = nearestExisting(folder);
  try {
    await access(there, constants.W_OK | constants.X_OK);
  } catch (thrown) {
    const message = `cannot write to ${there} (${(thrown as NodeJS.ErrnoException).code})`;
    return [{ status: 'failure', message, advice: new SightlineError('folder_unwritable', '').hint }];
  }
  if (there === folder) return [{ status: 'ok', message: `${folder} is writable` }];
  return [{ status: 'warning', message: `${folder} does not exist yet`, advice: 'Run `sightline sync`.' }];
}

/** Checks free space for the next replica, a snapshot in which every file changes, and a backup. */
export async function checkDisk({ context, layout }: CheckContext): Promise<Finding[]> {
  const free = freeBytes(context.config.folder);
  if (free === null) return [{ status: 'ok', message: 'the system does not report the free space' }];
  const manifest = await readManifest(layout.latest);
  const snapshot = manifest?.tables.reduce((sum, { bytes }) => sum + bytes, 0) ?? 0;
  const database = Math.max(sizeOf(layout.warehouse), sizeOf(layout.analytics));
  const needed = Math.max(SYNC_BYTES_MIN, snapshot + 2 * database);
  const message = `${megabytes(free)} free; the next replica, snapshot and backup may take ${megabytes(needed)}`;
  if (free >= 2 * needed) return [{ status: 'ok', message }];
  const advice = 'Free disk space, or keep fewer snapshots (`keep` in sightline.config.json) and raw pages.';
  return [{ status: free < needed ? 'failure' : 'warning', message, advice }];
}

/** Checks that other users cannot read secrets or data. */
export async function checkPermissions({ context, folder, fix }: CheckContext): Promise<Finding[]> {
  if (process.platform === 'win32') return [{ status: 'ok', message: 'file permissions are not checked on Windows' }];
  // Keys, sessions and the server of all workspaces are recorded in the data folder.
  const ofServers = [context.config.folder, dirname(context.config.folder)].flatMap((each) => [
    keyFilePath(each),
    sessionFilePath(each),
    serverRecordPath(each),
  ]);
  const paths = [join(folder, '.env'), ...ofServers];
  const findings: Finding[] = [];
  for (const path of paths) {
    const mode = statOf(path)?.mode ?? 0;
    if ((mode & (GROUP | OTHERS)) === 0) continue;
    const open = `${path} has permissions ${octal(mode & 0o777)}; allowed: access for its owner only`;
    if (fix) {
      await chmod(path, PRIVATE);
      findings.push({
        status: 'ok',
        message: `${path} was accessible to other users; its permissions are now 0600`,
        fixed: true,
      });
    } else {
      const status = (mode & OTHERS) === 0 ? 'warning' : 'failure';
      findings.push({ status, message: open, advice: `Run \`chmod 600 ${path}\`, or \`sightline doctor --fix\`.` });
    }
  }
  findings.push(...(await checkDataPermissions(context.config, paths, fix)));
  return findings.length > 0 ? findings : [{ status: 'ok', message: 'only their owner can access secrets and data' }];
}

async function checkDataPermissions(
  { folder, permissions }: CheckContext['context']['config'],
  secrets: readonly string[],
  fix: boolean,
): Promise<Finding[]> {
  const forbidden = permissions === 'group' ? 0o027 : GROUP | OTHERS;
  const loose: { readonly path: string; readonly mode: number; readonly isFolder: boolean }[] = [];
  const look = (path: string): void => {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats === undefined || stats.isSymbolicLink() || stats.isSocket() || secrets.includes(path)) return;
    if ((stats.mode & forbidden) !== 0) loose.push({ path, mode: stats.mode & 0o7777, isFolder: stats.isDirectory() });
  };
  for (const root of [folder, join(dirname(folder), '.budgets')]) {
    if (!existsSync(root)) continue;
    look(root);
    let entries = 0;
    for await (const entry of await opendir(root, { recursive: true })) {
      entries += 1;
      if (entries > ENTRIES_MAX) break;
      look(join(entry.parentPath, entry.name));
    }
  }
  const [first] = loose;
  if (first === undefined) return [];
  const folders = loose.filter(({ isFolder }) => isFolder).length;
  const counts = `${counted(loose.length - folders, 'file')} and ${counted(folders, 'folder')} of ${folder}`;
  const users = permissions === 'group' ? 'users outside its group' : 'other users';
  if (!fix) {
    const message = `${counts} are accessible to ${users}, such as ${first.path} (${octal(first.mode)})`;
    const advice =
      'Run `sightline doctor --fix`. If programs of other users read the data, see "Who may read the data" in SECURITY.md first.';
    return [{ status: 'warning', message, advice }];
  }
  for (const { path, mode } of loose) await chmod(path, mode & ~forbidden).catch(ignoreMissing);
  return [{ status: 'ok', message: `${counts} were accessible to ${users}; access was removed`, fixed: true }];
}

function ignoreMissing(thrown: NodeJS.ErrnoException): void {
  if (thrown.code !== 'ENOENT') throw thrown;
}

/** Checks for temporary files of killed processes. */
export async function checkLeftovers(check: CheckContext): Promise<Finding[]> {
  const { context, layout, owner, fix } = check;
  if (owner !== null) {
    return [
      {
        status: 'ok',
        message: `${owner} owns the workspace; its temporary files cannot be distinguished from leftovers`,
      },
    ];
  }
  const found = await findLeftovers(check);
  if (found.length === 0) return [{ status: 'ok', message: 'no files left by killed processes' }];
  const names = found.join(', ');
  if (!fix) {
    const advice = 'Run `sightline doctor --fix`; the next sync or export also removes most of them.';
    return [{ status: 'warning', message: `files left by killed processes: ${names}`, advice }];
  }
  const remove = async (): Promise<void> => {
    for (const path of found) await rm(path, { recursive: true, force: true });
  };
  // Only the process that owns the warehouse makes such files. While this process owns it, none of them is in use.
  if (existsSync(layout.warehouse)) await withWarehouse(context, {}, remove);
  else await remove();
  return [{ status: 'ok', message: `removed files left by killed processes: ${names}`, fixed: true }];
}

async function findLeftovers({ context, layout }: CheckContext): Promise<string[]> {
  const { folder } = context.config;
  const now = context.clock.now();
  const found: string[] = [];
  const hasWarehouse = existsSync(layout.warehouse);
  for (const name of await namesIn(folder)) {
    const path = join(folder, name);
    // Without a warehouse there is no lock to take, and a first restore may be running. Require an old file then.
    const isOld = (statOf(path)?.mtimeMs ?? now) < now - DAY_MS;
    if (ASIDE.test(name) && (hasWarehouse || isOld)) found.push(path);
    // Readers of the replica spill here without a lock, so only old files are certainly unused.
    if (SPILL.test(name) && isOld) found.push(path);
  }
  for (const name of await namesIn(layout.snapshots)) {
    if (SNAPSHOT_ASIDE.test(name)) found.push(join(layout.snapshots, name));
  }
  for (const lock of [layout.owner, layout.scheduler]) {
    if (existsSync(lock) && (await readHolder(lock)) === null) found.push(lock);
  }
  found.push(...(await deadTickets(folder).catch(() => [])));
  return found;
}

function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}

function statOf(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false });
}

/** Formats permissions for chmod, such as 0755. */
function octal(mode: number): string {
  return (mode & 0o7777).toString(8).padStart(4, '0');
}

function sizeOf(path: string): number {
  return statOf(path)?.size ?? 0;
}
