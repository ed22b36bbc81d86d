import type { WorkspaceSandbox } from '../../schemas/fixtures/start.ts';
import { loadConfig } from '../../src/base/config/config.ts';
import type { Context } from '../../src/workspace/workspace.ts';
import { NO_PROBES } from '../support/no-probes.ts';
import { worldClock } from '../support/worlds.ts';

/** Returns a context for operations on the workspace in `folder`, at the time of worlds; without an upstream, they cannot sync. */
export function contextIn(folder: string, upstream?: Pick<WorkspaceSandbox, 'baseUrl' | 'key'>): Context {
  const environment =
    upstream === undefined
      ? {}
      : { ...NO_PROBES, SIGHTLINE_BASE_URL: upstream.baseUrl, SIGHTLINE_API_KEY: upstream.key };
  const config = loadConfig({ flags: {}, environment, folder });
  return { config, clock: worldClock(), signal: new AbortController().signal, command: 'test' };
}
