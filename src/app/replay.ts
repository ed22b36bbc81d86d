import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { SightlineError } from '../base/errors.ts';
import { ensureWritableFolder, publishByRename, syncToDisk } from '../base/files.ts';
import { learnConventions } from '../metrics/learn.ts';
import { type Layout, layoutOf } from '../snapshot/layout.ts';
import { listRawFiles } from '../sync/raw.ts';
import { openRecords } from '../sync/records.ts';
import { type ReplayResult, replayPages } from '../sync/replay.ts';
import { carryOver, copyWarehouse, emptyResources, findMissing, type MissingRows } from '../warehouse/rebuild.ts';
import { openWarehouse, type Warehouse } from '../warehouse/warehouse.ts';
import { type Context, catalogue, publish, withWarehouse } from './workspace.ts';

/** What `replayWorkspace` is asked to do. */
export interface ReplayRequest {
  /** Days, UTC, both included, on which upstream sent the pages; null for no bound. */
  readonly from: string | null;
  readonly to: string | null;
  /** Resources, with those that fill the same tables; null for all. */
  readonly only: readonly string[] | null;
  /** A new file to build; null to build the workspace's warehouse anew. */
  readonly into: string | null;
  /** Whether the new warehouse is put in place even if it lacks rows that the old one has, or pages were damaged. */
  readonly acceptMissing: boolean;
}

/** What a replay made. */
export interface ReplaySummary extends ReplayResult {
  readonly status: 'complete' | 'partial';
  /** The file that was made. */
  readonly path: string;
  /** Whether it is the workspace's warehouse now. */
  readonly replaced: boolean;
  /** Where the warehouse is that it replaced, or null. */
  readonly kept: string | null;
  /** Rows of the warehouse as it was that the new one lacks. */
  readonly missing: readonly MissingRows[];
}

type OnProgress = (done: number, of: number) => void;

const RESOURCES = { memoryLimitMb: 256 } as const;

/**
 * Builds tables anew from the pages that were kept, aside, and puts them in place of the workspace's warehouse once they
 * are whole: never half, and the old file is kept. What would lose rows, or met damage, stays aside.
 */
export async function replayWorkspace(
  context: Context,
  request: ReplayRequest,
  onProgress: OnProgress,
): Promise<ReplaySummary> {
  const layout = layoutOf(context.config.folder);
  if ((await listRawFiles(layout.raw)).length === 0) {
    throw new SightlineError('no_data', `workspace ${context.config.name} has no raw pages in ${layout.raw}`);
  }
  const only = request.only === null ? null : withSharedTables(request.only);
  if (request.into !== null) return replayInto(context, request, only, resolve(request.into), onProgress);
  const summary = await replaceWarehouse(context, request, only, layout, onProgress);
  if (summary.replaced) {
    await withWarehouse(context, RESOURCES, async ({ warehouse, copy }) => {
      await learnConventions(warehouse.database, { now: context.clock.now(), onlyIfNone: true }).catch(() => undefined);
      await publish(warehouse, layout, copy);
    });
  }
  return summary;
}

async function replayInto(
  context: Context,
  request: ReplayRequest,
  only: ReadonlySet<string> | null,
  path: string,
  onProgress: OnProgress,
): Promise<ReplaySummary> {
  if (existsSync(path)) throw new SightlineError('usage', `--into ${path} is there already; allowed: a new file`);
  await ensureWritableFolder(resolve(path, '..'));
  try {
    const result = await build(context, path, { ...request, only, runs: true }, onProgress);
    const status = result.damages.length > 0 ? 'partial' : 'complete';
    return { ...result, status, path, replaced: false, kept: null, missing: [] };
  } catch (thrown) {
    await removeDatabase(path);
    throw thrown;
  }
}

// Whoever owns the warehouse owns it until the new one is in its place.
async function replaceWarehouse(
  context: Context,
  request: ReplayRequest,
  only: ReadonlySet<string> | null,
  layout: Layout,
  onProgress: OnProgress,
): Promise<ReplaySummary> {
  const aside = join(context.config.folder, '.replay.duckdb');
  const target = { layout, aside, isUnreadable: false };
  let isOwned = false;
  try {
    if (existsSync(layout.warehouse)) {
      return await withWarehouse(context, RESOURCES, async ({ warehouse }) => {
        isOwned = true;
        await removeDatabase(aside);
        return settle(context, request, target, warehouse, only, onProgress);
      });
    }
  } catch (thrown) {
    // A file that cannot be opened can be owned by nobody. It is kept, and there is nothing in it to compare with.
    if (isOwned || !(thrown instanceof SightlineError) || thrown.code !== 'warehouse_invalid') throw thrown;
    target.isUnreadable = true;
  } finally {
    if (isOwned) await removeDatabase(aside);
  }
  // What an earlier replay left is removed, but not while it is at work: opening says so.
  if (existsSync(aside)) await inWarehouse(aside, async () => undefined).catch(throwIfLocked);
  await removeDatabase(aside);
  try {
    return await settle(context, request, target, null, only, onProgress);
  } finally {
    await removeDatabase(aside);
  }
}

