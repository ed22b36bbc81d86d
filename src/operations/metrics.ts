import { readConventions } from '../analytics/calibration/findings.ts';
import { mergeConventions, toOverrides } from '../analytics/calibration/overrides.ts';
import { runMetrics } from '../query/metrics/run-metrics.ts';
import type { TableResult } from '../query/metrics/table-result.ts';
import { openServedReplica } from '../query/open-replica.ts';
import { openReplicaWith } from '../session/newest-replica.ts';
import { type Context, catalogue } from '../session/workspace.ts';
import { layoutOf } from '../snapshot/layout.ts';
import { REPLICA_OPTIONS } from '../warehouse/replica.ts';

/** Time limit of a query of a command; longer than in the server, because no other query waits for it. */
const TIMEOUT_MS = 600_000;

/**
 * Computes measures from the replica of a workspace. `given` has the parameters of `runMetrics`.
 *
 * @throws SightlineError `no_data` before the first sync, `invalid_parameter`, and the signal's reason when it is aborted
 */
export async function queryMetrics(
  { config, clock, signal }: Pick<Context, 'config' | 'clock' | 'signal'>,
  given: URLSearchParams,
): Promise<TableResult> {
  const overrides = toOverrides(config.conventions);
  const replica = await openReplicaWith(config, layoutOf(config.folder), (path) =>
    openServedReplica(path, {
      catalogue,
      replica: { ...REPLICA_OPTIONS, connections: 1, timeoutMs: TIMEOUT_MS },
      readConventions: async (query) => mergeConventions(await readConventions(query), overrides),
    }),
  );
  try {
    return await runMetrics({ replica, catalogue, nowMs: clock.now(), signal }, given);
  } finally {
    await replica.replica.close();
  }
}
