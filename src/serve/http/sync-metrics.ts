import type { Observation, Surroundings } from '../monitored.ts';
import { byName, type Declaration, ofCopy, type Sample, seconds } from './metric.ts';

/** Statuses of runs, and of jobs, of which one has the value 1. */
const RUN_STATUSES = ['complete', 'partial', 'failed', 'interrupted'];
const JOB_STATUSES = ['done', 'partial', 'failed', 'locked', 'interrupted'];

type Run = NonNullable<NonNullable<Observation['copy']>['figures']['lastRun']>;

const ofRun = (read: (run: Run) => readonly Sample[]) =>
  ofCopy(({ figures }) => (figures.lastRun === null ? [] : read(figures.lastRun)));
const ofProgress =
  (read: (progress: NonNullable<Surroundings['progress']>) => number) =>
  ({ surroundings: { progress } }: Observation): readonly Sample[] =>
    progress === null ? [] : [[read(progress)]];
const ofBudget =
  (read: (budget: NonNullable<Surroundings['budget']>) => number) =>
  ({ surroundings: { budget } }: Observation): readonly Sample[] =>
    budget === null ? [] : [[read(budget)]];
// A label `job` is Prometheus's own, for what it scrapes, and would be renamed.
const ofJobs =
  (read: (job: Surroundings['jobs'][number]) => number | null) =>
  ({ surroundings }: Observation): readonly Sample[] =>
    surroundings.jobs.map((job): Sample => [read(job), { job_name: job.name }]);

