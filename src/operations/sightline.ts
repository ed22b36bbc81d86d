import { type Clock, systemClock } from '../base/clock.ts';
import { loadConfig, type WorkspaceConfig } from '../base/config/config.ts';
import { readEnvironment } from '../base/config/environment.ts';
import { COMPARE_REQUESTS } from '../jobs/job.ts';
/**
 * The package's entry for programs, `import { openContext, sync, query } from '@sightline-mirror/sightline'`. Nothing in `src` imports it. Each function
 * is the operation of the command with the same name, loads its code when it is first called, and prints nothing.
 *
 * @module
 */
import type { CalibratedPoint } from '../metrics/calibration/calibrated-points.ts';
import type { SyncSummary } from '../sync/run-sync.ts';
import type { SyncOptions } from '../sync/sync-options.ts';
import type { QueryResult } from '../warehouse/reader.ts';
import type { QueryLimits } from '../warehouse/sql/guarded-protocol.ts';
import type { Context } from '../workspace/workspace.ts';
import type { Backup } from './backup/backup.ts';
import type { Comparison } from './compare/compare-question.ts';
import type { CompareRequest } from './compare/compare.ts';
import type { Exported, ExportProgress } from './export.ts';
import type { PricedPlan } from './plan.ts';
import type { WorkspaceStatus } from './status.ts';
import type { OnProgress } from './sync.ts';
import type { Verification, VerifyRequest } from './verify.ts';
import type { ReportRequest, WrittenReport } from './write-report.ts';

export { type ErrorCode, SightlineError } from '../base/errors.ts';
export type {
  Backup,
  CalibratedPoint,
  Clock,
  CompareRequest,
  Comparison,
  Context,
  Exported,
  ExportProgress,
  OnProgress,
  PricedPlan,
  QueryResult,
  SyncOptions,
  SyncSummary,
  Verification,
  VerifyRequest,
  WorkspaceStatus,
  WrittenReport,
};

/** Settings of `openContext`. All are optional. */
export interface ContextSettings {
  /** Name of the workspace; default: SIGHTLINE_WORKSPACE, the only configured workspace, or `default`. */
  readonly workspace?: string;
  /** Folder with one folder per workspace; default: SIGHTLINE_DATA_DIR, the configuration file, or `data`. */
  readonly dataDir?: string;
  /** Base URL of the API; default: SIGHTLINE_BASE_URL or the configuration file. */
  readonly baseUrl?: string;
  /** Folder of `sightline.config.json` and `.env`, to which other paths are relative; default: the current folder. */
  readonly folder?: string;
  /** Variables, such as SIGHTLINE_API_KEY; default: `.env` and the environment of the process. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Time and randomness; default: those of the machine. */
  readonly clock?: Clock;
  /** Stops the operation when it is aborted. Committed pages are kept, and the next sync resumes. */
  readonly signal?: AbortSignal;
  /** Name of the program, shown to other processes while it owns the warehouse; default: `program`. */
  readonly command?: string;
  /** Called with a description of the current owner if an operation waits for the warehouse. */
  readonly onWait?: (current: string) => void;
  /** Called with a sentence when a shared service becomes unreachable, and when it is back. */
  readonly onTrouble?: (sentence: string) => void;
}

/**
 * Reads and validates the settings of one workspace. Opens no file of it; a context can be used for any number of operations, one
 * after the other.
 *
 * @throws {SightlineError} `config_invalid` with the setting's name and its allowed values
 * @example
 * const context = openContext({ workspace: 'acme', signal: AbortSignal.timeout(600_000) });
 */
export function openContext(settings: ContextSettings = {}): Context {
  const { workspace, dataDir, baseUrl, folder = process.cwd(), environment = readEnvironment(folder) } = settings;
  const {
    clock = systemClock,
    signal = new AbortController().signal,
    command = 'program',
    onWait,
    onTrouble,
  } = settings;
  const flags = {
    ...(workspace === undefined ? {} : { workspace }),
    ...(dataDir === undefined ? {} : { dataDir }),
    ...(baseUrl === undefined ? {} : { baseUrl }),
  };
  return {
    config: loadConfig({ flags, environment, folder }),
    clock,
    signal,
    command,
    trigger: 'program',
    ...(onWait === undefined ? {} : { onWait }),
    ...(onTrouble === undefined ? {} : { onTrouble }),
  };
}

