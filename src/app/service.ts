import { randomBytes } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import type { WorkspaceConfig } from '../base/config.ts';
import { mergeConventions, toOverrides } from '../metrics/overrides.ts';
import { readConventions } from '../metrics/stored.ts';
import { createService } from '../serve/create.ts';
import { HTTP_LIMITS } from '../serve/http/limits.ts';
import { readCursorSecret } from '../serve/keys.ts';
import type { Service } from '../serve/service.ts';
import { layoutOf } from '../snapshot/layout.ts';
import { REPLICA_OPTIONS } from '../warehouse/replica.ts';
import { catalogue } from './workspace.ts';

/** Builds the query layer of a workspace. There need be no data yet; what is asked before is answered with that error. */
export function openService(
  config: WorkspaceConfig,
  clock: Clock,
  cursorSecret: Uint8Array,
  timeoutMs: number,
): Service {
  const overrides = toOverrides(config.conventions);
  return createService({
    catalogue,
    path: layoutOf(config.folder).analytics,
    clock,
    cursorSecret,
    replica: { ...REPLICA_OPTIONS, timeoutMs },
    readConventions: async (query) => mergeConventions(await readConventions(query), overrides),
  });
}

/**
 * The secret under which a workspace's cursors are signed; where it is not to be kept, or cannot be, cursors do not outlive
 * the process, which is no reason to serve nothing.
 */
export async function cursorSecretOf({ folder }: WorkspaceConfig, isKept: boolean): Promise<Uint8Array> {
  if (!isKept) return randomBytes(32);
  return readCursorSecret(folder).catch(() => randomBytes(32));
}

/** How long a connection may stand still, milliseconds: it does so while its query runs. */
export function idleTimeoutFor(queryTimeoutMs: number): number {
  return Math.max(HTTP_LIMITS.idleTimeoutMs, 2 * queryTimeoutMs);
}