/** Metrics of syncs, of the budget and of jobs. */
export const syncMetrics: readonly Declaration[] = [
  {
    name: 'sightline_sync_last_start_timestamp_seconds',
    help: 'When the last sync that has ended began.',
    read: ofRun(({ startedAt }) => [[seconds(startedAt)]]),
  },
  {
    name: 'sightline_sync_last_end_timestamp_seconds',
    help: 'When the last sync ended.',
    read: ofRun(({ endedAt }) => [[seconds(endedAt)]]),
  },
  {
    name: 'sightline_sync_last_status',
    help: '1 for the status with which the last sync ended, 0 for the others.',
    labels: ['status'],
    read: ofRun((run) => RUN_STATUSES.map((status) => [status === run.status ? 1 : 0, { status }])),
  },
  {
    name: 'sightline_sync_last_duration_seconds',
    help: 'How long the last sync took.',
    read: ofRun(({ startedAt, endedAt }) => [[endedAt === null ? null : seconds(endedAt - startedAt)]]),
  },
  {
    name: 'sightline_sync_last_requests',
    help: 'Requests of the last sync, retries among them.',
    read: ofRun(({ requests }) => [[requests]]),
  },
  {
    name: 'sightline_sync_last_retries',
    help: 'Requests of the last sync that were second and later attempts.',
    read: ofRun(({ retries }) => [[retries]]),
  },
  {
    name: 'sightline_sync_last_waited_seconds',
    help: 'Time that requests of the last sync waited for the budget, added up.',
    read: ofRun(({ waitedMs }) => [[seconds(waitedMs)]]),
  },
  {
    name: 'sightline_sync_last_rows',
    help: 'Rows that the last sync read, and of these those that it inserted, updated and marked as deleted.',
    labels: ['change'],
    read: ofRun(({ changes }) => Object.entries(changes).map(([change, rows]) => [rows, { change }])),
  },
  {
    name: 'sightline_sync_runs_total',
    help: 'Syncs that the ledger has, by how they ended.',
    kind: 'counter',
    labels: ['status'],
    read: ofCopy(({ figures }) => RUN_STATUSES.map((status) => [figures.runs.get(status) ?? 0, { status }])),
  },
  {
    name: 'sightline_sync_failures_in_a_row',
    help: 'Syncs that have failed since the last that did not.',
    read: ofCopy(({ figures }) => [[figures.failuresInARow]]),
  },
  {
    name: 'sightline_sync_last_complete_timestamp_seconds',
    help: 'When a sync of everything was last complete; absent when none was.',
    read: ofCopy(({ figures }) => [[seconds(figures.lastWholeAt)]]),
  },
  {
    name: 'sightline_sync_running',
    help: '1 while a sync runs, whichever process runs it.',
    read: ({ surroundings }) => [[surroundings.progress === null ? 0 : 1]],
  },
  {
    name: 'sightline_sync_running_progress_ratio',
    help: 'Part of the running sync that is done, by requests; absent while none runs.',
    read: ofProgress(({ done, expected }) => (expected === 0 ? 0 : done / expected)),
  },
  {
    name: 'sightline_sync_running_requests',
    help: 'Requests of the running sync.',
    read: ofProgress(({ requests }) => requests),
  },
  {
    name: 'sightline_sync_running_rows',
    help: 'Rows that the running sync has read.',
    read: ofProgress(({ rows }) => rows),
  },
  {
    name: 'sightline_sync_running_remaining_seconds',
    help: 'Estimated time that the running sync still takes.',
    read: ofProgress(({ secondsToGo }) => secondsToGo),
  },
  {
    name: 'sightline_budget_limit_requests',
    help: 'Requests a minute that upstream allows the key.',
    read: ofBudget(({ limit }) => limit),
  },
  {
    name: 'sightline_budget_capacity_requests',
    help: 'Requests a minute that are used of it at most.',
    read: ofBudget(({ capacity }) => capacity),
  },
  {
    name: 'sightline_budget_used_requests',
    help: 'Requests that were sent with the key from this machine, in the last 60 seconds and in the last hour.',
    labels: ['window'],
    read: ({ surroundings: { budget } }) =>
      budget === null
        ? []
        : [
            [budget.lastMinute, { window: '60s' }],
            [budget.lastHour, { window: '1h' }],
          ],
  },
  {
    name: 'sightline_upstream_requests_total',
    help: 'Requests to upstream that the ledger has, by HTTP status; none where no answer came.',
    kind: 'counter',
    labels: ['status'],
    // A status that has not come yet must be there at 0, or its first does not count as an increase.
    read: ofCopy(({ figures }) => byName('status', new Map([['200', 0], ['429', 0], ...figures.requests]))),
  },
  {
    name: 'sightline_job_enabled',
    help: '1 for a job that is turned on.',
    labels: ['job_name'],
    read: ofJobs(({ enabled }) => (enabled ? 1 : 0)),
  },
  {
    name: 'sightline_job_last_status',
    help: '1 for the status with which a job last ended, 0 for the others.',
    labels: ['job_name', 'status'],
    read: ({ surroundings }) =>
      surroundings.jobs.flatMap(({ name, last }): Sample[] =>
        last === null
          ? []
          : JOB_STATUSES.map((status): Sample => [status === last.status ? 1 : 0, { job_name: name, status }]),
      ),
  },
  {
    name: 'sightline_job_last_end_timestamp_seconds',
    help: 'When a job last ended.',
    labels: ['job_name'],
    read: ofJobs(({ last }) => seconds(last?.endedAt)),
  },
  {
    name: 'sightline_job_last_success_timestamp_seconds',
    help: 'When a job last ended with all of it done.',
    labels: ['job_name'],
    read: ofJobs(({ lastDoneAt }) => seconds(lastDoneAt)),
  },
  {
    name: 'sightline_job_next_due_timestamp_seconds',
    help: 'When a job is due next.',
    labels: ['job_name'],
    read: ofJobs(({ nextAt }) => seconds(nextAt)),
  },
  {
    name: 'sightline_job_missed',
    help: '1 for a job that was due ten minutes ago or more, and that nobody has run.',
    labels: ['job_name'],
    read: ofJobs(({ owedSince }) => (owedSince === null ? 0 : 1)),
  },
];
