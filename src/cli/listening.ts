import type { OAuthSettings } from '../base/config/oauth-settings.ts';
import { SightlineError } from '../base/errors.ts';
import { isLoopback } from '../serve/auth/hosts.ts';
import type { ServedAddress } from '../serve/start-serving.ts';
import { say } from './output/output.ts';
import { terminal } from './output/terminal.ts';

/** Ports and host that a server was asked to listen on. */
export interface ListeningAt {
  readonly host?: string;
  readonly port: number;
  readonly metricsPort?: number | null;
}

/** Starts a server with `begin`. Throws `usage` if it cannot listen on the address or port. */
export async function listening<T>({ host, port, metricsPort }: ListeningAt, begin: () => Promise<T>): Promise<T> {
  try {
    return await begin();
  } catch (thrown) {
    const { code, port: failed, syscall } = thrown as NodeJS.ErrnoException & { port?: number };
    const refuse = (what: string, allowed: string): SightlineError =>
      new SightlineError('usage', `${what}; allowed: ${allowed}`, { cause: thrown });
    if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN' || code === 'EINVAL') {
      throw refuse(`--host ${JSON.stringify(host)} is not available`, 'an address of this machine');
    }
    if (syscall !== 'listen' || (code !== 'EADDRINUSE' && code !== 'EACCES')) throw thrown;
    // If both ports are the same, the second server to listen is that of the metrics.
    const option = failed === metricsPort ? '--metrics-port' : '--port';
    const why = code === 'EADDRINUSE' ? 'is in use' : 'requires more privileges than this user has';
    throw refuse(`${option} ${failed ?? port} ${why}`, 'a free port, or 0 for any');
  }
}

/** Prints a warning if the server is reachable from other machines. */
export function warnOfReach(host: string): void {
  if (isLoopback(host)) return;
  say('Warning: the server is reachable from other machines without TLS; put a TLS proxy in front of it.');
}

/** Returns how a browser signs in. The link itself is shown on a terminal only, because other outputs are often kept. */
export async function describeSignIn({ signInUrl }: Pick<ServedAddress, 'signInUrl'>): Promise<string> {
  const link = terminal().stderr.isTTY === true ? await signInUrl() : null;
  if (link === null) return 'Sign in with a browser: `sightline open`.';
  return `Sign in once, within 10 minutes: ${link}\nLater: \`sightline open\`.`;
}

/** Describes the access tokens that a server accepts. */
export function describeOAuth({ issuer, resource }: OAuthSettings): string {
  return `Access tokens of ${issuer} for ${resource.href} are accepted.`;
}
