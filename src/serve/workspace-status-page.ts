import type { WorkspaceConfig } from '../base/config/config.ts';
import { jobLines, jobsOf } from '../operations/jobs/job-list.ts';
import { toShownTexts } from '../query/shown-text.ts';
import type { StatusAccess, StatusParts } from '../web/operations/page-parts.ts';

/** The data of a workspace's status page that the page cannot read itself. Throws `config_invalid`. */
export function statusPageOf(config: WorkspaceConfig, access: StatusAccess, runsJobs: boolean): StatusParts {
  // Validate the jobs now, so that wrong settings fail at startup and not on the first request.
  jobsOf(config);
  const jobs: StatusParts['jobs'] = async (nowMs) => toShownTexts(await jobLines(config, nowMs));
  return { access, workspace: config.name, folder: config.folder, runsJobs, jobs };
}
