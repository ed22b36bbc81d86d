import { layoutOf } from '../publish/snapshot/layout.ts';
import type { MetricsSource } from '../read/metrics/table-result.ts';
import { openServedReplica } from '../read/open-replica.ts';
import { openReplicaWith } from '../workspace/newest-replica.ts';
import { replicaOptionsOf } from '../workspace/replica-options.ts';
import type { Context } from '../workspace/workspace.ts';

/** Time limit of a query of a command; longer than in the server, because no other query waits for it. */
const TIMEOUT_MS = 600_000;

/**
 * Runs an operation on the replica of a workspace. `given` has the texts of its input by name.
 *
 * @throws SightlineError `no_data` before the first sync, `invalid_parameter`, and the signal's reason when it is aborted
 * @example
 * await runOnReplica(context, explainMetric, new URLSearchParams({ metric: 'visibility', brand: 'Acme' }));
 */
export async function runOnReplica<T>(
  { config, clock, signal }: Pick<Context, 'config' | 'clock' | 'signal'>,
  operation: (source: MetricsSource, given: URLSearchParams) => Promise<T>,
  given: URLSearchParams,
): Promise<T> {
  const replica = await openReplicaWith(config, layoutOf(config.folder), (path) =>
    openServedReplica(path, replicaOptionsOf(config, { connections: 1, timeoutMs: TIMEOUT_MS })),
  );
  try {
    return await operation({ replica, catalogue: replica.catalogue, nowMs: clock.now(), signal }, given);
  } finally {
    await replica.replica.close();
  }
}
