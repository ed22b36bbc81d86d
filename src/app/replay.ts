import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { SightlineError } from '../base/errors.ts';
import { ensureWritableFolder, publishByRename, syncToDisk } from '../base/files.ts';
import { learnConventions } from '../metrics/learn.ts';
import { type Layout, layoutOf } from '../snapshot/layout.ts';
import { listRawFiles } from '../sync/raw.ts';
import { openRecords } from '../sync/records.ts';
import { type ReplayResult, replayPages } from '../sync/replay.ts';
import { checkDatabasePath, removeDatabase } from '../warehouse/copy-database.ts';
import { DamagedFile } from '../warehouse/errors.ts';
import { carryOver, copyWarehouse, emptyResources, findMissing, type MissingRows } from '../warehouse/rebuild.ts';
import { withHome } from './home.ts';
import { checkNotOwnFile } from './own-files.ts';
import { inWarehouse, keepOld, REPLACEMENT_RESOURCES, type Replaceable, replaceWarehouse } from './replacement.ts';
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

/**
 * Builds tables anew from the pages that were kept, aside, and puts them in place of the workspace's warehouse once they
 * are whole: never half, and the old file is kept. What would lose rows, or met damage, stays aside.
 */
export function replayWorkspace(
  context: Context,
  request: ReplayRequest,
  onProgress: OnProgress,
): Promise<ReplaySummary> {
  return withHome(context, null, (inside) => replay(inside, request, onProgress));
}

async function replay(context: Context, request: ReplayRequest, onProgress: OnProgress): Promise<ReplaySummary> {
  const layout = layoutOf(context.config.folder);
  if ((await listRawFiles(layout.raw)).length === 0) {
    throw new SightlineError('no_data', `workspace ${context.config.name} has no raw pages in ${layout.raw}`);
  }
  const only = request.only === null ? null : withSharedTables(request.only);
  if (request.into !== null) return replayInto(context, request, only, resolve(request.into), onProgress);
  const aside = join(context.config.folder, '.replay.duckdb');
  // A file that cannot be opened is kept, and there is nothing in it to compare with.
  const summary = await replaceWarehouse(context, { aside, despite: ['warehouse_invalid'] }, (replaceable) =>
    settle(context, request, { layout, aside, ...replaceable }, only, onProgress),
  );
  if (summary.replaced) {
    await withWarehouse(context, REPLACEMENT_RESOURCES, async ({ warehouse, copy }) => {
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
  checkDatabasePath(path);
  await checkNotOwnFile(context.config.folder, path, `--into ${path}`);
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

interface Target extends Replaceable {
  readonly layout: Layout;
  /** Where the new file is made. */
  readonly aside: string;
}

async function settle(
  context: Context,
  request: ReplayRequest,
  { layout, aside, old, stamp, refuseIfTaken }: Target,
  only: ReadonlySet<string> | null,
  onProgress: OnProgress,
): Promise<ReplaySummary> {
  if (old === null && existsSync(layout.warehouse) && (request.only ?? request.from ?? request.to) !== null) {
    throw new DamagedFile(
      layout.warehouse,
      `${layout.warehouse} is damaged: nothing can be kept of it, so a replay must include all resources and days`,
    );
  }
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
  const summary = { ...result, status: isWhole ? 'complete' : 'partial', missing } as const;
  await syncToDisk(aside);
  // Where there was nothing, what is left of the pages is better than nothing; the next sync reads the rest.
  if (!isWhole && old !== null && !request.acceptMissing) {
    const path = join(context.config.folder, `warehouse.replayed-${stamp}.duckdb`);
    await publishByRename(aside, path);
    return { ...summary, path, replaced: false, kept: null };
  }
  refuseIfTaken();
  const kept = existsSync(layout.warehouse) ? join(context.config.folder, `warehouse.${stamp}.duckdb`) : null;
  if (kept !== null) await keepOld(layout.warehouse, kept, old);
  await publishByRename(aside, layout.warehouse);
  return { ...summary, path: layout.warehouse, replaced: true, kept };
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
    const parts = { catalogue, warehouse: records.warehouse, folder, clock, signal, onProgress };
    const result = await replayPages(parts, options);
    await records.close();
    return result;
  });
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
