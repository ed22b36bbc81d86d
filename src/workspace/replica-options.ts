import type { WorkspaceConfig } from '../base/config/config.ts';
import { readConventions, readDoubts } from '../metrics/calibration/findings.ts';
import { mergeConventions, toOverrides } from '../metrics/calibration/overrides.ts';
import type { ServedReplicaOptions } from '../read/open-replica.ts';
import { REPLICA_OPTIONS, type ReplicaOptions } from '../warehouse/replica.ts';
import { catalogueOf } from './catalogues.ts';
import { liveMarks } from './marks-file.ts';

/** Returns the options with which the replica of a workspace is opened: its catalogue, its conventions and its marks. */
export function replicaOptionsOf(config: WorkspaceConfig, limits: Partial<ReplicaOptions> = {}): ServedReplicaOptions {
  const overrides = toOverrides(config.conventions);
  return {
    catalogue: catalogueOf(config),
    replica: { ...REPLICA_OPTIONS, ...limits },
    readConventions: async (query) => mergeConventions(await readConventions(query), overrides),
    readDoubts: async (query) =>
      new Map([...(await readDoubts(query))].filter(([name]) => !Object.hasOwn(overrides, name))),
    marks: liveMarks(config),
  };
}
