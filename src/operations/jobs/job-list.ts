import { declaredJobs } from '../../../jobs/all.ts';
import { chooseName } from '../../base/choose-name.ts';
import type { WorkspaceConfig } from '../../base/config/config.ts';
import { type JobRun, readJobRuns } from '../../jobs/job-log.ts';
import { toJobs } from '../../jobs/job-settings.ts';
import type { Job } from '../../jobs/job.ts';
import { lastRun } from '../../jobs/next-run.ts';
import { upcoming } from '../../jobs/schedule.ts';
import type { JobLine } from '../../web/page-data/status-lines.ts';
import { catalogueOf } from '../../workspace/catalogues.ts';

/** Time in which a due job must start and finish before it counts as late. */
const LATE_MS = 6 * 3_600_000;

/** The jobs of a workspace with its settings applied. Throws `config_invalid`. */
export function jobsOf(config: Pick<WorkspaceConfig, 'jobs' | 'folder'>): Job[] {
  return toJobs(
    declaredJobs,
    config.jobs,
    catalogueOf(config).resources.map(({ name }) => name),
  );
}

/** A job with its next due time (ISO 8601, UTC; null if it is disabled) and its last run. */
export interface ListedJob {
  readonly job: Job;
  readonly next: string | null;
  readonly last: JobRun | null;
}

/** The jobs of a workspace with their next and last runs. Throws `config_invalid`. */
export async function listJobs(config: WorkspaceConfig, nowMs: number): Promise<ListedJob[]> {
  const runs = await readJobRuns(config.folder);
  return jobsOf(config).map((job) => {
    const [next] = upcoming([job], nowMs, 1);
    return {
      job,
      next: next === undefined ? null : new Date(next.atMs).toISOString(),
      last: runs.find((run) => run.job === job.name) ?? null,
    };
  });
}

/** The jobs of a workspace as the verdict and the status page need them. Throws `config_invalid`. */
export async function jobLines(config: WorkspaceConfig, nowMs: number): Promise<JobLine[]> {
  return (await listJobs(config, nowMs)).map(({ job, next, last }) => {
    const { name, about, cron, timeZone, enabled, steps } = job;
    const line = { name, about, cron: cron.text, timeZone, enabled, steps: steps.map((step) => step.do), next };
    if (last === null) return { ...line, overdueSince: null, last };
    const failed = last.steps.find((step) => step.status === last.status && step.error !== null);
    const error = failed === undefined ? null : `${failed.step}: ${failed.error}`;
    const dueMs = enabled ? lastRun(cron, timeZone, Date.parse(last.startedAt), nowMs - LATE_MS) : null;
    const overdueSince = dueMs === null ? null : new Date(dueMs).toISOString();
    return {
      ...line,
      overdueSince,
      last: { status: last.status, startedAt: last.startedAt, endedAt: last.endedAt, error },
    };
  });
}

/** Finds a workspace's job by name or the beginning of it, including disabled ones. Throws `usage` if the name is unknown. */
export function jobOf(config: Pick<WorkspaceConfig, 'jobs' | 'folder'>, name: string): Job {
  const jobs = jobsOf(config);
  const chosen = chooseName(
    'job',
    name,
    jobs.map((candidate) => candidate.name),
  );
  return jobs.find((candidate) => candidate.name === chosen) as Job;
}
