import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { openDriftWatch } from '../../src/sync/drift-watch.ts';
import type { ReplayOptions } from '../../src/sync/raw/apply-record.ts';
import { openRawArchive } from '../../src/sync/raw/raw-archive.ts';
import { listRawFiles, type RawLimits } from '../../src/sync/raw/raw-log.ts';
import { type ReplayResult, replayPages } from '../../src/sync/raw/replay-pages.ts';
import type { SyncSummary } from '../../src/sync/run-sync.ts';
import { openWarehouse, type Warehouse } from '../../src/warehouse/warehouse.ts';
import { createEmptyWarehouse } from '../support/empty-warehouse.ts';
import { temporaryFolder } from '../support/folders.ts';
import type { TestWorkspace } from '../support/workspace.ts';

/** Limits that keep everything that a test reads. */
export const KEEP_ALL: RawLimits = { days: 30, megabytes: 2000 };

/** A sync with raw pages and drift detection. */
type KeepingSync = (changes?: { only?: readonly string[]; limits?: RawLimits }) => Promise<SyncSummary>;

/** Returns a workspace's sync that archives pages in a new folder. */
export async function keepPages(workspace: TestWorkspace): Promise<{ folder: string; sync: KeepingSync }> {
  const folder = join(await temporaryFolder(), 'raw');
  const sync: KeepingSync = async ({ only = null, limits = KEEP_ALL } = {}) => {
    const { catalogue, clock } = workspace;
    const { database } = workspace.warehouse();
    const archive = await openRawArchive({ database, clock, folder, limits });
    const drift = await openDriftWatch(catalogue, database);
    const summary = await workspace.sync({ only, archive, drift });
    await drift.close(clock.now());
    await archive.close();
    return { ...summary, warnings: [...summary.warnings, ...archive.takeWarnings()], drift: drift.takeCounts() };
  };
  return { folder, sync };
}

/** Replays the pages of a folder into a new warehouse, which the test's end closes. */
export async function replayAll(
  { catalogue, clock }: TestWorkspace,
  folder: string,
  options: Partial<ReplayOptions> = {},
): Promise<ReplayResult & { warehouse: Warehouse }> {
  const path = join(await temporaryFolder(), 'replayed.duckdb');
  await createEmptyWarehouse(path);
  const warehouse = await openWarehouse(path, catalogue, {});
  onTestFinished(() => warehouse.close());
  const drift = await openDriftWatch(catalogue, warehouse.database);
  const { signal } = new AbortController();
  const parts = { catalogue, warehouse, drift, folder, clock, signal };
  const result = await replayPages(parts, { from: null, to: null, only: null, runs: true, ...options });
  await drift.close(clock.now());
  return { ...result, warehouse };
}

/** Reads every file of raw pages. */
export async function readRawFiles(folder: string): Promise<{ path: string; bytes: Buffer }[]> {
  const files = await listRawFiles(folder);
  return Promise.all(
    files.map(async ({ name }) => ({ path: join(folder, name), bytes: await readFile(join(folder, name)) })),
  );
}

/** Lists the day folders. */
export async function daysKept(folder: string): Promise<string[]> {
  return (await readdir(folder)).sort();
}
