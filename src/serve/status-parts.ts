import type { Clock } from '../base/clock.ts';
import type { WorkspaceConfig } from '../base/config/config.ts';
import { jobLines } from '../operations/jobs/job-list.ts';
import { readDestinations } from '../operations/last-loads.ts';
import { layoutOf } from '../publish/snapshot/layout.ts';
import { toShownTexts } from '../read/shown-text.ts';
import { readBudgetUse } from '../upstream/budget/budget-use.ts';
import type { PageAccess } from './pages/page-access.ts';
import type { StatusParts } from './pages/status-report.ts';

/** Reads the use of a workspace's budget on this machine; null if it is unknown. */
export type ReadBudget = () => ReturnType<typeof readBudgetUse>;

/** Returns the data of a workspace's operations page that the page cannot read itself. */
export function statusPartsOf(
  config: WorkspaceConfig,
  access: PageAccess,
  runsJobs: boolean,
  readBudget: ReadBudget,
): StatusParts {
  const jobs: StatusParts['jobs'] = async (nowMs) => toShownTexts(await jobLines(config, nowMs));
  const reportedLimit = async (): Promise<number | null> => (await readBudget())?.limit ?? null;
  const destinations: StatusParts['destinations'] = async (dataVersion) =>
    toShownTexts(await readDestinations(config, dataVersion));
  return { access, workspace: config.name, folder: config.folder, runsJobs, jobs, destinations, reportedLimit };
}

/**
 * Returns the use of a workspace's budget on this machine. Null without an API key, which a server of data that another machine
 * syncs does not need, and for a budget in a database, because a request must not wait for that.
 */
export async function budgetUseOf(config: WorkspaceConfig, clock: Clock): ReturnType<ReadBudget> {
  try {
    if (config.budget().kind !== 'file') return null;
    const { key } = config.upstream();
    const { budgets: folder } = layoutOf(config.folder);
    return await readBudgetUse({ folder, key, share: config.budgetShare, clock });
  } catch {
    return null;
  }
}
