import { readConventions } from '../analytics/calibration/findings.ts';
import { mergeConventions, toOverrides } from '../analytics/calibration/overrides.ts';
import type { WorkspaceConfig } from '../base/config/config.ts';
import {
  type BrandOpportunities,
  type ChangeExplanation,
  explainMetric,
  listChanges,
  listOpportunities,
} from '../query/metrics/explanations.ts';
import type { MetricsSource } from '../query/metrics/table-result.ts';
import { openServedReplica, type ServedReplica } from '../query/open-replica.ts';
import { catalogueOf } from '../session/catalogues.ts';
import { openNewestReplicaWith } from '../session/newest-replica.ts';
import type { Context } from '../session/workspace.ts';
import { layoutOf } from '../snapshot/layout.ts';
import { REPLICA_OPTIONS } from '../warehouse/replica.ts';

type History = Awaited<ReturnType<typeof listChanges>>;

/** Explains the change of a metric; see `explainMetric`. Throws `no_data` and `invalid_parameter`. */
export function explainWorkspace(context: Context, given: URLSearchParams): Promise<ChangeExplanation> {
  return withSource(context, (source) => explainMetric(source, given));
}

/** Lists the changes of a workspace; see `listChanges`. Throws `no_data` and `invalid_parameter`. */
export function listWorkspaceChanges(context: Context, given: URLSearchParams): Promise<History> {
  return withSource(context, (source) => listChanges(source, given));
}

/** Lists the opportunities of a brand; see `listOpportunities`. Throws `no_data` and `invalid_parameter`. */
export function listWorkspaceOpportunities(context: Context, given: URLSearchParams): Promise<BrandOpportunities> {
  return withSource(context, (source) => listOpportunities(source, given));
}

async function withSource<T>(
  { config, clock, signal }: Context,
  work: (source: MetricsSource) => Promise<T>,
): Promise<T> {
  const { opened } = await openNewestReplicaWith(config, layoutOf(config.folder), (path) =>
    openReplicaOf(config, path),
  );
  try {
    return await work({ replica: opened, catalogue: opened.catalogue, nowMs: clock.now(), signal });
  } finally {
    await opened.replica.close();
  }
}

function openReplicaOf(config: WorkspaceConfig, path: string): Promise<ServedReplica> {
  const overrides = toOverrides(config.conventions);
  return openServedReplica(path, {
    catalogue: catalogueOf(config),
    replica: REPLICA_OPTIONS,
    readConventions: async (query) => mergeConventions(await readConventions(query), overrides),
  });
}
