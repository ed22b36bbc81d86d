import { readConventions } from '../metrics/calibration/findings.ts';
import { mergeConventions, toOverrides } from '../metrics/calibration/overrides.ts';
import { layoutOf } from '../publish/snapshot/layout.ts';
import type { MetricsSource } from '../read/metrics/table-result.ts';
import { openServedReplica } from '../read/open-replica.ts';
import { REPLICA_OPTIONS } from '../warehouse/replica.ts';
import { catalogueOf } from '../workspace/catalogues.ts';
import { liveMarks } from '../workspace/marks-file.ts';
import { openReplicaWith } from '../workspace/newest-replica.ts';
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
  const overrides = toOverrides(config.conventions);
  const replica = await openReplicaWith(config, layoutOf(config.folder), (path) =>
    openServedReplica(path, {
      catalogue: catalogueOf(config),
      replica: { ...REPLICA_OPTIONS, connections: 1, timeoutMs: TIMEOUT_MS },
      readConventions: async (query) => mergeConventions(await readConventions(query), overrides),
      marks: liveMarks(config),
    }),
  );
  try {
    return await operation({ replica, catalogue: replica.catalogue, nowMs: clock.now(), signal }, given);
  } finally {
    await replica.replica.close();
  }
}
