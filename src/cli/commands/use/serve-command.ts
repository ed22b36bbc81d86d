import { setFlagsFromString } from 'node:v8';
import { EXIT, SightlineError } from '../../../base/errors.ts';
import { shownTime } from '../../../contract/time.ts';
import type { FirstRun } from '../../../operations/first-run.ts';
import type { JobLogger } from '../../../operations/jobs/run-workspace-job.ts';
import type { RunningSchedule } from '../../../operations/run-schedule.ts';
import { isLoopback } from '../../../serve/auth/hosts.ts';
import { listenEarly } from '../../../serve/http/listener.ts';
import type { ServeWorkspaceOptions } from '../../../serve/serve-workspace.ts';
import type { KeyedServer } from '../../../serve/start-serving.ts';
import type { LogLevel, LogTarget } from '../../../serve/telemetry/server-log.ts';
import type { Context } from '../../../workspace/workspace.ts';
import type { WorkspaceFlags } from '../../context.ts';
import { describeOAuth, describeSignIn, listening, warnOfReach } from '../../listening.ts';
import { printJson, say } from '../../output/output.ts';
import { logOptions, queryTimeout, workspaceOptions } from '../../program/common-options.ts';
import { type Call, defineCommand } from '../../program/define-command.ts';
import { integer, negated, oneOf, option, rateLimit, refused, texts, withDefault } from '../../program/option-kinds.ts';

/** Highest rate limit of a key, in requests per minute. */
const RATE_MAX = 1_000_000;
/**
 * V8 flags that limit the heap: the young generation does not grow, and the old generation is collected at 1.5 times the size of its live
 * objects. Under load, resident memory is 0.3 GB instead of 0.5 GB at the same number of requests per second.
 */
const HEAP_FLAGS = ['--semi-space-growth-factor=1', '--heap-growing-percent=50'];
export const serve = defineCommand({
  options: {
    ...workspaceOptions,
    host: withDefault(option('<address>', 'address to listen on', toHost), '127.0.0.1'),
    port: withDefault(integer('<port>', 'port, or 0 for any', 0, 65_535), '4000'),
    metricsPort: integer('<port>', 'serve Prometheus metrics on this port, or on any with 0', 0, 65_535),
    rateLimit: rateLimit('requests per minute for each key, or off', RATE_MAX),
    queryTimeout,
    corsOrigin: texts('<origins...>', 'allow browser requests from these origins', toOrigin),
    allowHost: texts('<names...>', 'accept only these host names, and loopback', toHostName),
    ...logOptions,
    pages: withDefault(
      oneOf('<who>', 'access to the pages: with a key or a sign-in link, also without them from this machine, or off', [
        'key',
        'loopback',
        'off',
      ]),
      'key',
    ),
    jobs: negated('no-jobs', 'do not run jobs'),
    role: withDefault(
      oneOf('<role>', 'all: serve one workspace and run its jobs; api: serve all workspaces, without jobs', [
        'all',
        'api',
      ]),
      'all',
    ),
    refresh: withDefault(
      integer('<seconds>', 'with --role api, interval between checks for newer replicas', 1, 86_400),
      '30',
    ),
    openWorkspaces: withDefault(
      integer('<number>', 'with --role api, maximum number of open workspaces', 1, 1_000),
      '16',
    ),
  },
  exits: '0 after it was stopped.',
  examples: [
    ['sightline serve', 'serve the workspace and run its jobs'],
    ['sightline serve --host 0.0.0.0 --port 8080 --pages off', 'serve other machines, without the pages'],
  ],
  run: async (values, begin) => {
    const { host, port, metricsPort, rateLimit, corsOrigin, allowHost, logLevel, pages, jobs, ...more } = values;
    const { queryTimeout: queryTimeoutMs, role, refresh, openWorkspaces, ...unread } = more;
    const call = begin(unread);
    for (const flag of HEAP_FLAGS) setFlagsFromString(flag);
    if (pages === 'loopback' && !isLoopback(host)) {
      const others = 'key or off if --host is reachable from other machines; loopback with --host 127.0.0.1';
      throw refused('--pages', pages, others);
    }
    // Listens before most modules are loaded and files are opened, so that `/livez` is answered soon after the start.
    const listener = await listening({ host, port }, () => listenEarly(host, port));
    try {
      const site = { host, port, metricsPort, rateLimit, corsOrigins: corsOrigin, allowedHosts: allowHost, listener };
      const { loadOAuthSettings } = await import('../../../base/config/config.ts');
      const { readSurroundings } = await import('../../context.ts');
      const oauth = loadOAuthSettings(readSurroundings());
      const given = { ...site, queryTimeoutMs, logLevel, pages, oauth };
      if (role === 'all') return await serveOne(call, { ...given, runsJobs: jobs });
      const { serveAll } = await import('../scale/serve-api-command.ts');
      return await serveAll(call, { ...given, refreshMs: refresh * 1_000, openMax: openWorkspaces });
    } catch (thrown) {
      await listener.close();
      throw thrown;
    }
  },
});

