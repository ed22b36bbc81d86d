import type { Clock } from '../base/clock.ts';
import { checkRoom, explainFullDisk, withDiskNeed } from '../base/disk-need.ts';
import { DONE, type Ending, endingOfError } from '../base/ending.ts';
import { SightlineError, toSightlineError } from '../base/errors.ts';
import { brandListOf, type Catalogue } from '../contract/catalogue.ts';
import { calibrateConventions } from '../metrics/calibration/calibrate.ts';
import { layoutOf } from '../publish/snapshot/layout.ts';
import type { AskUpstream } from '../sync/ask-upstream.ts';
import { openDriftWatch } from '../sync/drift-watch.ts';
import { keepProgress } from '../sync/progress-file.ts';
import { progressOf } from '../sync/progress.ts';
import { openRawArchive } from '../sync/raw/raw-archive.ts';
import { runSync, type SyncSummary } from '../sync/run-sync.ts';
import type { SyncOptions } from '../sync/sync-options.ts';
import { createSyncStats, type SyncStats } from '../sync/sync-stats.ts';
import { withAllowance } from '../upstream/allowance.ts';
import type { Budget } from '../upstream/budget/budget.ts';
import { type OpenedBudget, openBudgetAt } from '../upstream/budget/open-budget.ts';
import { type Client, createClient } from '../upstream/client.ts';
import { UpstreamError } from '../upstream/errors.ts';
import { readBrandList } from '../warehouse/brand-list.ts';
import { totalsOf, totalsResources } from '../warehouse/ledger/reported-totals.ts';
import type { RunKind } from '../warehouse/ledger/runs.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { catalogueOf } from '../workspace/catalogues.ts';
import { type Context, type Opened, publish, publishMidway, withWarehouse } from '../workspace/workspace.ts';
import { chooseBrandIds } from './choose-brands.ts';
import { chooseResources } from './choose-resources.ts';
import { estimateSync } from './disk-estimates.ts';
import { notifyOfSync } from './notify/notify-of.ts';
import { probeUpstream } from './probe-upstream.ts';
import { createMidwayPublisher } from './publish-midway.ts';

/** Called with the sync stats and the budget while a sync runs. */
export type OnProgress = (stats: SyncStats, budget: Budget) => void;

/**
 * Pages are small: two threads write them no faster than one. Rows of many brands since the last checkpoint take up to 190 MB, which DuckDB
 * cannot move to disk.
 */
export const SYNC_RESOURCES = { memoryLimitMb: 224, threads: 1 } as const;

/**
 * Syncs a workspace, then publishes the replica.
 *
 * @throws `folder_unwritable`, `disk_full` before the first request if the disk has less free space than `estimateSync`, and the errors of
 * `withWarehouse`.
 */
export async function syncWorkspace(
  context: Context,
  options: SyncOptions,
  onProgress: OnProgress,
): Promise<SyncSummary> {
  // Throws before anything is opened if the API key is missing.
  context.config.upstream();
  const only = chooseResources(catalogueOf(context.config), options.only);
  const need = estimateSync(context.config);
  checkRoom(need);
  return withDiskNeed(need, () => syncAndPublish(context, { ...options, only }, onProgress));
}

function syncAndPublish(context: Context, options: SyncOptions, onProgress: OnProgress): Promise<SyncSummary> {
  return withWarehouse(context, SYNC_RESOURCES, async (opened, inside) => {
    const brands = await resolveBrands(inside, opened, options.brands);
    const [summary] = await syncOpened(inside, opened, 'sync', [{ ...options, brands }], onProgress);
    await publish(opened.warehouse, opened.layout, opened.copy);
    return summary as SyncSummary;
  });
}

/**
 * Returns the ids of the selected brands; null for all. Reads the list of brands from upstream only if none is stored.
 *
 * @throws `usage` for an unknown brand, before any run of the selection begins.
 */
export async function resolveBrands(
  context: Context,
  opened: Opened,
  wanted: readonly string[] | null,
): Promise<string[] | null> {
  if (wanted === null) return null;
  const { catalogue } = opened.warehouse;
  const read = () => opened.warehouse.database.exclusive(({ query }) => readBrandList(query, catalogue));
  let known = await read();
  if (known.length === 0) {
    const lists = { only: [brandListOf(catalogue).name], range: null, brands: null };
    const [listed] = await syncOpened(context, opened, 'plan', [lists], () => undefined);
    if (listed?.error) throw listed.error;
    known = await read();
  }
  return chooseBrandIds(known, wanted);
}

