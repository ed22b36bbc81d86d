import { declaredJobs } from '../../jobs/all.ts';
import { declarations } from '../../schemas/catalogue.ts';
import type { WorkspaceConfig } from '../base/config.ts';
import { SightlineError } from '../base/errors.ts';
import { type JobRun, readJobRuns } from '../scheduler/book.ts';
import type { Job } from '../scheduler/job.ts';
import { upcoming } from '../scheduler/schedule.ts';
import { toJobs } from '../scheduler/settings.ts';

/** The jobs of a workspace, by its settings. Throws `config_invalid`. */
export function jobsOf({ jobs }: Pick<WorkspaceConfig, 'jobs'>): Job[] {
  return toJobs(
    declaredJobs,
    jobs,
    declarations.map(({ name }) => name),
  );
}

/** A job, when it is due next (ISO 8601, UTC; null for one that is turned off) and its last run. */
export interface ListedJob {
  readonly job: Job;
  readonly next: string | null;
  readonly last: JobRun | null;
}

/** The jobs of a workspace, with what was and what will be. Throws `config_invalid`. */
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

/** A workspace's job by name, also one that is turned off. Throws `usage` where there is none. */
export function jobOf(config: Pick<WorkspaceConfig, 'jobs'>, name: string): Job {
  const jobs = jobsOf(config);
  const job = jobs.find((candidate) => candidate.name === name);
  if (job !== undefined) return job;
  const known = jobs.map((candidate) => candidate.name).join(', ');
  throw new SightlineError('usage', `there is no job ${JSON.stringify(name)}; allowed: ${known}`);
}
