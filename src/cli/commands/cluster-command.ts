import { systemClock } from '../../base/clock.ts';
import { loadRunnerSettings } from '../../base/config/config.ts';
import { EXIT, SightlineError } from '../../base/errors.ts';
import { type ClusterBudget, type Lag, readClusterBudgets, readLags } from '../../operations/cluster/cluster.ts';
import { type ClusterRemote, readClusterRemotes } from '../../operations/cluster/cluster-remotes.ts';
import { openRunner } from '../../operations/cluster/open-runner.ts';
import { rejectLocalWarehouses } from '../../operations/cluster/shared-folder.ts';
import { jobOf } from '../../operations/jobs/job-list.ts';
import type { Runner, RunnerState } from '../../scheduler/runner.ts';
import { type Configured, readAllConfigs, readSurroundings, toInteger, type WorkspaceFlags } from '../context.ts';
import { count, duration, plural, printData, say } from '../output/output.ts';
import { formatRows } from '../output/row-format.ts';

const LIMIT_MAX = 100_000;

/** Flags of `cluster status`. */
export interface ClusterStatusFlags extends Pick<WorkspaceFlags, 'dataDir' | 'json'> {
  readonly limit: string;
}

/** Flags of `cluster enqueue`. */
export interface EnqueueFlags extends Pick<WorkspaceFlags, 'dataDir' | 'json'> {
  readonly workspace?: readonly string[];
}

/** Runs `sightline cluster status` and returns its exit code. */
export async function clusterStatus(flags: ClusterStatusFlags, signal: AbortSignal): Promise<number> {
  const limit = toInteger('--limit', flags.limit, 1, LIMIT_MAX);
  const configured = readConfigured(flags);
  const configs = configured.flatMap((one) => ('config' in one ? [one.config] : []));
  for (const one of configured) if ('error' in one) say(`workspace ${one.name}: ${one.error.message}`);
  const settings = loadRunnerSettings(readSurroundings());
  const state = settings.kind === 'process' ? null : await withRunner(signal, (runner) => runner.state());
  const lags = await readLags(configs, state?.ended ?? [], systemClock);
  const budgets = await readClusterBudgets(configs, systemClock, signal, say);
  const homes = await readClusterRemotes(configs, systemClock, say);
  const overdue = lags.filter(({ overdueSince }) => overdueSince !== null).length;
  const lag = { workspaces: lags.length, overdue, worst: lags.slice(0, limit) };
  if (flags.json === true) {
    const { ended: _ended, ...queue } = state ?? { ended: [] };
    const now = new Date(systemClock.now()).toISOString();
    printData(
      JSON.stringify({ at: now, runner: settings.kind, queue: state === null ? null : queue, budgets, homes, lag }),
    );
    return EXIT.done;
  }
  if (state === null) {
    say('There is no queue: jobs run in the process of `sightline worker` or `sightline serve`. Set "runner" in');
    say('sightline.config.json to use a queue; this command then shows its workers, tasks and leases.');
  } else describeQueue(state, limit);
  describeBudgets(budgets, limit);
  describeRemotes(homes, limit);
  describeLag(lag.worst, lags.length, overdue);
  return EXIT.done;
}

/** Runs `sightline cluster enqueue` and returns its exit code. */
export async function clusterEnqueue(job: string, flags: EnqueueFlags, signal: AbortSignal): Promise<number> {
  const settings = loadRunnerSettings(readSurroundings());
  if (settings.kind === 'process') {
    const how = '"postgres" or "redis" in sightline.config.json; `sightline jobs run` runs a job without a queue';
    throw new SightlineError('config_invalid', `runner.kind is "process", which has no queue; allowed: ${how}`);
  }
  const configured = readConfigured(flags);
  const chosen = flags.workspace === undefined ? configured : flags.workspace.map((name) => choose(configured, name));
  const rejected = rejectLocalWarehouses(
    settings,
    chosen.flatMap((one) => ('config' in one ? [one.config] : [])),
  );
  if (rejected !== null) throw rejected;
  const tasks = chosen.flatMap((one) => {
    if ('error' in one) {
      say(`workspace ${one.name}: ${one.error.message}`);
      return [];
    }
    jobOf(one.config, job);
    return [{ workspace: one.name, job }];
  });
  const enqueued = await withRunner(signal, (runner) => runner.enqueue(tasks));
  const waiting = tasks.length - enqueued;
  if (flags.json === true) printData(JSON.stringify({ job, workspaces: tasks.length, enqueued, waiting }));
  const others = waiting === 0 ? '' : `; ${count(waiting)} were already waiting, or run after the current run`;
  say(`job ${job} of ${plural(enqueued, 'workspace')} is in the queue${others}`);
  return tasks.length < chosen.length ? EXIT.failed : EXIT.done;
}