async function serveOne(
  { flags, json, signal, ...call }: Call,
  given: Omit<ServeWorkspaceOptions, 'log'>,
): Promise<number> {
  const context = await call.context();
  context.config.notify();
  const { openTerminalLog } = await import('../../output/terminal-log.ts');
  const { serveWorkspace } = await import('../../../serve/serve-workspace.ts');
  const log = await openTerminalLog(given.logLevel, context.clock);
  const setup = given.pages === 'off' ? {} : { setup: await openFirstRun(context, flags, given.logLevel, log) };
  const server = await listening(given, () => serveWorkspace(context, { ...given, log, ...setup }));
  const { runsJobs, logLevel } = given;
  const schedule = await keepSchedule(context, flags, { runsJobs, logLevel, log }).catch(sayNoSchedule);
  if (schedule !== null && schedule.other !== null) {
    const { command, pid } = schedule.other;
    say(`Jobs run in \`${command}\` (process ${pid}) until it ends.`);
  }
  if (json) {
    const { baseUrl, mcpUrl, metricsUrl, pageUrl, statusUrl } = server;
    printJson('serve', { baseUrl, mcpUrl, metricsUrl, pageUrl, statusUrl, signInUrl: await server.signInUrl() });
  } else {
    describe(server, context.config.name);
    if (given.oauth) say(describeOAuth(given.oauth));
    if (schedule?.other === null && runsJobs) say(await describeJobs(context));
  }
  if (!json && given.pages !== 'off') say(await describeSignIn(server));
  warnOfReach(given.host);
  if (server.keys === 0) say('No keys yet: create one with `sightline keys create NAME`; no restart is needed.');
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  await Promise.all([schedule?.close(), server.close()]);
  // Flush after all parts have ended, because each may write a last line.
  log.stream.flush();
  return EXIT.done;
}

/** Options of `keepSchedule`. */
export interface KeptSchedule {
  /** Whether to run jobs when they are due. */
  readonly runsJobs: boolean;
  /** Level of the log that is opened on `log`. */
  readonly logLevel: LogLevel;
  readonly log: LogTarget;
}

/** Runs the schedule of a workspace for `serve`, as `startSchedule` does, and writes what happens to a log. Throws like `startSchedule`. */
export async function keepSchedule(
  context: Context,
  flags: WorkspaceFlags,
  { runsJobs, logLevel, log: target }: KeptSchedule,
): Promise<RunningSchedule> {
  const { openLog } = await import('../../../serve/telemetry/server-log.ts');
  const { loggedSteps } = await import('../../job-steps.ts');
  const { startSchedule } = await import('../../../operations/run-schedule.ts');
  const { logger, stream } = openLog(target, logLevel, context.clock);
  const log: JobLogger = (level, entry) => logger[level](entry);
  const { other, close } = await startSchedule(context, { runsJobs, perform: loggedSteps(flags, log), log });
  return {
    other,
    close: async () => {
      await close();
      stream.flush();
    },
  };
}

// The settings are loaded for each step, because the setup writes them.
async function openFirstRun(
  { config, clock, signal }: Context,
  flags: WorkspaceFlags,
  level: ServeWorkspaceOptions['logLevel'],
  target: LogTarget,
): Promise<FirstRun> {
  const { createFirstRun } = await import('../../../operations/first-run.ts');
  const { openLog } = await import('../../../serve/telemetry/server-log.ts');
  const { commandContext } = await import('../../checked-config.ts');
  const { readSurroundings } = await import('../../context.ts');
  const { loggedSteps } = await import('../../job-steps.ts');
  const { logger } = openLog(target, level, clock);
  const perform = loggedSteps(flags, (severity, entry) => logger[severity](entry));
  return createFirstRun({
    workspace: config.name,
    surroundings: readSurroundings,
    clock,
    signal,
    open: () => commandContext('serve', { ...flags, workspace: config.name }, signal),
    sync: (opened) => perform(opened, 'setup', { do: 'sync' }),
  });
}

// The server still serves the published data of a folder that it cannot write to.
function sayNoSchedule(thrown: unknown): null {
  if (!(thrown instanceof SightlineError) || thrown.code !== 'folder_unwritable') throw thrown;
  say(`This process runs no jobs: ${thrown.message}`);
  return null;
}

async function describeJobs({ config, clock }: Context): Promise<string> {
  const { jobsOf } = await import('../../../operations/jobs/job-list.ts');
  const { upcoming } = await import('../../../jobs/schedule.ts');
  const [next] = upcoming(jobsOf(config), clock.now(), 1);
  if (next === undefined) return 'All jobs are disabled.';
  return `The next job is ${next.job.name}, at ${shownTime(next.atMs)}.`;
}

function describe({ baseUrl, mcpUrl, metricsUrl, pageUrl, statusUrl }: KeyedServer, workspace: string): void {
  say(`Serving workspace ${workspace} at ${baseUrl}, and to AI assistants at ${mcpUrl}.`);
  if (pageUrl !== null) say(`Data pages: ${pageUrl}, operations page: ${statusUrl}`);
  if (metricsUrl !== null) say(`Metrics: ${metricsUrl}`);
}

function toHost(given: string, name: string): string {
  if (/^[a-z0-9.:%-]+$/i.test(given)) return given;
  throw refused(name, given, 'an address or host name, without a port');
}

function toHostName(given: string, name: string): string {
  if (/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i.test(given)) return given;
  throw refused(name, given, 'a host name, without a port');
}

function toOrigin(given: string, name: string): string {
  const isOrigin = /^https?:/.test(given) && URL.canParse(given) && new URL(given).origin === given;
  if (isOrigin) return given;
  throw refused(name, given, 'an origin in the form that browsers send, such as https://app.example.com');
}
