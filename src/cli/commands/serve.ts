import { jobsOf } from '../../app/jobs.ts';
import type { Context } from '../../app/workspace.ts';
import { type ServedWorkspace, serveWorkspace } from '../../app.ts';
import { EXIT, SightlineError } from '../../base/errors.ts';
import { upcoming } from '../../scheduler/schedule.ts';
import { isLoopback } from '../../serve/http/hosts.ts';
import { LOG_LEVELS } from '../../serve/http/log.ts';
import { commandContext, toInteger, type WorkspaceFlags } from '../context.ts';
import type { Parse } from '../invocation.ts';
import { printData, say } from '../output.ts';
import { type Ownership, ownWorkspace } from '../serve-owner.ts';
import { openTerminalLog } from '../terminal-log.ts';

type Options = Parameters<typeof serveWorkspace>[1];

/** Requests a minute that a key can be allowed. */
const MAX_RATE = 1_000_000;

/** Who is shown the status page: holders of a key, who asks from this machine itself, or nobody. */
const STATUS_PAGES = ['key', 'loopback', 'off'] as const;

/** Flags of `serve`. */
export interface ServeFlags extends WorkspaceFlags {
  readonly host: string;
  readonly port: string;
  readonly metricsPort?: string;
  readonly rateLimit: string;
  readonly queryTimeout: string;
  readonly corsOrigin?: readonly string[];
  readonly allowHost?: readonly string[];
  readonly logLevel: string;
  readonly statusPage: string;
  readonly jobs: boolean;
}

/** Runs `sightline serve` until the signal is aborted, carrying out what others ask for as `parse` reads it, and returns its exit code: to be stopped is its good end. */
export async function serve(flags: ServeFlags, signal: AbortSignal, parse: Parse): Promise<number> {
  const given = toOptions(flags);
  const context = commandContext('serve', flags, signal);
  context.config.notify();
  const log = await openTerminalLog(given.logLevel, context.clock);
  const options = { ...given, log };
  const server = await start(context, options, flags);
  const ownership = await own(context, options, flags, parse);
  if (flags.json === true) {
    const { baseUrl, mcpUrl, metricsUrl, statusUrl } = server;
    printData(JSON.stringify({ baseUrl, mcpUrl, metricsUrl, statusUrl }));
  } else {
    describe(server, context.config.name);
    if (ownership?.owner === null && flags.jobs) say(describeJobs(context));
  }
  if (!isLoopback(options.host)) {
    say('It can be reached from other machines, in the clear: put a proxy that speaks TLS in front of it.');
  }
  if (server.keys === 0) say('There is no key yet: make one with `sightline keys create NAME`; no restart is needed.');
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  await Promise.all([ownership?.close(), server.close()]);
  // Whoever ended last may have had something to say.
  log.stream.flush();
  return EXIT.done;
}

// Where nothing can be written there is nothing to own: what is there is served all the same.
async function own(
  context: Context,
  { logLevel, log }: Options,
  flags: ServeFlags,
  parse: Parse,
): Promise<Ownership | null> {
  try {
    const ownership = await ownWorkspace(context, flags, { runsJobs: flags.jobs, parse, logLevel, log });
    if (ownership.owner !== null) {
      const { command, pid } = ownership.owner;
      say(`Jobs are left to \`sightline ${command}\` (process ${pid}), which owns the workspace, until it ends.`);
    }
    return ownership;
  } catch (thrown) {
    if (!(thrown instanceof SightlineError) || thrown.code !== 'folder_unwritable') throw thrown;
    say(`No job runs here: ${thrown.message}`);
    return null;
  }
}

function describeJobs({ config, clock }: Context): string {
  const [next] = upcoming(jobsOf(config), clock.now(), 1);
  if (next === undefined) return 'No job is turned on.';
  return `The next job is ${next.job.name}, at ${new Date(next.atMs).toISOString().slice(0, 16).replace('T', ' ')} UTC.`;
}

