import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Clock } from '../base/clock.ts';
import type { WorkspaceConfig } from '../base/config/config.ts';
import { SightlineError } from '../base/errors.ts';
import { number, time, type ValueOf } from '../contract/operation/json-parts.ts';
import { readJobRuns, runSchema } from '../jobs/job-log.ts';
import { layoutOf } from '../publish/snapshot/layout.ts';
import { readProgress, runningSync } from '../sync/progress-file.ts';
import type { Query } from '../warehouse/database.ts';
import { withDerivedEnd } from '../warehouse/ledger/runs.ts';
import { type UnconfirmedDeletion, readUnconfirmedDeletions } from '../warehouse/ledger/unconfirmed-deletions.ts';
import { readLastActivity, readStatus, warehouseStatus } from '../warehouse/ledger/warehouse-status.ts';
import { openCurrentReader } from '../warehouse/schema-version.ts';
import { destinationState, verdict } from '../web/page-data/status-lines.ts';
import { catalogueOf } from '../workspace/catalogues.ts';
import { writerOf } from '../workspace/lock-driver.ts';
import { openNewestReplicaWith } from '../workspace/newest-replica.ts';
import { readKeyFile } from '../workspace/stored-keys.ts';
import { jobLines } from './jobs/job-list.ts';
import { readDestinations } from './last-loads.ts';
import { type Facts, verdictOf } from './verdict.ts';

/** Files whose sizes are added up, at most. Beyond that the sum is too small. */
const FILES_MAX = 100_000;

/** A workspace's status. */
export const workspaceStatus = z.object({
  workspace: z.string(),
  folder: z.string(),
  owner: z
    .object({ pid: z.int(), command: z.string(), since: time, host: z.string().nullable() })
    .nullable()
    .describe('the process that has the warehouse open for writing'),
  asOf: time.nullable().describe('time of the last request or run in these data'),
  stale: z.boolean().describe('whether the live file has newer data'),
  bytes: z.object({ warehouse: number, replica: number, snapshots: number, all: number }),
  jobs: z.array(runSchema).describe('the last run of each job'),
  destinations: z.array(destinationState),
  verdict,
  progress: runningSync.nullable().describe('the running sync'),
  data: warehouseStatus.nullable().describe('null before the first sync has published data'),
});

/** A workspace's status. */
export type WorkspaceStatus = ValueOf<typeof workspaceStatus>;

/** Reads a workspace's status, even while another process owns the warehouse. Throws `no_data` if it was never synced. */
export async function readWorkspaceStatus(config: WorkspaceConfig, clock: Clock): Promise<WorkspaceStatus> {
  const layout = layoutOf(config.folder);
  const owner = await writerOf(config.folder);
  const counted = new Set<number>();
  const snapshots = sizeOf(layout.snapshots, counted);
  const bytes = {
    warehouse: sizeOf(layout.warehouse, counted) + sizeOf(`${layout.warehouse}.wal`, counted),
    replica: sizeOf(layout.analytics, counted),
    snapshots,
    all: sizeOf(config.folder, new Set()),
  };
  const runs = await readJobRuns(config.folder);
  const jobs = runs.filter((run, index) => runs.findIndex(({ job }) => job === run.job) === index);
  const facts = await readLiveFacts(config, clock.now());
  const { progress } = facts;
  const beside = { workspace: config.name, folder: config.folder, owner, bytes, jobs, progress };
  try {
    const { value, stale } = await readNewestReplica(
      config,
      async (query) => ({
        status: await readStatus(query, catalogueOf(config), clock.now()),
        asOf: await readLastActivity(query),
      }),
      { afterKill: 'live' },
    );
    const { status, asOf } = value;
    const isActive = progress !== null || owner !== null;
    const data = { ...status, lastRun: status.lastRun === null ? null : withDerivedEnd(status.lastRun, isActive) };
    const destinations = await readDestinations(config, status.dataVersion);
    const judged = verdictOf({ ...facts, replica: 'current', why: null, status: data });
    return { ...beside, destinations, verdict: judged, asOf, stale, data };
  } catch (thrown) {
    const isFirst = thrown instanceof SightlineError && thrown.code === 'no_data' && owner !== null;
    if (!isFirst) throw thrown;
    return {
      ...beside,
      destinations: await readDestinations(config, null),
      verdict: verdictOf({ ...facts, replica: 'none', why: null, status: null }),
      asOf: null,
      stale: false,
      data: null,
    };
  }
}