/** Parts of `syncAndNotify`. */
export interface NotifiedSync {
  /** The job whose step the sync is, or null. */
  readonly job: string | null;
  readonly onProgress: OnProgress;
  /** Called with the summary before notifications are sent. Not called if the sync throws. */
  readonly onEnd: (summary: SyncSummary, elapsedMs: number) => Promise<void>;
}

/** Syncs a workspace, publishes the replica, and notifies the configured webhooks of the result. */
export async function syncAndNotify(
  context: Context,
  options: SyncOptions,
  { job, onProgress, onEnd }: NotifiedSync,
): Promise<SyncSummary> {
  // Validate the webhook settings before the sync, so that a mistake is reported at once.
  context.config.notify();
  const startedAt = context.clock.monotonic();
  let summary: SyncSummary;
  try {
    summary = await syncWorkspace(context, options, onProgress);
  } catch (thrown) {
    await notifyOfSync(context, options, toSightlineError(thrown), job);
    throw thrown;
  }
  await onEnd(summary, context.clock.monotonic() - startedAt);
  await notifyOfSync(context, options, summary, job);
  return summary;
}

/** How a sync ended. The reason of a partial sync is its first failure or the allowance that was used up. */
export function endingOfSync({ status, error, failures, allowance }: SyncSummary): Ending {
  if (error !== null) return endingOfError(error);
  if (status !== 'partial') return DONE;
  const [first] = failures;
  return { status, code: null, error: first === undefined ? allowance : `${first.slice}: ${first.message}` };
}

/**
 * Runs one sync per element of `runs` in an open warehouse, with one client and one budget. The allowance of the first element
 * applies to all. Stops after a run that ends with an error. The caller publishes the replica.
 */
export async function syncOpened(
  context: Context,
  opened: Opened,
  kind: RunKind,
  runs: readonly SyncOptions[],
  onProgress: OnProgress,
): Promise<SyncSummary[]> {
  opened.copy.isCurrent = false;
  const { connections } = context.config;
  return withClient(context, { connections, allowance: runs[0]?.allowance }, (client, budget) =>
    syncThrough(context, opened, runs, { kind, client, budget, onProgress }),
  );
}

interface Through {
  readonly kind: RunKind;
  readonly client: Client;
  readonly budget: Budget;
  readonly onProgress: OnProgress;
}

async function syncThrough(
  { config, clock, signal, command, trigger = 'command' }: Context,
  { warehouse, layout, copy }: Opened,
  runs: readonly SyncOptions[],
  { kind, client, budget, onProgress }: Through,
): Promise<SyncSummary[]> {
  const { connections } = config;
  const { catalogue } = warehouse;
  const summaries: SyncSummary[] = [];
  const removesExpired = runs.some(({ acceptExpiry }) => acceptExpiry === true);
  const { database } = warehouse;
  const archive = await openRawArchive({
    database,
    clock,
    folder: layout.raw,
    limits: { days: config.rawDays, megabytes: config.rawMegabytes },
    removesExpired,
  });
  const drift = await openDriftWatch(catalogue, database);
  const startedAt = clock.monotonic();
  let stats: SyncStats = createSyncStats();
  const progressFile = keepProgress({ folder: config.folder, clock, command }, () =>
    progressOf(stats, budget.state(), clock.monotonic() - startedAt),
  );
  const midway = createMidwayPublisher({
    clock,
    publish: () => publishMidway(warehouse, layout, copy),
  });
  const take = (latest: SyncStats): void => {
    stats = latest;
    midway.onProgress();
    onProgress(latest, budget);
  };
  try {
    const parts = {
      catalogue,
      warehouse,
      archive,
      drift,
      client,
      clock,
      clockPolicy: config.clock,
      basePath: basePathOf(config.upstream()),
      selection: config.resources,
      connections,
      signal,
      origin: { kind, trigger },
      onProgress: take,
      onMilestone: midway.milestone,
      onRead: async (ask: AskUpstream, read: SyncStats) => {
        if (kind !== 'sync' || !hasEvidence(catalogue, Object.fromEntries(read.tables))) return;
        await probeUpstream({ catalogue, database, clock, signal, max: config.probes, budget, stats: read }, ask);
      },
    };
    for (const options of runs) {
      const summary = await runSync(parts, { rereads: config.rereadRequests, ...options });
      const notes = await calibrate(warehouse, summary, clock);
      const error = withAddress(explainFullDisk(summary.error, estimateSync(config)), config.upstream().baseUrl);
      const warnings = [...summary.warnings, ...notes, ...archive.takeWarnings()];
      summaries.push({ ...summary, warnings, drift: drift.takeCounts(), error });
      if (error !== null) break;
    }
  } finally {
    await midway.close();
    await progressFile.close();
    await drift.close(clock.now());
    await archive.close();
  }
  // Closing the archive may add warnings, which belong to the last run.
  const last = summaries.pop();
  return last === undefined ? [] : [...summaries, { ...last, warnings: [...last.warnings, ...archive.takeWarnings()] }];
}

