import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { createBudget } from '../../src/budget/budget.ts';
import { listRawFiles, type RawLimits } from '../../src/sync/raw/raw-log.ts';
import { type ReplayOptions, type ReplayResult, replayPages } from '../../src/sync/raw/replay-pages.ts';
import { openRecorder } from '../../src/sync/recorder.ts';
import { runSync, type SyncSummary } from '../../src/sync/run-sync.ts';
import { createClient } from '../../src/upstream/client.ts';
import { openWarehouse, type Warehouse } from '../../src/warehouse/warehouse.ts';
import { temporaryFolder } from '../support/folders.ts';
import type { TestWorkspace } from '../support/workspace.ts';

/** Limits that keep everything that a test reads. */
export const KEEP_ALL: RawLimits = { days: 30, megabytes: 2000 };

/** A sync with raw pages and drift detection. */
export type KeepingSync = (
  changes?: Partial<{ only: readonly string[]; baseUrl: string; limits: RawLimits; signal: AbortSignal }>,
) => Promise<SyncSummary>;

/** Returns a workspace's sync that archives pages in a new folder. */
export async function keepPages(workspace: TestWorkspace): Promise<{ folder: string; sync: KeepingSync }> {
  const folder = join(await temporaryFolder(), 'raw');
  const sync: KeepingSync = async (changes = {}) => {
    const { catalogue, clock, sandbox } = workspace;
    const {
      only = null,
      baseUrl = sandbox.baseUrl,
      limits = KEEP_ALL,
      signal = new AbortController().signal,
    } = changes;
    const budget = createBudget({ clock });
    const client = createClient({
      baseUrl,
      key: sandbox.key,
      keyHeader: 'authorization',
      budget,
      clock,
      connections: 8,
    });
    const warehouse = workspace.warehouse();
    const records = await openRecorder({ catalogue, warehouse, clock, raw: { folder, limits } });
    try {
      const parts = { catalogue, warehouse: records.warehouse, client, clock, connections: 8, signal };
      const summary = await runSync(parts, { only, range: null, brands: null });
      await records.close();
      const warnings = [...summary.warnings, ...records.takeWarnings()];
      return { ...summary, warnings, drift: records.takeDrift() };
    } finally {
      await client.close();
    }
  };
  return { folder, sync };
}

/** Replays the pages of a folder into a new warehouse, which the test's end closes. */
export async function replayAll(
  { catalogue, clock }: TestWorkspace,
  folder: string,
  options: Partial<ReplayOptions> = {},
): Promise<ReplayResult & { warehouse: Warehouse }> {
  const warehouse = await openWarehouse(join(await temporaryFolder(), 'replayed.duckdb'), catalogue, {});
  onTestFinished(() => warehouse.close());
  const records = await openRecorder({ catalogue, warehouse, clock, raw: null });
  const { signal } = new AbortController();
  const parts = { catalogue, warehouse: records.warehouse, folder, clock, signal };
  const result = await replayPages(parts, { from: null, to: null, only: null, runs: true, ...options });
  await records.close();
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