/**
 * Reads runs from the newest readable data. A run without a recorded end was interrupted, unless a sync is active. Throws like
 * `readNewestReplica`.
 */
export async function readNewestRuns<T extends { readonly status: string; readonly error: string | null }>(
  config: WorkspaceConfig,
  clock: Clock,
  read: (query: Query) => Promise<readonly T[]>,
): Promise<NewestReplica<T[]>> {
  const owner = await writerOf(config.folder);
  const isActive = owner !== null || (await readProgress(config.folder, clock.now())) !== null;
  const found = await readNewestReplica(config, read, { afterKill: 'live' });
  return { ...found, value: found.value.map((run) => withDerivedEnd(run, isActive)) };
}

/** Reads the facts of a verdict that do not come from the replica. */
export async function readLiveFacts(
  config: WorkspaceConfig,
  nowMs: number,
): Promise<Omit<Facts, 'replica' | 'why' | 'status'>> {
  const { folder, name: workspace } = config;
  const [progress, owner, jobs, destinations] = await Promise.all([
    readProgress(folder, nowMs),
    writerOf(folder),
    jobLines(config, nowMs),
    readDestinations(config, null),
  ]);
  return { nowMs, workspace, progress, isOwned: owner !== null, jobs, destinations, keys: readKeys(folder) };
}

// Null if the key file is damaged.
function readKeys(folder: string): Facts['keys'] {
  try {
    return readKeyFile(folder)?.keys ?? [];
  } catch {
    return null;
  }
}

/** Reads the mass deletions that await confirmation. Throws `no_data`. */
export async function readUnconfirmed(config: WorkspaceConfig): Promise<UnconfirmedDeletion[]> {
  return (await readNewestReplica(config, readUnconfirmedDeletions)).value;
}

/** Describes a mass deletion that awaits confirmation. */
export function unconfirmedText({ resource, brandId, table, before, lost }: UnconfirmedDeletion): string {
  const [gone, all] = [lost, before].map((rows) => rows.toLocaleString('en-US'));
  const scope = brandId === null ? resource : `${resource} of brand ${brandId}`;
  return `upstream no longer lists ${gone} of ${all} stored rows of ${table} (${scope}); the rows are kept`;
}

/** Next step for a mass deletion that awaits confirmation. */
export const CONFIRM_HINT =
  'If the rows were deleted upstream, run `sightline sync --accept-deletions`. Otherwise no action is needed once a sync lists them again.';

/** A value read from the newest readable data. */
export interface NewestReplica<T> {
  readonly value: T;
  /** Whether the value is from a replica that is older than the live file. */
  readonly stale: boolean;
}

/**
 * Reads a workspace's newest data, even while another process uses them.
 *
 * @throws `no_data`
 * @example
 * const { value: runs } = await readNewestReplica(config, (query) => readRuns(query, 20));
 */
export async function readNewestReplica<T>(
  config: WorkspaceConfig,
  read: (query: Query) => Promise<T>,
  options?: { readonly afterKill?: 'replica' | 'live' },
): Promise<NewestReplica<T>> {
  const layout = layoutOf(config.folder);
  const { opened: reader, stale } = await openNewestReplicaWith(config, layout, openCurrentReader, options);
  try {
    const query: Query = async (sql) => (await reader.query(sql)).rows.map((row) => [...row]);
    return { value: await read(query), stale };
  } finally {
    reader.close();
  }
}

/**
 * Size of a file or folder in bytes. Skips inodes that are in `counted` and adds new ones, because snapshots share files by hard
 * links, which take space once.
 */
export function sizeOf(path: string, counted: Set<number>): number {
  let files = 0;
  let bytes = 0;
  const pending = [path];
  for (let next = pending.pop(); next !== undefined && files < FILES_MAX; next = pending.pop()) {
    const found = statSync(next, { throwIfNoEntry: false });
    files += 1;
    if (found?.isDirectory()) {
      const entries = readdirSync(next, { withFileTypes: true });
      for (const entry of entries) if (!entry.isSymbolicLink()) pending.push(join(next, entry.name));
    } else if (found !== undefined && !counted.has(found.ino)) {
      counted.add(found.ino);
      bytes += found.size;
    }
  }
  return bytes;
}
