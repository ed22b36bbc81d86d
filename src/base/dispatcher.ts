import { Agent, type Dispatcher, ProxyAgent } from 'undici';
import { shownProxy } from './proxies.ts';

export type { Dispatcher } from 'undici';

/** Creates the connections for requests to one server, directly or through a proxy. The caller destroys it. */
export function createDispatcher(proxy: URL | null, { connect, ...limits }: Agent.Options): Dispatcher {
  if (proxy === null) return new Agent({ ...limits, ...(connect === undefined ? {} : { connect }) });
  // A tunnel only for https, as proxies expect.
  return new ProxyAgent({ ...limits, uri: proxy.href, proxyTunnel: false });
}

/** Says how a proxy refused to connect to a server; null if the error is not about the proxy. */
export function proxyRefusal(thrown: unknown, proxy: URL): string | null {
  const [, status] = /^Proxy response \((\d{3})\)/.exec(thrown instanceof Error ? thrown.message : '') ?? [];
  return status === undefined ? null : proxyStatus(Number(status), proxy);
}

/** Says what a status of a proxy means. */
export function proxyStatus(status: number, proxy: URL): string {
  if (status !== 407) return `the proxy ${shownProxy(proxy)} refuses the connection with status ${status}`;
  const problem =
    proxy.username === '' ? 'requires a user name and a password' : 'does not accept the user name and password';
  return `the proxy ${shownProxy(proxy)} ${problem}; set HTTPS_PROXY to http://user:password@host:port`;
}