/**
 * Opens the budget of a workspace. Workspaces with the same API key share it, within one data folder or one PostgreSQL database.
 * `onTrouble` is called once when that database becomes unreachable, and once when it is back.
 */
export async function openBudget({
  config,
  clock,
  signal,
  onTrouble: say = () => undefined,
}: Pick<Context, 'config' | 'clock' | 'signal' | 'onTrouble'>): Promise<OpenedBudget> {
  const { key } = config.upstream();
  const settings = config.budget();
  const home =
    settings.kind === 'postgres' ? settings : { kind: settings.kind, folder: layoutOf(config.folder).budgets };
  return openBudgetAt(home, {
    key,
    share: config.budgetShare,
    clock,
    say,
    signal,
  });
}

/** Calls `work` with a client of upstream and the budget of the workspace, and closes both. */
export async function withClient<T>(
  context: Parameters<typeof openBudget>[0],
  { connections, allowance }: { readonly connections: number; readonly allowance?: SyncOptions['allowance'] },
  work: (client: Client, budget: Budget) => Promise<T>,
): Promise<T> {
  const { config, clock } = context;
  const { budget, close } = await openBudget(context);
  const allowed = allowance === undefined ? budget : withAllowance(budget, allowance, clock);
  const client = createClient({ ...config.upstream(), budget: allowed, clock, connections });
  try {
    return await work(client, budget);
  } finally {
    await client.close();
    await close();
  }
}

/** Returns the path of the base URL, such as `/v1`, without a trailing slash. */
export function basePathOf({ baseUrl }: { readonly baseUrl: string }): string {
  return new URL(baseUrl).pathname.replace(/\/+$/, '');
}

// Whether tables have changed from which conventions can be inferred. The totals of days are completed in the background.
function hasEvidence(catalogue: Catalogue, tables: SyncSummary['tables']): boolean {
  const totals = totalsResources(catalogue).map((resource) => totalsOf(resource)?.table);
  return Object.entries(tables).some(
    ([name, { inserted, updated, deleted }]) => inserted + updated + deleted > 0 && !totals.includes(name),
  );
}

// Calibrates how upstream computes its numbers. A failure is a warning, because the data are complete without it.
async function calibrate(warehouse: Warehouse, summary: SyncSummary, clock: Clock): Promise<SyncSummary['warnings']> {
  const { catalogue } = warehouse;
  if (summary.error !== null) return [];
  const isChanged = hasEvidence(catalogue, summary.tables);
  try {
    const { database } = warehouse;
    return notesOf(await calibrateConventions(database, { catalogue, now: clock.now(), onlyIfNone: !isChanged }));
  } catch (thrown) {
    const { code, message } = toSightlineError(thrown);
    return [{ slice: 'conventions', code, message: `cannot calibrate how upstream computes its numbers: ${message}` }];
  }
}

function notesOf(contradicted: readonly string[]): SyncSummary['warnings'] {
  if (contradicted.length === 0) return [];
  const names = contradicted.join(', ');
  const message = `upstream's numbers are not conclusive, so defaults are used for ${names}; see sync.calibration for the reasons`;
  return [{ slice: 'conventions', code: 'bad_answer', message }];
}

// Adds the base URL to the message, because a wrong URL is a common cause of an unexpected response.
function withAddress(error: SightlineError | null, baseUrl: string): SightlineError | null {
  if (!(error instanceof UpstreamError) || error.message.includes(new URL(baseUrl).origin)) return error;
  return new SightlineError(error.code, `${error.message.replace(/\.$/, '')}; the base URL is ${baseUrl}`, {
    cause: error,
  });
}