/** Options of `sync`. Without `only`, `brands` and `range` it fetches everything that may have changed. */
export interface SyncRequest extends Partial<SyncOptions> {
  /** Called with the counters of the sync and the state of the request budget after every change. */
  readonly onProgress?: OnProgress;
}

/**
 * Fetches changes into the warehouse, publishes the replica and notifies the configured webhooks. A sync that ends early does not
 * throw: `status` of its summary is then `failed`, `partial` or `interrupted`, with the reason in `error` or `failures`.
 *
 * @throws {SightlineError} `config_invalid` if address or key are missing, `usage` for an unknown resource, `warehouse_locked` if another
 * process owns the warehouse and does not share it, and `warehouse_invalid`, `disk_full` or `folder_unwritable`
 * @example
 * const summary = await sync(context, { only: ['brands', 'responses'], range: { from: '2026-11-01', to: '2026-11-07' } });
 * if (summary.status !== 'complete') console.error(summary.error ?? summary.failures);
 */
export async function sync(
  context: Context,
  { onProgress = ignore, ...options }: SyncRequest = {},
): Promise<SyncSummary> {
  const { syncAndNotify } = await import('./sync.ts');
  return syncAndNotify(context, toSyncOptions(options), { job: null, onProgress, onEnd: async () => undefined });
}

/** Options of `plan`. */
export interface PlanRequest extends Partial<SyncOptions> {
  /** Plans from the stored data, without requests; default: false. */
  readonly offline?: boolean;
}

/**
 * Plans a sync and estimates its requests. Unless `offline`, it first refreshes the lists and day counts, which takes a few requests per
 * brand. If that fails, `error` of the plan is set and the estimate is incomplete.
 *
 * @throws {SightlineError} `config_invalid`, `warehouse_locked`
 * @example
 * const { requests, minutes } = await plan(context);
 */
export async function plan(context: Context, { offline = false, ...options }: PlanRequest = {}): Promise<PricedPlan> {
  const { priceWorkspace } = await import('./plan.ts');
  return priceWorkspace(context, toSyncOptions(options), offline);
}

/**
 * Recounts the stored responses, compares them with the API's reports and stores the result.
 *
 * @throws {SightlineError} `no_data` before the first sync, `usage` for an unknown brand, `warehouse_locked`
 * @example
 * const { brands } = await verify(context, { repair: true });
 * const differing = brands.flatMap(({ days }) => days.filter(({ status }) => status === 'differs'));
 */
export async function verify(
  context: Context,
  { onProgress = ignore, ...request }: Partial<VerifyRequest> & { readonly onProgress?: OnProgress } = {},
): Promise<Verification> {
  const { verifyWorkspace } = await import('./verify.ts');
  return verifyWorkspace(context, { brands: null, range: null, fresh: false, repair: false, ...request }, onProgress);
}

/**
 * Asks the API and the local data the same generated questions, compares the responses and stores the result. Default: 50 requests.
 *
 * @throws {SightlineError} `no_data` before the first sync, `usage` for an unknown brand or resource, `warehouse_locked`
 * @example
 * const { questions } = await compare(context, { requests: 200 });
 * const differing = questions.filter(({ verdict }) => verdict === 'differs');
 */
export async function compare(
  context: Context,
  { onProgress = ignore, ...request }: Partial<CompareRequest> & { readonly onProgress?: OnProgress } = {},
): Promise<Comparison> {
  const { compareWorkspace } = await import('./compare/compare.ts');
  const all: CompareRequest = { requests: COMPARE_REQUESTS.standard, brands: null, resources: null, seed: null };
  return compareWorkspace(context, { ...all, ...request }, onProgress);
}

