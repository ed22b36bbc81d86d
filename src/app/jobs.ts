import { declaredJobs } from '../../jobs/all.ts';
import { declarations } from '../../schemas/catalogue.ts';
import type { WorkspaceConfig } from '../base/config.ts';
import { SightlineError } from '../base/errors.ts';
import type { Job } from '../scheduler/job.ts';
import { toJobs } from '../scheduler/settings.ts';

/** The jobs of a workspace, by its settings. Throws `config_invalid`. */
export function jobsOf({ jobs }: Pick<WorkspaceConfig, 'jobs'>): Job[] {
  return toJobs(
    declaredJobs,
    jobs,
    declarations.map(({ name }) => name),
  );
}

/** A workspace's job by name, also one that is turned off. Throws `usage` where there is none. */
export function jobOf(config: Pick<WorkspaceConfig, 'jobs'>, name: string): Job {
  const jobs = jobsOf(config);
  const job = jobs.find((candidate) => candidate.name === name);
  if (job !== undefined) return job;
  const known = jobs.map((candidate) => candidate.name).join(', ');
  throw new SightlineError('usage', `there is no job ${JSON.stringify(name)}; allowed: ${known}`);
}
