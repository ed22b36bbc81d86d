import { declaredJobs } from '../../../jobs/all.ts';
import { declarations } from '../../../schemas/catalogue.ts';
import type { WorkspaceConfig } from '../../base/config/config.ts';
import { SightlineError } from '../../base/errors.ts';
import type { Job } from '../../scheduler/job.ts';
import { type JobRun, readJobRuns } from '../../scheduler/job-log.ts';
import { toJobs } from '../../scheduler/job-settings.ts';
import { upcoming } from '../../scheduler/schedule.ts';

/** The jobs of a workspace with its settings applied. Throws `config_invalid`. */
export function jobsOf({ jobs }: Pick<WorkspaceConfig, 'jobs'>): Job[] {
  return toJobs(
    declaredJobs,
    jobs,
    declarations.map(({ name }) => name),
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

/** Finds a workspace's job by name, including disabled ones. Throws `usage` if the name is unknown. */
export function jobOf(config: Pick<WorkspaceConfig, 'jobs'>, name: string): Job {
  const jobs = jobsOf(config);
  const job = jobs.find((candidate) => candidate.name === name);
  if (job !== undefined) return job;
  const known = jobs.map((candidate) => candidate.name).join(', ');
  throw new SightlineError('usage', `unknown job ${JSON.stringify(name)}; allowed: ${known}`);
}
