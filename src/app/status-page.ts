import type { WorkspaceConfig } from '../base/config.ts';
import type { JobRun } from '../scheduler/book.ts';
import type { StatusAccess, StatusParts } from '../serve/status/parts.ts';
import { toShown } from '../serve/status/text.ts';
import { jobsOf, listJobs } from './jobs.ts';

/** What the status page of a workspace is told beside what it finds by itself. Throws `config_invalid`. */
export function statusPageOf(config: WorkspaceConfig, access: StatusAccess, runsJobs: boolean): StatusParts {
  // What is wrong with the settings is said at the start, not to the first who looks.
  jobsOf(config);
  const jobs: StatusParts['jobs'] = async (nowMs) =>
    (await listJobs(config, nowMs)).map(({ job, next, last }) => {
      const { name, about, cron, timeZone, enabled, steps } = job;
      const told = { name, about, cron: cron.text, timeZone, enabled, steps: steps.map((step) => step.do), next };
      if (last === null) return { ...told, last };
      const { status, startedAt, endedAt } = last;
      return { ...told, last: { status, startedAt, endedAt, error: errorOf(last) } };
    });
  return { access, workspace: config.name, folder: config.folder, runsJobs, jobs };
}

function errorOf({ status, steps }: JobRun): string | null {
  const failed = steps.find((step) => step.status === status && step.error !== null);
  return failed === undefined ? null : toShown(`${failed.step}: ${failed.error}`);
}
