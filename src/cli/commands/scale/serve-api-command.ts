import { EXIT } from '../../../base/errors.ts';
import { watchConfigs } from '../../../operations/cluster/workspace-list.ts';
import { type ApiOptions, serveApi } from '../../../serve/serve-api.ts';
import { refreshReplica } from '../../../workspace/home-replica.ts';
import { readAllConfigs } from '../../checked-config.ts';
import { readDataFolder, readSurroundings } from '../../context.ts';
import { describeOAuth, describeSignIn, listening, warnOfReach } from '../../listening.ts';
import { plural, printJson, say } from '../../output/output.ts';
import { openTerminalLog } from '../../output/terminal-log.ts';
import { terminal } from '../../output/terminal.ts';
import type { Call } from '../../program/define-command.ts';
import { refused } from '../../program/option-kinds.ts';

/** Runs `sightline serve --role api` until the signal is aborted, and returns exit code 0. */
export async function serveAll(
  { flags, json, signal }: Call,
  {
    pages,
    ...given
  }: Omit<ApiOptions, 'log' | 'workspaces' | 'refresh' | 'pages' | 'fleetFolder'> & {
    readonly pages: ApiOptions['pages'] | 'loopback';
  },
): Promise<number> {
  if (pages === 'loopback') throw refused('--pages', pages, 'key or off with --role api');
  const fleetFolder = readDataFolder(flags);
  const log = await openTerminalLog(given.logLevel, terminal().clock);
  const workspaces = watchConfigs(
    readSurroundings().folder,
    () => readAllConfigs(flags),
    terminal().clock,
    (level, entry) => log.logger[level](entry),
  );
  const options = { ...given, pages, fleetFolder, log, workspaces, refresh: refreshReplica };
  const server = await listening(given, () => serveApi({ clock: terminal().clock, signal }, options));
  const { baseUrl, mcpUrl, metricsUrl, pageUrl, keys } = server;
  const count = workspaces().size;
  if (json)
    printJson('serve --role api', {
      baseUrl,
      mcpUrl,
      metricsUrl,
      pageUrl,
      signInUrl: await server.signInUrl(),
      workspaces: count,
      keys,
    });
  else {
    const served = `${plural(count, 'workspace')} with ${plural(keys, 'key')}`;
    say(`Serving ${served} at ${baseUrl}, and to AI assistants at ${mcpUrl}. A key opens its own workspaces only.`);
    if (pageUrl !== null) say(`Data pages: ${pageUrl}`);
    if (metricsUrl !== null) say(`Metrics: ${metricsUrl}`);
    if (given.oauth) say(describeOAuth(given.oauth));
    if (pages !== 'off') say(await describeSignIn(server));
  }
  warnOfReach(given.host);
  if (keys === 0) say('No keys yet: create one with `sightline keys create NAME --workspace WORKSPACE`.');
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  await server.close();
  log.stream.flush();
  return EXIT.done;
}