/**
 * Reads the points that the API's specification leaves open, with the values found, their evidence and confidence. `point` selects one.
 *
 * @throws {SightlineError} `no_data` before the first sync, `usage` for an unknown point
 * @example
 * const undetermined = (await calibration(context)).filter(({ state }) => state === 'undetermined');
 */
export async function calibration(
  { config }: Context,
  { point = null }: { readonly point?: string | null } = {},
): Promise<readonly CalibratedPoint[]> {
  const { readCalibration } = await import('./calibration.ts');
  return (await readCalibration(config, point)).value;
}

/** Options of `exportSnapshot`. */
export interface ExportRequest {
  /** Compression of the Parquet files; default: the setting `compression`. */
  readonly compression?: WorkspaceConfig['compression'];
  readonly onProgress?: (progress: ExportProgress) => void;
}

/**
 * Writes a Parquet snapshot to the workspace's folder, and publishes it if the setting `publish` names an object store. Unchanged files
 * are shared with the snapshot before.
 *
 * @throws {SightlineError} `no_data` before the first sync, `warehouse_locked`, `publish_failed`, `disk_full`
 * @example
 * const { id, path, tables } = await exportSnapshot(context);
 */
export async function exportSnapshot(
  context: Context,
  { onProgress = ignore, ...changes }: ExportRequest = {},
): Promise<Exported> {
  const { exportWorkspace } = await import('./export.ts');
  return exportWorkspace(context, onProgress, changes);
}

/**
 * Writes an offline HTML page and its charts as SVG for each brand, replacing earlier ones. Default: all brands, 28 days compared with
 * those before, charts of 26 weeks, into `reports` in the workspace's folder.
 *
 * @throws {SightlineError} `no_data` before the first sync, `usage` for an unknown brand, `folder_unwritable`
 * @example
 * for (const { name, page } of await report(context, { weeks: 13, output: 'public' })) console.log(name, page);
 */
export async function report(
  { config, clock }: Context,
  request: Partial<ReportRequest> = {},
): Promise<WrittenReport[]> {
  const { reportWorkspace } = await import('./write-report.ts');
  return reportWorkspace(config, clock, request);
}

/**
 * Writes the warehouse into one verified DuckDB file, even while it is in use.
 *
 * @throws {SightlineError} `usage` if the file exists and `force` is not set, `no_data`, `disk_full`
 * @example
 * const { rows, asOf } = await backup(context, { file: 'backups/acme.duckdb', force: true });
 */
export async function backup(
  context: Context,
  { file, force = false }: { readonly file: string; readonly force?: boolean },
): Promise<Backup> {
  const { backupWorkspace } = await import('./backup/backup.ts');
  return backupWorkspace(context, file, force);
}

/**
 * Reads freshness, gaps and health of the data, even while another process owns the warehouse.
 *
 * @throws {SightlineError} `no_data` before the first sync
 * @example
 * const { asOf, data } = await status(context);
 */
export async function status({ config, clock }: Context): Promise<WorkspaceStatus> {
  const { readWorkspaceStatus } = await import('./status.ts');
  return readWorkspaceStatus(config, clock);
}

/**
 * Runs read-only SQL on the newest data in a process of its own, and returns the result of each statement that returns rows. Default
 * limits: 1 hour, half of the machine's memory up to 4 GB, and 256 MB of results.
 *
 * @throws {SightlineError} `no_data` before the first sync, `sql_invalid`, `sql_rejected` for statements that do more than read,
 * `query_limit`
 * @example
 * const [result] = await query(context, 'SELECT engine, count(*) FROM responses GROUP BY engine', { timeoutMs: 5_000 });
 * for (const [engine, responses] of result?.rows ?? []) console.log(engine, responses);
 */
export async function query(
  { config, signal }: Context,
  sql: string,
  limits: Partial<QueryLimits> = {},
): Promise<QueryResult[]> {
  const { ownerLimits, queryWorkspace } = await import('./query.ts');
  return queryWorkspace(config, sql, { signal, limits: ownerLimits(limits) });
}

function toSyncOptions(options: Partial<SyncOptions>): SyncOptions {
  return { only: null, range: null, brands: null, ...options };
}

function ignore(): void {}
