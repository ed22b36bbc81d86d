import PQueue from 'p-queue';
import type { Clock } from '../../base/clock.ts';
import type { WorkspaceConfig } from '../../base/config/config.ts';
import { toSightlineError } from '../../base/errors.ts';
import type { RemoteState } from '../../remote/remote.ts';
import { remoteState } from '../../session/remote-stores.ts';

/** Remote warehouses whose state is read at the same time. */
const HOMES_AT_A_TIME = 16;

/** State of a workspace's remote warehouse. */
export interface ClusterRemote extends RemoteState {
  readonly workspace: string;
}

/**
 * Reads the lease and the last check-in of each remote warehouse. Leased ones come first. An unreadable one is left out and
 * reported to `warn`.
 */
export async function readClusterRemotes(
  configs: readonly WorkspaceConfig[],
  clock: Clock,
  warn: (sentence: string) => void,
): Promise<ClusterRemote[]> {
  const queue = new PQueue({ concurrency: HOMES_AT_A_TIME });
  const away = configs.filter(({ remote }) => remote.kind !== 'local');
  const found: ClusterRemote[] = [];
  await Promise.all(
    away.map((config) =>
      queue.add(async () => {
        try {
          const state = await remoteState({ config, clock });
          if (state !== null) found.push({ workspace: config.name, ...state });
        } catch (thrown) {
          warn(`workspace ${config.name}: ${toSightlineError(thrown).message}`);
        }
      }),
    ),
  );
  const rank = ({ claim, workspace }: ClusterRemote): string => `${claim === null ? 1 : 0} ${workspace}`;
  return found.sort((a, b) => (rank(a) < rank(b) ? -1 : 1));
}
