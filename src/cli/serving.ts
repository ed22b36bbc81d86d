import type { serveWorkspace } from '../app.ts';
import { SightlineError } from '../base/errors.ts';
import { isLoopback } from '../serve/http/hosts.ts';
import { LOG_LEVELS } from '../serve/http/log.ts';
import { toInteger, type WorkspaceFlags } from './context.ts';
import { say } from './output.ts';

/** What the flags of `serve` make. */
export type Options = Parameters<typeof serveWorkspace>[1];

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
  readonly role: string;
  readonly refresh: string;
  readonly openWorkspaces: string;
}

/** Says what to do about a server that others can reach. */
export function warnOfReach(host: string): void {
  if (isLoopback(host)) return;
  say('It can be reached from other machines, in the clear: put a proxy that speaks TLS in front of it.');
}

/** Starts a server as `begin` does; throws `usage` for an address or a port that cannot be had. */
export async function listening<T>(options: Options, flags: ServeFlags, begin: () => Promise<T>): Promise<T> {
  try {
    return await begin();
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

/** Checks the flags of `serve`; the log is set once it is open. Throws `usage`. */
export function toOptions(flags: ServeFlags): Options {
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
