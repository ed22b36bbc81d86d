import { randomBytes } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import type { WorkspaceConfig } from '../base/config/config.ts';
import { layoutOf } from '../publish/snapshot/layout.ts';
import { createService } from '../read/create-service.ts';
import type { Service } from '../read/service.ts';
import { readProgress } from '../sync/progress-file.ts';
import { replicaOptionsOf } from '../workspace/replica-options.ts';
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
  return createService({
    ...replicaOptionsOf(config, { timeoutMs }),
    path: layoutOf(config.folder).analytics,
    clock,
    cursorSecret,
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
