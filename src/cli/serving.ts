import { SightlineError } from '../base/errors.ts';
import { isLoopback } from '../serve/auth/hosts.ts';
import type { serveWorkspace } from '../serve/serve-workspace.ts';
import { LOG_LEVELS } from '../serve/telemetry/server-log.ts';
import { toInteger, type WorkspaceFlags } from './context.ts';
import { say } from './output/output.ts';

/** Options that the flags of `serve` set. */
export type Options = Parameters<typeof serveWorkspace>[1];

/** Highest rate limit of a key, in requests per minute. */
const MAX_RATE = 1_000_000;

/** Access to the status page: with a key, from this machine without a key, or not at all. */
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

/** Prints a warning if the server is reachable from other machines. */
export function warnOfReach(host: string): void {
  if (isLoopback(host)) return;
  say('Warning: the server is reachable from other machines without TLS; put a TLS proxy in front of it.');
}

/** Starts a server with `begin`. Throws `usage` if it cannot listen on the address or port. */
export async function listening<T>(options: Options, flags: ServeFlags, begin: () => Promise<T>): Promise<T> {
  try {
    return await begin();
  } catch (thrown) {
    const { code, port, syscall } = thrown as NodeJS.ErrnoException & { port?: number };
    const refuse = (flag: string, given: string | number, why: string, allowed: string): SightlineError =>
      new SightlineError('usage', `${flag} ${given} ${why}; allowed: ${allowed}`, { cause: thrown });
    if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN' || code === 'EINVAL') {
      throw refuse('--host', JSON.stringify(options.host), 'is not available|', 'an address of this machine');
    }
    if (syscall !== 'listen' || (code !== 'EADDRINUSE' && code !== 'EACCES')) throw thrown;
    const isMetrics = port === options.metricsPort && (port !== options.port || flags.metricsPort === flags.port);
    const why = code === 'EADDRINUSE' ? 'is in use' : 'requires more privileges than this user has';
    throw refuse(isMetrics ? '--metrics-port' : '--port', port ?? '', why, 'a free port, or 0 for any');
  }
}

/** Validates the flags of `serve`. The caller sets `log` once it is open. Throws `usage`. */
export function toOptions(flags: ServeFlags): Options {
  const refuse = (flag: string, given: string, allowed: string): never => {
    throw new SightlineError('usage', `${flag} is ${JSON.stringify(given)}; allowed: ${allowed}`);
  };
  const logLevel = LOG_LEVELS.find((level) => level === flags.logLevel);
  const statusPage = STATUS_PAGES.find((mode) => mode === flags.statusPage);
  if (!/^[a-z0-9.:%-]+$/i.test(flags.host)) refuse('--host', flags.host, 'an address or host name, without a port');
  if (statusPage === 'loopback' && !isLoopback(flags.host)) {
    const others = 'key or off if --host is reachable from other machines; loopback with --host 127.0.0.1';
    refuse('--status-page', flags.statusPage, others);
  }
  for (const origin of flags.corsOrigin ?? []) {
    if (!isOrigin(origin))
      refuse('--cors-origin', origin, 'an origin in the form that browsers send, such as https://app.example.com');
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
    // Replaced once the log is open.
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
