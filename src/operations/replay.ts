import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { withDiskNeed } from '../base/disk-need.ts';
import { SightlineError } from '../base/errors.ts';
import { ensureWritableFolder, publishByRename, syncToDisk } from '../base/files.ts';
import type { Catalogue } from '../contract/catalogue.ts';
import { number, type ValueOf } from '../contract/operation/json-parts.ts';
import { type Layout, layoutOf } from '../publish/snapshot/layout.ts';
import { openDriftWatch } from '../sync/drift-watch.ts';
import { listRawFiles } from '../sync/raw/raw-log.ts';
import { type ReplayResult, replayPages, replayResult } from '../sync/raw/replay-pages.ts';
import { DamagedFile } from '../warehouse/errors.ts';
import { checkDatabasePath, removeDatabase } from '../warehouse/file/copy-database.ts';
import { carryOver, copyWarehouse, emptyResources, findMissing } from '../warehouse/file/rebuild.ts';
import { builtInCatalogue, catalogueOf } from '../workspace/catalogues.ts';
import { withSession } from '../workspace/session.ts';
import { readStoredForms } from '../workspace/stored-forms-file.ts';
import type { Context } from '../workspace/workspace.ts';
import { inWarehouse, keepOld, publishReplaced, type Replaceable, replaceWarehouse } from './backup/replacement.ts';
import { chooseResources } from './choose-resources.ts';
import { estimateCopy } from './disk-estimates.ts';
import { checkNotOwnFile } from './own-files.ts';

/** Options of `replayWorkspace`. */
export interface ReplayRequest {
  /** First and last day (UTC, inclusive) on which the pages were received; null for no bound. */
  readonly from: string | null;
  readonly to: string | null;
  /** Names of resources; null for all. Resources that fill the same tables are added. */
  readonly only: readonly string[] | null;
  /** Path of a new file; null to rebuild the workspace's warehouse. */
  readonly into: string | null;
  /** Whether to use the new warehouse even if it lacks rows of the old one or pages were damaged. */
  readonly acceptMissing: boolean;
}

/** Result of rebuilding a warehouse from raw pages. */
export const replaySummary = replayResult.extend({
  status: z.enum(['complete', 'partial']),
  path: z.string().describe('path of the new file'),
  replaced: z.boolean().describe("whether the new file has replaced the workspace's warehouse"),
  kept: z.string().nullable().describe('path of the replaced warehouse'),
  missing: z.array(z.object({ table: z.string(), rows: number })).describe('rows that the new file lacks'),
});

/** Result of rebuilding a warehouse from raw pages. */
export type ReplaySummary = ValueOf<typeof replaySummary>;

type OnProgress = (done: number, of: number) => void;

/**
 * Rebuilds tables from the stored raw pages in a new file, replaces the workspace's warehouse with it by rename, and keeps the
 * old file. If the new file lacks rows or pages were damaged, it is kept beside the warehouse instead.
 */
export function replayWorkspace(
  context: Context,
  request: ReplayRequest,
  onProgress: OnProgress,
): Promise<ReplaySummary> {
  const { folder } = context.config;
  const need = estimateCopy(context.config, {
    folder: request.into === null ? folder : dirname(resolve(request.into)),
    by: 'the replayed warehouse',
    unchanged: 'the warehouse is unchanged',
  });
  return withDiskNeed(need, () => withSession(context, 'wait', (inside) => replay(inside, request, onProgress)));
}

