import { SightlineError } from './errors.ts';
import { isLoopback, isNetwork, isWithin } from './link-local.ts';

/** Returns the proxy for requests to a URL; null for a direct connection. */
export type FindProxy = (url: URL) => URL | null;

/**
 * Reads HTTPS_PROXY, HTTP_PROXY and NO_PROXY, also in lower case, as curl does. NO_PROXY is `*`, or a list of hosts, hosts with
 * a port, and networks such as 10.0.0.0/8; a host includes its subdomains. Requests to this machine never use a proxy.
 *
 * @throws `config_invalid` from the returned function if the address of the proxy is not valid; the message does not contain it
 */
export function readProxies(environment: Readonly<Record<string, string | undefined>>): FindProxy {
  const textOf = (name: string): string => environment[name.toLowerCase()] || environment[name] || '';
  const direct = textOf('NO_PROXY')
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((entry) => entry !== '');
  return (url) => {
    const name = url.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY';
    const text = textOf(name);
    const isDirect = isLoopback(url) || direct.some((entry) => covers(entry, url));
    return text === '' || isDirect ? null : toProxy(name, text);
  };
}

// Whether an entry of NO_PROXY names the host of a URL.
function covers(entry: string, { protocol, hostname, port }: URL): boolean {
  if (entry === '*') return true;
  const host = hostname.replace(/\.$/, '');
  const address = host.replace(/^\[|\]$/g, '');
  if (isNetwork(entry)) return isWithin(address, entry);
  const [, name = '', entryPort] = /^(?:\*?\.)?(.*?)\.?(?::(\d+))?$/.exec(entry) ?? [];
  const usedPort = port || (protocol === 'https:' ? '443' : '80');
  return `.${host}`.endsWith(`.${name}`) && (entryPort === undefined || entryPort === usedPort);
}

/** The address of a proxy without its password, for messages. */
export function shownProxy(proxy: URL): string {
  return proxy.origin;
}

function toProxy(name: string, text: string): URL {
  const address = text.includes('://') ? text : `http://${text}`;
  const url = URL.canParse(address) ? new URL(address) : null;
  if (url !== null && ['http:', 'https:'].includes(url.protocol) && url.hostname !== '') return url;
  throw new SightlineError('config_invalid', `${name} is not the address of a proxy; allowed: http://host:port`);
}
