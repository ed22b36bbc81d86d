import type { WorkspaceConfig } from '../base/config.ts';
import { hideKeys } from '../base/errors.ts';
import { readJobRuns } from '../scheduler/book.ts';
import { upcoming } from '../scheduler/schedule.ts';
import type { JobLine, StatusAccess, StatusParts } from '../serve/status/parts.ts';
import { jobsOf } from './jobs.ts';

/** What the status page of a workspace is told beside what it finds by itself. Throws `config_invalid`. */
export function statusPageOf(config: WorkspaceConfig, access: StatusAccess, runsJobs: boolean): StatusParts {
  const jobs = jobsOf(config);
  const lines = async (nowMs: number): Promise<JobLine[]> => {
    const runs = await readJobRuns(config.folder);
    return jobs.map((job) => {
      const at = upcoming([job], nowMs, 1)[0]?.atMs;
      const last = runs.find((run) => run.job === job.name);
      const { name, about, cron, timeZone, enabled } = job;
      return {
        name,
        about,
        cron: cron.text,
        timeZone,
        enabled,
        steps: job.steps.map((step) => step.do),
        next: at === undefined ? null : new Date(at).toISOString(),
        last:
          last === undefined
            ? null
            : { status: last.status, startedAt: last.startedAt, endedAt: last.endedAt, error: errorOf(last) },
      };
    });
  };
  return { access, workspace: config.name, folder: config.folder, runsJobs, jobs: lines };
}

function errorOf({ status, steps }: Awaited<ReturnType<typeof readJobRuns>>[number]): string | null {
  const failed = steps.find((step) => step.status === status && step.error !== null);
  return failed === undefined ? null : hideKeys(`${failed.step}: ${failed.error}`);
}
