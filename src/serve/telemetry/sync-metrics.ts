import type { Observation, Surroundings } from '../../read/observer.ts';
import { byName, type Declaration, ofReplica, type Sample, seconds } from './metric.ts';

/** Statuses of runs and jobs; the series of the current one has the value 1. */
const RUN_STATUSES = ['complete', 'partial', 'failed', 'interrupted'];
const JOB_STATUSES = ['done', 'partial', 'failed', 'locked', 'interrupted'];

type Run = NonNullable<NonNullable<Observation['replica']>['figures']['lastRun']>;

const ofRun = (read: (run: Run) => readonly Sample[]) =>
  ofReplica(({ figures }) => (figures.lastRun === null ? [] : read(figures.lastRun)));
const ofProgress =
  (read: (progress: NonNullable<Surroundings['progress']>) => number) =>
  ({ surroundings: { progress } }: Observation): readonly Sample[] =>
    progress === null ? [] : [[read(progress)]];
const ofBudget =
  (read: (budget: NonNullable<Surroundings['budget']>) => number) =>
  ({ surroundings: { budget } }: Observation): readonly Sample[] =>
    budget === null ? [] : [[read(budget)]];
// Prometheus uses the label `job` for its targets and would rename ours, so call it `job_name`.
const ofJobs =
  (read: (job: Surroundings['jobs'][number]) => number | null) =>
  ({ surroundings }: Observation): readonly Sample[] =>
    surroundings.jobs.map((job): Sample => [read(job), { job_name: job.name }]);

/** Metrics of syncs, of the budget and of jobs. */
export const syncMetrics: readonly Declaration[] = [
  {
    name: 'sightline_sync_last_start_timestamp_seconds',
    help: 'Start of the last finished sync.',
    read: ofRun(({ startedAt }) => [[seconds(startedAt)]]),
  },
  {
    name: 'sightline_sync_last_end_timestamp_seconds',
    help: 'End of the last sync.',
    read: ofRun(({ endedAt }) => [[seconds(endedAt)]]),
  },
  {
    name: 'sightline_sync_last_status',
    help: '1 for the status of the last sync, 0 for the others.',
    labels: ['status'],
    read: ofRun((run) => RUN_STATUSES.map((status) => [status === run.status ? 1 : 0, { status }])),
  },
  {
    name: 'sightline_sync_last_duration_seconds',
    help: 'Duration of the last sync.',
    read: ofRun(({ startedAt, endedAt }) => [[endedAt === null ? null : seconds(endedAt - startedAt)]]),
  },
  {
    name: 'sightline_sync_last_requests',
    help: 'Requests of the last sync, including retries.',
    read: ofRun(({ requests }) => [[requests]]),
  },
  {
    name: 'sightline_sync_last_retries',
    help: 'Retries of the last sync: second and later attempts.',
    read: ofRun(({ retries }) => [[retries]]),
  },
  {
    name: 'sightline_sync_last_waited_seconds',
    help: 'Total time that requests of the last sync waited for the budget.',
    read: ofRun(({ waitedMs }) => [[seconds(waitedMs)]]),
  },
  {
    name: 'sightline_sync_last_rows',
    help: 'Rows that the last sync read, inserted, updated and marked as deleted.',
    labels: ['change'],
    read: ofRun(({ changes }) => Object.entries(changes).map(([change, rows]) => [rows, { change }])),
  },
  {
    name: 'sightline_sync_runs_total',
    help: 'Recorded syncs, by status.',
    kind: 'counter',
    labels: ['status'],
    read: ofReplica(({ figures }) => RUN_STATUSES.map((status) => [figures.runs.get(status) ?? 0, { status }])),
  },
  {
    name: 'sightline_sync_failures_in_a_row',
    help: 'Failed syncs since the last complete or partial one.',
    read: ofReplica(({ figures }) => [[figures.failuresInARow]]),
  },
  {
    name: 'sightline_sync_last_complete_timestamp_seconds',
    help: 'End of the last complete sync of everything; absent if there is none.',
    read: ofReplica(({ figures }) => [[seconds(figures.lastWholeAt)]]),
  },
  {
    name: 'sightline_sync_running',
    help: '1 while a sync is running in any process.',
    read: ({ surroundings }) => [[surroundings.progress === null ? 0 : 1]],
  },
  {
    name: 'sightline_sync_running_progress_ratio',
    help: 'Progress of the running sync, by requests; absent if none is running.',
    read: ofProgress(({ done, expected }) => (expected === 0 ? 0 : done / expected)),
  },
  {
    name: 'sightline_sync_running_requests',
    help: 'Requests of the running sync.',
    read: ofProgress(({ requests }) => requests),
  },
  {
    name: 'sightline_sync_running_rows',
    help: 'Rows read by the running sync.',
    read: ofProgress(({ rows }) => rows),
  },
  {
    name: 'sightline_sync_running_remaining_seconds',
    help: 'Estimated remaining time of the running sync.',
    read: ofProgress(({ secondsToGo }) => secondsToGo),
  },
  {
    name: 'sightline_budget_limit_requests',
    help: 'Requests per minute that upstream allows for the key.',
    read: ofBudget(({ limit }) => limit),
  },
  {
    name: 'sightline_budget_capacity_requests',
    help: 'Maximum requests per minute that are used.',
    read: ofBudget(({ capacity }) => capacity),
  },
  {
    name: 'sightline_budget_used_requests',
    help: 'Requests sent with the key from this machine, in the last 60 seconds and in the last hour.',
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
    help: 'Recorded requests to upstream, by HTTP status; none if no response was received.',
    kind: 'counter',
    labels: ['status'],
    // Initialize expected statuses with 0; otherwise their first occurrence is not seen as an increase.
    read: ofReplica(({ figures }) => byName('status', new Map([['200', 0], ['429', 0], ...figures.requests]))),
  },
  {
    name: 'sightline_job_enabled',
    help: '1 for an enabled job.',
    labels: ['job_name'],
    read: ofJobs(({ enabled }) => (enabled ? 1 : 0)),
  },
  {
    name: 'sightline_job_last_status',
    help: '1 for the status of the last run of a job, 0 for the others.',
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
    help: 'End of the last run of a job.',
    labels: ['job_name'],
    read: ofJobs(({ last }) => seconds(last?.endedAt)),
  },
  {
    name: 'sightline_job_last_success_timestamp_seconds',
    help: 'End of the last fully successful run of a job.',
    labels: ['job_name'],
    read: ofJobs(({ lastDoneAt }) => seconds(lastDoneAt)),
  },
  {
    name: 'sightline_job_next_due_timestamp_seconds',
    help: 'Next due time of a job.',
    labels: ['job_name'],
    read: ofJobs(({ nextAt }) => seconds(nextAt)),
  },
  {
    name: 'sightline_job_missed',
    help: '1 for a job that has been due for at least ten minutes and was not run.',
    labels: ['job_name'],
    read: ofJobs(({ owedSince }) => (owedSince === null ? 0 : 1)),
  },
];
