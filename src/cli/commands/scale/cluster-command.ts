import { EXIT } from '../../../base/errors.ts';
import { shownTime } from '../../../contract/time.ts';
import type { ClusterState } from '../../../operations/cluster/cluster.ts';
import { count, duration, plural, printData, printJson, say } from '../../output/output.ts';
import { formatRows } from '../../output/row-format.ts';
import { terminal } from '../../output/terminal.ts';
import { dataOptions } from '../../program/common-options.ts';
import { type Call, defineCommand, defineGroup } from '../../program/define-command.ts';
import { argument, integer, list, withDefault, withNames } from '../../program/option-kinds.ts';

const LIMIT_MAX = 100_000;

const status = defineCommand({
  options: {
    ...dataOptions,
    limit: withDefault(integer('<number>', 'maximum number of workspaces, tasks and keys to list', 1, LIMIT_MAX), '20'),
  },
  examples: [
    ['sightline cluster status', 'show the workers and the queue'],
    ['sightline cluster status --limit 100 --json', 'print more entries as JSON'],
  ],
  run: async ({ limit, ...unread }, begin) => {
    const call = begin(unread);
    const { readCluster } = await import('../../../operations/cluster/cluster.ts');
    const state = await readCluster(await toCluster(call), terminal().clock, limit);
    if (call.json) {
      printJson('cluster status', state);
      return EXIT.done;
    }
    const { queue, budgets, homes, lag } = state;
    if (queue === null) {
      say(
        'No queue is configured: jobs run in the process of `sightline worker` or `sightline serve`. Set "runner" in',
      );
      say('sightline.config.json to use a queue; this command then shows its workers, tasks and leases.');
    } else describeQueue(queue, limit);
    describeBudgets(budgets, limit);
    describeHomes(homes, limit);
    describeLag(lag);
    return EXIT.done;
  },
});

const enqueue = defineCommand({
  arguments: { job: argument('<job>', 'name of the job') },
  options: {
    ...dataOptions,
    workspaces: withNames('workspace', 'w', list('<names...>', 'only these workspaces (default: all configured ones)')),
  },
  exits: '1 if the settings of a workspace are invalid; the jobs of the others are enqueued.',
  examples: [
    ['sightline cluster enqueue nightly', 'enqueue a job of all workspaces'],
    ['sightline cluster enqueue nightly --workspace acme globex', 'enqueue the job of two workspaces'],
  ],
  run: async ({ job, workspaces, ...unread }, begin) => {
    const call = begin(unread);
    const { enqueueJob } = await import('../../../operations/cluster/enqueue-job.ts');
    const { chosen, tasks, enqueued } = await enqueueJob(await toCluster(call), job, workspaces);
    const waiting = tasks - enqueued;
    if (call.json) printJson('cluster enqueue', { job, workspaces: tasks, enqueued, waiting });
    const others = waiting === 0 ? '' : `; ${count(waiting)} were already waiting, or run after the current run`;
    say(`job ${job} of ${plural(enqueued, 'workspace')} is in the queue${others}`);
    return tasks < chosen ? EXIT.failed : EXIT.done;
  },
});

export const cluster = defineGroup({
  status: { about: 'show workers, queue, leases, budgets and overdue workspaces', add: status },
  enqueue: { about: 'enqueue a job of all or some workspaces to run as soon as possible', add: enqueue },
});

async function toCluster({ flags, signal }: Call) {
  const { loadRunnerSettings } = await import('../../../base/config/config.ts');
  const { readAllConfigs } = await import('../../checked-config.ts');
  const { readSurroundings } = await import('../../context.ts');
  const settings = loadRunnerSettings(readSurroundings());
  return { settings, configured: readAllConfigs(flags), signal, warn: say };
}

function describeQueue(queue: NonNullable<ClusterState['queue']>, limit: number): void {
  const { counts, workers, leases, schedules, oldestWaiting, nextDue } = queue;
  const waits = oldestWaiting === null ? '' : `, the oldest for ${ago(oldestWaiting)}`;
  const next = nextDue === null ? '' : `, the next due at ${shownTime(nextDue)}`;
  printData(
    `queue: ${count(counts.waiting)} waiting${waits}; ${count(counts.active)} running; ` +
      `${plural(schedules, 'schedule')}${next}; ${count(counts.failed)} failed`,
  );
  table(
    ['worker', 'host', 'process', 'since', 'tasks', 'seen'],
    workers.map(({ name, host, pid, since, seen, tasks, concurrency }) => {
      return [name, host, String(pid), shownTime(since), `${tasks} of ${concurrency}`, `${ago(seen)} ago`];
    }),
  );
  table(
    ['workspace', 'job', 'worker', 'for', 'renewed'],
    leases.slice(0, limit).map(({ workspace, job, worker, since, renewed }) => {
      return [workspace, job, worker, ago(since), `${ago(renewed)} ago`];
    }),
  );
}

function describeBudgets(budgets: ClusterState['budgets'], limit: number): void {
  if (budgets.length === 0) return;
  table(
    ['budget', 'workspaces', 'in the last minute', 'allowed'],
    budgets.slice(0, limit).map(({ budget, workspaces, lastMinute, limit: allowed }) => {
      return [budget, workspaces.join(', '), String(lastMinute), allowed === null ? 'unknown' : String(allowed)];
    }),
  );
}

function describeHomes(homes: ClusterState['homes'], limit: number): void {
  table(
    ['home of', 'position', 'saved', 'in use by', 'until'],
    homes.slice(0, limit).map(({ workspace, position, savedAt, lease }) => {
      const user = lease === null ? ['', ''] : [lease.holder, shownTime(lease.until)];
      return [workspace, String(position), savedAt === null ? 'never' : shownTime(savedAt), ...user];
    }),
  );
}

function describeLag({ worst, workspaces, overdue }: ClusterState['lag']): void {
  table(
    ['workspace', 'last complete run', 'overdue'],
    worst.map(({ workspace, lastWholeRun, overdueSince, overdue: jobs }) => {
      const owed = overdueSince === null ? '' : `${jobs.join(', ')} for ${ago(overdueSince)}`;
      return [workspace, lastWholeRun === null ? 'never' : shownTime(lastWholeRun), owed];
    }),
  );
  say(`${count(overdue)} of ${plural(workspaces, 'workspace')} overdue`);
}

function table(names: readonly string[], rows: readonly (readonly string[])[]): void {
  if (rows.length === 0) return;
  printData(formatRows({ columns: names.map((name) => ({ name, type: 'VARCHAR' })), rows }, 'table'));
}

function ago(time: string): string {
  return duration(terminal().clock.now() - Date.parse(time));
}
