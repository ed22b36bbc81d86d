import type { WorkspaceConfig } from '../base/config/config.ts';
import { jobsOf, listJobs } from '../operations/jobs/job-list.ts';
import { toShown } from '../query/shown-text.ts';
import type { JobRun } from '../scheduler/job-log.ts';
import type { StatusAccess, StatusParts } from '../web/operations/page-parts.ts';

/** The data of a workspace's status page that the page cannot read itself. Throws `config_invalid`. */
export function statusPageOf(config: WorkspaceConfig, access: StatusAccess, runsJobs: boolean): StatusParts {
  // Validate the jobs now, so that wrong settings fail at startup and not on the first request.
  jobsOf(config);
  const jobs: StatusParts['jobs'] = async (nowMs) =>
    (await listJobs(config, nowMs)).map(({ job, next, last }) => {
      const { name, about, cron, timeZone, enabled, steps } = job;
      const listed = { name, about, cron: cron.text, timeZone, enabled, steps: steps.map((step) => step.do), next };
      if (last === null) return { ...listed, last };
      const { status, startedAt, endedAt } = last;
      return { ...listed, last: { status, startedAt, endedAt, error: errorOf(last) } };
    });
  return { access, workspace: config.name, folder: config.folder, runsJobs, jobs };
}

function errorOf({ status, steps }: JobRun): string | null {
  const failed = steps.find((step) => step.status === status && step.error !== null);
  return failed === undefined ? null : toShown(`${failed.step}: ${failed.error}`);
}
