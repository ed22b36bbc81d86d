import { statSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../base/clock.ts';
import type { WorkspaceConfig } from '../../base/config/config.ts';
import { CONFIG_FILE } from '../../base/config/config-file.ts';
import { EXIT, SightlineError } from '../../base/errors.ts';
import { serveApi } from '../../serve/serve-api.ts';
import type { Log } from '../../serve/telemetry/server-log.ts';
import { refreshReplica } from '../../session/remote-session.ts';
import { readAllConfigs, readSurroundings, toInteger } from '../context.ts';
import { plural, printData, say } from '../output/output.ts';
import { openTerminalLog } from '../output/terminal-log.ts';
import { listening, type Options, type ServeFlags, warnOfReach } from '../serving.ts';

/** Minimum time between two checks of the configuration file, in milliseconds. */
const CHECK_EVERY_MS = 1_000;
const NO_FILE = 'none';

/** Runs `sightline serve --role api` until the signal is aborted, and returns exit code 0. */
export async function serveApiCommand(flags: ServeFlags, given: Options, signal: AbortSignal): Promise<number> {
  if (flags.statusPage === 'loopback') {
    const allowed = 'key or off; --role api has no status page';
    throw new SightlineError('usage', `--status-page is "loopback"; allowed: ${allowed}`);
  }
  const refreshMs = toInteger('--refresh', flags.refresh, 1, 86_400) * 1_000;
  const openMax = toInteger('--open-workspaces', flags.openWorkspaces, 1, 1_000);
  const log = await openTerminalLog(given.logLevel, systemClock);
  const workspaces = watchConfigs(flags, log);
  const surroundings = { clock: systemClock, signal };
  const options = { ...given, log, refreshMs, openMax, workspaces, refresh: refreshReplica };
  const server = await listening(given, flags, () => serveApi(surroundings, options));
  const { baseUrl, mcpUrl, metricsUrl, keys } = server;
  const count = workspaces().size;
  if (flags.json === true) printData(JSON.stringify({ baseUrl, mcpUrl, metricsUrl, workspaces: count, keys }));
  else {
    const served = `${plural(count, 'workspace')} with ${plural(keys, 'key')}`;
    say(`Serving ${served} at ${baseUrl}, and to AI assistants at ${mcpUrl}. A key opens its own workspace only.`);
    if (metricsUrl !== null) say(`Metrics: ${metricsUrl}`);
  }
  warnOfReach(given.host);
  if (keys === 0) say('No keys yet: create one with `sightline keys create NAME --workspace WORKSPACE`.');
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  await server.close();
  log.stream.flush();
  return EXIT.done;
}

// Reloads the configuration file when it changes. If it is missing or invalid, the earlier settings stay in use.
function watchConfigs(flags: ServeFlags, log: Log): () => ReadonlyMap<string, WorkspaceConfig> {
  const path = join(readSurroundings().folder, CONFIG_FILE);
  const identity = (): string => {
    const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
    return stats === undefined ? NO_FILE : `${stats.ino} ${stats.mtimeNs} ${stats.size}`;
  };
  let seen = identity();
  let checkedAt = systemClock.monotonic();
  const read = (): ReadonlyMap<string, WorkspaceConfig> => {
    const found = new Map<string, WorkspaceConfig>();
    for (const configured of readAllConfigs(flags)) {
      if ('config' in configured) found.set(configured.name, configured.config);
      else {
        const { code, message } = configured.error;
        log.logger.error({ workspace: configured.name, code, msg: `the workspace is not served: ${message}` });
      }
    }
    return found;
  };
  let current = read();
  return () => {
    if (systemClock.monotonic() - checkedAt < CHECK_EVERY_MS) return current;
    checkedAt = systemClock.monotonic();
    try {
      const now = identity();
      if (now === seen) return current;
      seen = now;
      if (now === NO_FILE) throw new SightlineError('config_invalid', `${path} no longer exists`);
      current = read();
      log.logger.info({ msg: `the settings were reloaded: ${plural(current.size, 'workspace')}` });
    } catch (thrown) {
      log.logger.error({ msg: 'the changed settings cannot be read; the earlier ones stay in use', err: thrown });
    }
    return current;
  };
}
