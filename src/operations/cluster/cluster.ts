import PQueue from 'p-queue';
import { z } from 'zod';
import type { Clock } from '../../base/clock.ts';
import type { WorkspaceConfig } from '../../base/config/config.ts';
import type { RunnerSettings } from '../../base/config/runner-settings.ts';
import { toSightlineError } from '../../base/errors.ts';
import { number, time, type ValueOf } from '../../contract/operation/json-parts.ts';
import { readJobRuns, readSettled } from '../../jobs/job-log.ts';
import { lastRun } from '../../jobs/next-run.ts';
import { type EndedTask, queueState } from '../../jobs/runner.ts';
import { homeState } from '../../publish/destinations/home-protocol.ts';
import { budgetName } from '../../upstream/budget/postgres-store.ts';
import { readSharedBudgetUses } from '../../upstream/budget/shared-use.ts';
import { jobsOf } from '../jobs/job-list.ts';
import { readClusterHomes } from './cluster-homes.ts';
import { withRunner } from './open-runner.ts';
import { type Configured, validConfigs } from './workspace-list.ts';

/** Job logs that are read at the same time. */
const BOOKS_AT_A_TIME = 16;
/** How far back the due time of a job that never completed is searched: more than a year, the longest usual interval. */
const NEW_SEARCH_MS = 400 * 86_400_000;
/** Leading characters of a budget's name that are shown. */
const SHOWN_CHARACTERS = 8;

/** How late the jobs of a workspace are. */
const workspaceLag = z.object({
  workspace: z.string(),
  lastWholeRun: time.nullable().describe('end of the last job run that completed all its steps; null if unknown'),
  overdueSince: time
    .nullable()
    .describe(
      'due time of the oldest run that has not happened; if no job has ever completed, the last time that a job with a sync was due',
    ),
  overdue: z.array(z.string()).describe('jobs that are due'),
});

/** How late the jobs of a workspace are. */
export type Lag = ValueOf<typeof workspaceLag>;

/** Use of a shared request budget. */
const clusterBudget = z.object({
  budget: z.string().describe("first characters of the budget's name, which do not reveal its key"),
  workspaces: z.array(z.string()),
  limit: z.number().nullable().describe('requests per minute that upstream allows; null if not reported recently'),
  lastMinute: number,
});

/** Use of a shared request budget. */
export type ClusterBudget = ValueOf<typeof clusterBudget>;

/** The workspaces and the runner of a cluster. */
export interface Cluster {
  readonly settings: RunnerSettings;
  readonly configured: readonly Configured[];
  readonly signal: AbortSignal;
  /** Called with a sentence about each workspace or database that is left out. */
  readonly warn: (sentence: string) => void;
}

/** State of a cluster. */
export const clusterState = z.object({
  at: time,
  runner: z.enum(['process', 'postgres']),
  queue: queueState.nullable().describe('null without a queue'),
  budgets: z.array(clusterBudget),
  homes: z.array(homeState).describe('workspaces with a home; leased ones are first'),
  lag: z.object({
    workspaces: number,
    overdue: number,
    worst: z.array(workspaceLag),
  }),
});

/** State of a cluster. */
export type ClusterState = ValueOf<typeof clusterState>;

/**
 * Reads the queue, the budgets, the homes and the overdue jobs of all workspaces; `worst` has at most `worstMax` workspaces.
 *
 * @throws `queue_unreachable`
 */
export async function readCluster(cluster: Cluster, clock: Clock, worstMax: number): Promise<ClusterState> {
  const { settings, configured, signal, warn } = cluster;
  const configs = validConfigs(configured);
  for (const one of configured) if ('error' in one) warn(`workspace ${one.name}: ${one.error.message}`);
  const state =
    settings.kind === 'process' ? null : await withRunner(settings, signal, warn, (runner) => runner.state());
  const lags = await readLags(configs, state?.ended ?? [], clock);
  const overdue = lags.filter(({ overdueSince }) => overdueSince !== null).length;
  return {
    at: new Date(clock.now()).toISOString(),
    runner: settings.kind,
    queue: state === null ? null : queueState.parse(state),
    budgets: await readClusterBudgets(configs, clock, signal, warn),
    homes: await readClusterHomes(configs, signal, warn),
    lag: { workspaces: lags.length, overdue, worst: lags.slice(0, worstMax) },
  };
}