function readConfigured({ dataDir }: Pick<WorkspaceFlags, 'dataDir'>): Configured[] {
  return readAllConfigs(dataDir === undefined ? {} : { dataDir });
}

function choose(configured: readonly Configured[], name: string): Configured {
  const found = configured.find((one) => one.name === name);
  if (found !== undefined) return found;
  const known = configured.map((one) => one.name).join(', ');
  throw new SightlineError('config_invalid', `--workspace is ${JSON.stringify(name)}; allowed: ${known}`);
}

async function withRunner<T>(signal: AbortSignal, ask: (runner: Runner) => Promise<T>): Promise<T> {
  const settings = loadRunnerSettings(readSurroundings());
  const runner = await openRunner(settings, { folderOf: () => '', isPatient: false, signal, say });
  try {
    return await ask(runner);
  } finally {
    await runner.close();
  }
}

function describeQueue(state: RunnerState, limit: number): void {
  const { counts, workers, leases, schedules, oldestWaiting, nextDue } = state;
  const waits = oldestWaiting === null ? '' : `, the oldest for ${ago(oldestWaiting)}`;
  const next = nextDue === null ? '' : `, the next due at ${toMinute(nextDue)}`;
  printData(
    `queue: ${count(counts.waiting)} waiting${waits}; ${count(counts.active)} running; ` +
      `${plural(schedules, 'schedule')}${next}; ${count(counts.failed)} failed`,
  );
  table(
    ['worker', 'host', 'process', 'since', 'tasks', 'seen'],
    workers.map(({ name, host, pid, since, seen, tasks, concurrency }) => {
      return [name, host, String(pid), toMinute(since), `${tasks} of ${concurrency}`, `${ago(seen)} ago`];
    }),
  );
  table(
    ['workspace', 'job', 'worker', 'for', 'renewed'],
    leases.slice(0, limit).map(({ workspace, job, worker, since, renewed }) => {
      return [workspace, job, worker, ago(since), renewed === null ? 'unknown' : `${ago(renewed)} ago`];
    }),
  );
}

function describeBudgets(budgets: readonly ClusterBudget[], limit: number): void {
  if (budgets.length === 0) return;
  table(
    ['budget', 'workspaces', 'in the last minute', 'allowed'],
    budgets.slice(0, limit).map(({ budget, workspaces, lastMinute, limit: allowed }) => {
      return [budget, workspaces.join(', '), String(lastMinute), allowed === null ? 'unknown' : String(allowed)];
    }),
  );
}

function describeRemotes(homes: readonly ClusterRemote[], limit: number): void {
  table(
    ['remote warehouse', 'epoch', 'checked in', 'checked out by', 'until'],
    homes.slice(0, limit).map(({ workspace, epoch, savedAt, claim }) => {
      const lease = claim === null ? ['', ''] : [claim.holder, claim.until];
      return [workspace, String(epoch), savedAt === null ? 'never' : toMinute(savedAt), ...lease];
    }),
  );
}

function describeLag(worst: readonly Lag[], workspaces: number, overdue: number): void {
  table(
    ['workspace', 'last complete run', 'overdue'],
    worst.map(({ workspace, lastWholeRun, overdueSince, overdue: jobs }) => {
      const owed = overdueSince === null ? '' : `${jobs.join(', ')} for ${ago(overdueSince)}`;
      return [workspace, lastWholeRun === null ? 'never' : toMinute(lastWholeRun), owed];
    }),
  );
  say(`${count(overdue)} of ${plural(workspaces, 'workspace')} overdue`);
}

function table(names: readonly string[], rows: readonly (readonly string[])[]): void {
  if (rows.length === 0) return;
  printData(formatRows({ columns: names.map((name) => ({ name, type: 'VARCHAR' })), rows }, 'table'));
}

function ago(time: string): string {
  return duration(systemClock.now() - Date.parse(time));
}

function toMinute(time: string): string {
  return `${time.slice(0, 16).replace('T', ' ')} UTC`;
}