function throwIfLocked(thrown: unknown): void {
  if (thrown instanceof SightlineError && thrown.code === 'warehouse_locked') throw thrown;
}

interface Target {
  readonly layout: Layout;
  /** Where the new file is made. */
  readonly aside: string;
  /** Whether there is a file in its place that no one can open. */
  readonly isUnreadable: boolean;
}

async function settle(
  context: Context,
  request: ReplayRequest,
  { layout, aside, isUnreadable }: Target,
  old: Warehouse | null,
  only: ReadonlySet<string> | null,
  onProgress: OnProgress,
): Promise<ReplaySummary> {
  // With some resources only, all the others stay as they are, and so do the runs.
  const isPart = old !== null && only !== null;
  if (isPart) {
    await copyWarehouse(old.database, aside);
    await inWarehouse(aside, ({ database }) => emptyResources(database, catalogue, only));
  }
  const result = await build(context, aside, { ...request, only, runs: !isPart }, onProgress);
  const missing = old === null ? [] : await findMissing(old.database, aside, catalogue);
  if (old !== null) await carryOver(old.database, aside);
  const isWhole = missing.length === 0 && result.damages.length === 0;
  const stamp = new Date(context.clock.now()).toISOString().replace(/[-:]|\.\d+/g, '');
  const summary = { ...result, status: isWhole ? 'complete' : 'partial', missing } as const;
  await syncToDisk(aside);
  // Where there was nothing, what is left of the pages is better than nothing; the next sync reads the rest.
  if (!isWhole && old !== null && !request.acceptMissing) {
    const path = join(context.config.folder, `warehouse.replayed-${stamp}.duckdb`);
    await publishByRename(aside, path);
    return { ...summary, path, replaced: false, kept: null };
  }
  if (old === null && !isUnreadable && existsSync(layout.warehouse)) {
    throw new SightlineError('warehouse_locked', `another process has made ${layout.warehouse} during the replay`);
  }
  const kept = existsSync(layout.warehouse) ? join(context.config.folder, `warehouse.${stamp}.duckdb`) : null;
  if (kept !== null) await keepOld(layout.warehouse, kept, old);
  await publishByRename(aside, layout.warehouse);
  return { ...summary, path: layout.warehouse, replaced: true, kept };
}

/**
 * Moves a warehouse away to another name. With its log written into it, the old file is whole by itself; one that cannot be
 * opened (`old` is null) keeps its log beside it.
 */
export async function keepOld(path: string, kept: string, old: Warehouse | null): Promise<void> {
  await old?.database.exclusive((session) => session.run('CHECKPOINT'));
  if (old === null && existsSync(`${path}.wal`)) await rename(`${path}.wal`, `${kept}.wal`);
  await rename(path, kept);
}

async function build(
  { clock, signal, config }: Context,
  path: string,
  options: Parameters<typeof replayPages>[1],
  onProgress: OnProgress,
): Promise<ReplayResult> {
  return inWarehouse(path, async (opened) => {
    const records = await openRecords({ catalogue, warehouse: opened, clock, raw: null });
    const folder = layoutOf(config.folder).raw;
    const result = await replayPages({ catalogue, warehouse: records.warehouse, folder, signal, onProgress }, options);
    await records.close();
    return result;
  });
}

async function inWarehouse<T>(path: string, work: (warehouse: Warehouse) => Promise<T>): Promise<T> {
  const warehouse = await openWarehouse(path, catalogue, RESOURCES);
  try {
    const result = await work(warehouse);
    await warehouse.database.exclusive((session) => session.run('CHECKPOINT'));
    return result;
  } finally {
    await warehouse.close();
  }
}

// A table that several resources fill is built anew from all of them.
function withSharedTables(names: readonly string[]): ReadonlySet<string> {
  const known = catalogue.resources.map((resource) => resource.name);
  for (const name of names) {
    if (known.includes(name)) continue;
    throw new SightlineError('usage', `there is no resource ${JSON.stringify(name)}; allowed: ${known.join(', ')}`);
  }
  const tablesOf = (name: string): string[] => catalogue.get(name).derived.map((table) => table.name);
  const tables = new Set(names.flatMap(tablesOf));
  return new Set(known.filter((name) => tablesOf(name).some((table) => tables.has(table))));
}

/** Removes a database file that is made aside, with its log, where it is there. */
export async function removeDatabase(path: string): Promise<void> {
  await rm(path, { force: true });
  await rm(`${path}.wal`, { force: true });
}
