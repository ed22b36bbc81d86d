import { randomBytes } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import type { WorkspaceConfig } from '../base/config/config.ts';
import { readConventions, readDoubts } from '../metrics/calibration/findings.ts';
import { mergeConventions, toOverrides } from '../metrics/calibration/overrides.ts';
import { layoutOf } from '../publish/snapshot/layout.ts';
import { createService } from '../read/create-service.ts';
import type { Service } from '../read/service.ts';
import { readProgress } from '../sync/progress-file.ts';
import { REPLICA_OPTIONS } from '../warehouse/replica.ts';
import { catalogueOf } from '../workspace/catalogues.ts';
import { liveMarks } from '../workspace/marks-file.ts';
import { readCursorSecret } from './auth/keys.ts';

/**
 * Builds the query layer of a workspace. Works before the first sync; requests then fail
 * with `no_data`.
 */
export function openService(
  config: WorkspaceConfig,
  clock: Clock,
  cursorSecret: Uint8Array,
  timeoutMs: number,
): Service {
  const overrides = toOverrides(config.conventions);
  return createService({
    catalogue: catalogueOf(config),
    path: layoutOf(config.folder).analytics,
    clock,
    cursorSecret,
    replica: { ...REPLICA_OPTIONS, timeoutMs },
    readConventions: async (query) => mergeConventions(await readConventions(query), overrides),
    readDoubts: async (query) =>
      new Map([...(await readDoubts(query))].filter(([name]) => !Object.hasOwn(overrides, name))),
    marks: liveMarks(config),
    readRunning: () => readProgress(config.folder, clock.now()),
  });
}

/**
 * Returns the secret that signs a workspace's pagination cursors. If it may not or cannot be stored, returns a random one, and
 * cursors become invalid when the process ends.
 */
export async function cursorSecretOf({ folder }: WorkspaceConfig, isKept: boolean): Promise<Uint8Array> {
  if (!isKept) return randomBytes(32);
  return readCursorSecret(folder).catch(() => randomBytes(32));
}
