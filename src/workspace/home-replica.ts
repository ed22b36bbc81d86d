import type { Clock } from '../base/clock.ts';
import type { WorkspaceConfig } from '../base/config/config.ts';
import { agesOf, layoutOf } from '../publish/snapshot/layout.ts';
import { isFetched, makeEqual, readHome } from './home-folder.ts';
import { thisProcess } from './process-driver.ts';
import { withFolder } from './session.ts';
import { publish, publishMidway, withWarehouse } from './workspace.ts';

/** Memory for publishing a fetched warehouse, in MB. */
const MEMORY_MB = 256;

/** A workspace that may have a home. */
export interface HomeWorkspace {
  readonly config: WorkspaceConfig;
  readonly clock: Clock;
}

/**
 * Fetches the data that another machine has saved in the home of a workspace, and publishes the replica. Returns whether it did. Does nothing
 * if the workspace has no home, if work on this machine has the workspace, or while a sync elsewhere reads days again.
 *
 * @throws `destination_failed`, `extension_missing`, `home_conflict`
 */
export async function refreshReplica({ config, clock }: HomeWorkspace): Promise<boolean> {
  const { home, folder } = config;
  if (home === null || thisProcess.isInUse(folder)) return false;
  const { signal } = new AbortController();
  const layout = layoutOf(folder);
  const state = await readHome(config, signal);
  if (state?.savedAt == null) return false;
  const isEmpty = agesOf(layout).copy === 0;
  if (!isEmpty && (await isFetched(config, state.savedAt))) return false;
  const context = { config, clock, signal, command: 'serve' };
  return withFolder(context, async (inside) => {
    await makeEqual(config, state, signal);
    return withWarehouse(inside, { memoryLimitMb: MEMORY_MB }, async ({ warehouse, copy }) => {
      if (!isEmpty) return publishMidway(warehouse, layout, copy);
      await publish(warehouse, layout, copy);
      return true;
    });
  });
}