/**
 * Reads how late each workspace's jobs are, most overdue first. Uses the job logs in this machine's folders and `ended`, the
 * runs that the queue records for all machines.
 */
export async function readLags(
  configs: readonly WorkspaceConfig[],
  ended: readonly EndedTask[],
  clock: Clock,
): Promise<Lag[]> {
  const queue = new PQueue({ concurrency: BOOKS_AT_A_TIME });
  const last = new Map<string, EndedTask>();
  for (const one of ended) if (one.status === 'done' && !last.has(one.workspace)) last.set(one.workspace, one);
  const lags = await Promise.all(
    configs.map((config) => queue.add(() => readLag(config, last.get(config.name)?.endedAt ?? null, ended, clock))),
  );
  return lags.sort(
    (a, b) =>
      compare(a.overdueSince ?? '~', b.overdueSince ?? '~') ||
      compare(a.lastWholeRun ?? '', b.lastWholeRun ?? '') ||
      compare(a.workspace, b.workspace),
  );
}

async function readLag(
  config: WorkspaceConfig,
  endedAt: string | null,
  ended: readonly EndedTask[],
  clock: Clock,
): Promise<Lag> {
  const [runs, settled] = await Promise.all([readJobRuns(config.folder), readSettled(config.folder)]);
  const syncing = new Set(
    jobsOf(config)
      .filter(({ steps }) => steps.some((step) => step.do === 'sync'))
      .map(({ name }) => name),
  );
  const lastDone = runs.find(({ status, job }) => status === 'done' && syncing.has(job))?.endedAt ?? null;
  const lastWholeRun = [lastDone, endedAt].reduce((a, b) => (compare(a ?? '', b ?? '') < 0 ? b : a));
  const missed = jobsOf(config).flatMap((job) => {
    const through = settled.get(job.name);
    const elsewhere = ended.find((one) => one.workspace === config.name && one.job === job.name)?.endedAt;
    const sinceMs = Math.max(through ?? 0, elsewhere === undefined ? 0 : Date.parse(elsewhere));
    const isNew = lastWholeRun === null && job.steps.some((step) => step.do === 'sync');
    if (!job.enabled || (sinceMs === 0 && !isNew)) return [];
    if (isNew) {
      const dueMs = lastRun(job.cron, job.timeZone, clock.now() - NEW_SEARCH_MS, clock.now());
      return dueMs === null ? [] : [{ name: job.name, dueMs }];
    }
    const dueMs = lastRun(job.cron, job.timeZone, sinceMs, clock.now());
    return dueMs === null ? [] : [{ name: job.name, dueMs }];
  });
  const since = missed.reduce((first, { dueMs }) => Math.min(first, dueMs), Infinity);
  return {
    workspace: config.name,
    lastWholeRun,
    overdueSince: since === Infinity ? null : new Date(since).toISOString(),
    overdue: missed.map(({ name }) => name),
  };
}

/**
 * Reads the requests of the last minute per API key from PostgreSQL budgets, most used first. Unreadable settings or databases
 * are left out and reported to `warn`.
 */
export async function readClusterBudgets(
  configs: readonly WorkspaceConfig[],
  clock: Clock,
  signal: AbortSignal,
  warn: (sentence: string) => void,
): Promise<ClusterBudget[]> {
  const databases = new Map<string, { address: { url: string; urlVariable: string }; keys: Map<string, string[]> }>();
  for (const config of configs) {
    try {
      const budget = config.budget();
      if (budget.kind !== 'postgres') continue;
      const { key } = config.upstream();
      const database = databases.get(budget.url) ?? { address: budget, keys: new Map<string, string[]>() };
      databases.set(budget.url, database);
      database.keys.set(key, [...(database.keys.get(key) ?? []), config.name]);
    } catch (thrown) {
      warn(`workspace ${config.name}: ${toSightlineError(thrown).message}`);
    }
  }
  const found: ClusterBudget[] = [];
  for (const { address, keys } of databases.values()) {
    const list = [...keys];
    const uses = await readSharedBudgetUses(address, [...keys.keys()], clock, signal).catch((thrown: unknown) => {
      warn(toSightlineError(thrown).message);
      return [];
    });
    for (const [index, use] of uses.entries()) {
      const [key, workspaces] = list[index] as [string, string[]];
      found.push({ budget: budgetName(key).slice(0, SHOWN_CHARACTERS), workspaces, ...use });
    }
  }
  return found.sort((a, b) => b.lastMinute - a.lastMinute);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