async function start(
  context: Parameters<typeof serveWorkspace>[0],
  options: Options,
  flags: ServeFlags,
): Promise<ServedWorkspace> {
  try {
    return await serveWorkspace(context, options);
  } catch (thrown) {
    const { code, port, syscall } = thrown as NodeJS.ErrnoException & { port?: number };
    const refuse = (flag: string, given: string | number, why: string, allowed: string): SightlineError =>
      new SightlineError('usage', `${flag} ${given} ${why}; allowed: ${allowed}`, { cause: thrown });
    if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN' || code === 'EINVAL') {
      throw refuse('--host', JSON.stringify(options.host), 'is no address here', 'an address of this machine');
    }
    if (syscall !== 'listen' || (code !== 'EADDRINUSE' && code !== 'EACCES')) throw thrown;
    const isMetrics = port === options.metricsPort && (port !== options.port || flags.metricsPort === flags.port);
    const why = code === 'EADDRINUSE' ? 'is in use' : 'is not allowed to this user';
    throw refuse(isMetrics ? '--metrics-port' : '--port', port ?? '', why, 'a free port, or 0 to take any');
  }
}

function describe({ baseUrl, mcpUrl, metricsUrl, statusUrl }: ServedWorkspace, workspace: string): void {
  say(`Workspace ${workspace} is served at ${baseUrl}, and to AI assistants at ${mcpUrl}.`);
  if (statusUrl !== null) say(`Its status page is ${statusUrl}.`);
  if (metricsUrl !== null) say(`Metrics are at ${metricsUrl}.`);
}

function toOptions(flags: ServeFlags): Options {
  const refuse = (flag: string, given: string, allowed: string): never => {
    throw new SightlineError('usage', `${flag} is ${JSON.stringify(given)}; allowed: ${allowed}`);
  };
  const logLevel = LOG_LEVELS.find((level) => level === flags.logLevel);
  const statusPage = STATUS_PAGES.find((mode) => mode === flags.statusPage);
  if (!/^[a-z0-9.:%-]+$/i.test(flags.host)) refuse('--host', flags.host, 'an address or host name, without a port');
  if (statusPage === 'loopback' && !isLoopback(flags.host)) {
    const others = 'key or off, where --host is reached from other machines; loopback with --host 127.0.0.1';
    refuse('--status-page', flags.statusPage, others);
  }
  for (const origin of flags.corsOrigin ?? []) {
    if (!isOrigin(origin))
      refuse('--cors-origin', origin, 'an origin as browsers send it, such as https://app.example.com');
  }
  for (const name of flags.allowHost ?? []) {
    if (!/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i.test(name)) refuse('--allow-host', name, 'a host name, without a port');
  }
  return {
    host: flags.host,
    port: toInteger('--port', flags.port, 0, 65_535),
    metricsPort: flags.metricsPort === undefined ? null : toInteger('--metrics-port', flags.metricsPort, 0, 65_535),
    rateLimit: toRateLimit(flags.rateLimit),
    queryTimeoutMs: toInteger('--query-timeout', flags.queryTimeout, 1, 600) * 1_000,
    corsOrigins: flags.corsOrigin ?? [],
    allowedHosts: flags.allowHost ?? [],
    statusPage: statusPage ?? refuse('--status-page', flags.statusPage, STATUS_PAGES.join(', ')),
    runsJobs: flags.jobs,
    logLevel: logLevel ?? refuse('--log-level', flags.logLevel, LOG_LEVELS.join(', ')),
    // Set once the log is open.
    log: () => undefined,
  };
}

function toRateLimit(text: string): number | 'off' {
  if (text === 'off') return text;
  const rate = /^\d+$/.test(text) ? Number(text) : 0;
  if (rate >= 1 && rate <= MAX_RATE) return rate;
  const allowed = `off, or a whole number from 1 to ${MAX_RATE}`;
  throw new SightlineError('usage', `--rate-limit is ${JSON.stringify(text)}; allowed: ${allowed}`);
}

function isOrigin(text: string): boolean {
  try {
    return /^https?:/.test(text) && new URL(text).origin === text;
  } catch {
    return false;
  }
}
