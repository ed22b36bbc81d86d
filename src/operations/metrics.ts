import { readConventions } from '../analytics/calibration/findings.ts';
import { mergeConventions, toOverrides } from '../analytics/calibration/overrides.ts';
import { type DimensionValues, dimensionValues } from '../query/metrics/dimension-values.ts';
import { runMetrics } from '../query/metrics/run-metrics.ts';
import type { MetricsSource, TableResult } from '../query/metrics/table-result.ts';
import { openServedReplica } from '../query/open-replica.ts';
import { catalogueOf } from '../session/catalogues.ts';
import { openReplicaWith } from '../session/newest-replica.ts';
import type { Context } from '../session/workspace.ts';
import { layoutOf } from '../snapshot/layout.ts';
import { REPLICA_OPTIONS } from '../warehouse/replica.ts';

/** Time limit of a query of a command; longer than in the server, because no other query waits for it. */
const TIMEOUT_MS = 600_000;

/**
 * Computes measures from the replica of a workspace. `given` has the parameters of `runMetrics`.
 *
 * @throws SightlineError `no_data` before the first sync, `invalid_parameter`, and the signal's reason when it is aborted
 */
export function queryMetrics(context: QueryContext, given: URLSearchParams): Promise<TableResult> {
  return withMetrics(context, (source) => runMetrics(source, given));
}

/** Lists values of a dimension in the replica of a workspace; see `dimensionValues`. Throws like `queryMetrics`. */
export function listDimensionValues(context: QueryContext, given: URLSearchParams): Promise<DimensionValues> {
  return withMetrics(context, (source) => dimensionValues(source, given));
}

type QueryContext = Pick<Context, 'config' | 'clock' | 'signal'>;

async function withMetrics<T>(
  { config, clock, signal }: QueryContext,
  work: (source: MetricsSource) => Promise<T>,
): Promise<T> {
  const overrides = toOverrides(config.conventions);
  const replica = await openReplicaWith(config, layoutOf(config.folder), (path) =>
    openServedReplica(path, {
      catalogue: catalogueOf(config),
      replica: { ...REPLICA_OPTIONS, connections: 1, timeoutMs: TIMEOUT_MS },
      readConventions: async (query) => mergeConventions(await readConventions(query), overrides),
    }),
  );
  try {
    return await work({ replica, catalogue: replica.catalogue, nowMs: clock.now(), signal });
  } finally {
    await replica.replica.close();
  }
}
