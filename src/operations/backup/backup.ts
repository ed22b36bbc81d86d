import { existsSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import { withDiskNeed } from '../../base/disk-need.ts';
import { SightlineError } from '../../base/errors.ts';
import { checkReplaceable, ensureWritableFolder, publishByRename, syncToDisk } from '../../base/files.ts';
import { number, time, type ValueOf } from '../../contract/operation/json-parts.ts';
import { agesOf, type Layout, layoutOf } from '../../publish/snapshot/layout.ts';
import { type CountedTable, checkCopy, copyClosed, copyOpened } from '../../warehouse/file/copy-check.ts';
import { checkDatabasePath } from '../../warehouse/file/copy-database.ts';
import { refreshReplica } from '../../workspace/home-replica.ts';
import { noData } from '../../workspace/newest-replica.ts';
import { withSession } from '../../workspace/session.ts';
import { type Context, withWarehouse } from '../../workspace/workspace.ts';
import { estimateCopy } from '../disk-estimates.ts';
import { checkNotOwnFile } from '../own-files.ts';

const RESOURCES = { memoryLimitMb: 256 } as const;

/** A written backup. */
export const writtenBackup = z.object({
  path: z.string(),
  bytes: number,
  tables: number,
  rows: number.describe('rows of all tables'),
  asOf: time,
  stale: z.boolean().describe('whether another process has newer data'),
});

/** A written backup. */
export type Backup = ValueOf<typeof writtenBackup>;

/**
 * Copies a workspace's warehouse into one file, checks it and puts it in place by rename. Copies the live file, or the replica
 * if another process owns the live file.
 *
 * @throws `usage` if the file exists and `force` is false, `no_data`, `disk_full`, and `warehouse_invalid` if the copy lacks rows.
 */
export async function backupWorkspace(context: Context, output: string, force: boolean): Promise<Backup> {
  const layout = layoutOf(context.config.folder);
  const path = await checkTarget(output, context.config.folder, force);
  // The last save of a home is complete and readable without the lease.
  await refreshReplica(context);
  const { copy, live } = agesOf(layout);
  if (copy === 0 && live === 0) throw noData(context.config);
  const folder = dirname(path);
  const need = estimateCopy(context.config, { folder, by: `the backup ${path}`, unchanged: 'nothing was written' });
  return withDiskNeed(need, () => writeBackup(context, layout, path));
}

async function writeBackup(context: Context, layout: Layout, path: string): Promise<Backup> {
  await ensureWritableFolder(dirname(path));
  const aside = `${path}.new`;
  try {
    await removeFile(aside);
    const { tables, asOfMs, stale } = await copyNewest(context, layout, aside);
    context.signal.throwIfAborted();
    await checkCopy(aside, tables);
    await syncToDisk(aside);
    await publishByRename(aside, path);
    const rows = tables.reduce((sum, table) => sum + table.rows, 0);
    const asOf = new Date(asOfMs).toISOString();
    return { path, bytes: statSync(path).size, tables: tables.length, rows, asOf, stale };
  } finally {
    await removeFile(aside);
  }
}

async function checkTarget(output: string, folder: string, force: boolean): Promise<string> {
  const path = await checkNotOwnFile(folder, output, output);
  checkDatabasePath(path);
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory()) throw new SightlineError('usage', `${output} is a folder; allowed: a file`);
  await checkReplaceable(path);
  if (existsSync(path) && !force) {
    throw new SightlineError('usage', `${output} already exists; --force overwrites it`);
  }
  return path;
}

interface Copied {
  readonly tables: readonly CountedTable[];
  readonly asOfMs: number;
  readonly stale: boolean;
}

async function copyNewest(context: Context, layout: Layout, aside: string): Promise<Copied> {
  const { copy, live } = agesOf(layout);
  const isHere = context.config.home === null;
  if (isHere && live > 0) {
    try {
      // A backup does not wait for a sync: it copies the replica then.
      return await withSession(context, 'refuse', (inside) =>
        withWarehouse(inside, RESOURCES, async ({ warehouse }) => {
          return { tables: await copyOpened(warehouse.database, aside), asOfMs: context.clock.now(), stale: false };
        }),
      );
    } catch (thrown) {
      if (!(thrown instanceof SightlineError) || thrown.code !== 'warehouse_locked') throw thrown;
    }
  }
  if (copy === 0) {
    const message = `workspace ${context.config.name} has nothing published yet: its first sync is still running`;
    throw new SightlineError('no_data', message);
  }
  const tables = await copyClosed(layout.analytics, aside, { temporaryFolder: `${aside}.temporary`, forReaders: true });
  return { tables, asOfMs: copy, stale: isHere && copy < live };
}

async function removeFile(path: string): Promise<void> {
  for (const each of [path, `${path}.wal`]) await rm(each, { force: true });
  await rm(`${path}.temporary`, { recursive: true, force: true });
}
