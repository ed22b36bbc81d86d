import { randomBytes } from 'node:crypto';
import { readConventions, readDoubts } from '../analytics/calibration/findings.ts';
import { mergeConventions, toOverrides } from '../analytics/calibration/overrides.ts';
import type { Clock } from '../base/clock.ts';
import type { WorkspaceConfig } from '../base/config/config.ts';
import { createService } from '../query/create-service.ts';
import type { Service } from '../query/service.ts';
import { catalogueOf } from '../session/catalogues.ts';
import { liveMarks } from '../session/marks-file.ts';
import { layoutOf } from '../snapshot/layout.ts';
import { readProgress } from '../sync/progress-file.ts';
import { REPLICA_OPTIONS } from '../warehouse/replica.ts';
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