async function replay(context: Context, request: ReplayRequest, onProgress: OnProgress): Promise<ReplaySummary> {
  const chosen = chooseResources(catalogueOf(context.config), request.only);
  const layout = layoutOf(context.config.folder);
  if ((await listRawFiles(layout.raw)).length === 0) {
    throw new SightlineError('no_data', `workspace ${context.config.name} has no raw pages in ${layout.raw}`);
  }
  const only = chosen === null ? null : withSharedTables(catalogueOf(context.config), chosen);
  const fill: Fill = (path, runs) => build(context, path, { ...request, only, runs }, onProgress);
  if (request.into !== null) return replayInto(context.config.folder, resolve(request.into), fill);
  const aside = join(context.config.folder, '.replay.duckdb');
  // A file that cannot be opened is kept but not compared.
  const summary = await replaceWarehouse(context, { aside, despite: ['warehouse_invalid'] }, (replaceable) =>
    settle(context, request, { layout, aside, ...replaceable }, only, fill),
  );
  if (summary.replaced) await publishReplaced(context, 'replay');
  return summary;
}

/** Fills a new warehouse from the raw pages; `runs`: whether to write runs too. */
type Fill = (path: string, runs: boolean) => Promise<ReplayResult>;

async function replayInto(folder: string, path: string, fill: Fill): Promise<ReplaySummary> {
  checkDatabasePath(path);
  await checkNotOwnFile(folder, path, `--into ${path}`);
  if (existsSync(path)) throw new SightlineError('usage', `--into ${path} already exists; allowed: a new file`);
  await ensureWritableFolder(resolve(path, '..'));
  try {
    const result = await fill(path, true);
    const status = result.damages.length > 0 ? 'partial' : 'complete';
    return { ...result, status, path, replaced: false, kept: null, missing: [] };
  } catch (thrown) {
    await removeDatabase(path);
    throw thrown;
  }
}

interface Target extends Replaceable {
  readonly layout: Layout;
  /** Path at which the new file is built. */
  readonly aside: string;
}

async function settle(
  context: Context,
  request: ReplayRequest,
  { layout, aside, old, stamp, refuseIfTaken }: Target,
  only: ReadonlySet<string> | null,
  fill: Fill,
): Promise<ReplaySummary> {
  if (old === null && existsSync(layout.warehouse) && (request.only ?? request.from ?? request.to) !== null) {
    throw new DamagedFile(
      layout.warehouse,
      `${layout.warehouse} is damaged, so a replay must include all resources and days`,
    );
  }
  // A replay of some resources copies the runs and all other resources from the old file.
  const isPart = old !== null && only !== null;
  if (isPart) {
    await copyWarehouse(old.database, aside);
    await inWarehouse(aside, old.catalogue, ({ database, catalogue }) => emptyResources(database, catalogue, only));
  }
  const result = await fill(aside, !isPart);
  const missing = old === null ? [] : await findMissing(old.database, aside, old.catalogue);
  if (old !== null) await carryOver(old.database, aside);
  const isComplete = missing.length === 0 && result.damages.length === 0;
  const summary = { ...result, status: isComplete ? 'complete' : 'partial', missing } as const;
  await syncToDisk(aside);
  // Without an old warehouse, use an incomplete one; the next sync fetches the rest.
  if (!isComplete && old !== null && !request.acceptMissing) {
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
  return inWarehouse(path, builtInCatalogue, async (warehouse) => {
    await warehouse.endpoints.adopt(readStoredForms(layoutOf(config.folder).endpoints), clock.now());
    const drift = await openDriftWatch(warehouse.catalogue, warehouse.database);
    const folder = layoutOf(config.folder).raw;
    const result = await replayPages(
      { catalogue: warehouse.catalogue, warehouse, drift, folder, clock, signal, onProgress },
      options,
    );
    await drift.close(clock.now());
    return result;
  });
}

// A table that several resources fill must be rebuilt from all of them.
function withSharedTables(catalogue: Catalogue, names: readonly string[]): ReadonlySet<string> {
  const known = catalogue.resources.map((resource) => resource.name);
  const tablesOf = (name: string): string[] => catalogue.get(name).derived.map((table) => table.name);
  const tables = new Set(names.flatMap(tablesOf));
  return new Set(known.filter((name) => tablesOf(name).some((table) => tables.has(table))));
}
