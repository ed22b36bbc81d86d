import { isLoopback, nameOf } from '../auth/hosts.ts';

/**
 * Access to the data of the pages: `key` requires a key or a session, `loopback` also allows direct requests from this machine.
 */
export type PageAccess = 'key' | 'loopback';

/** Headers of a request, their names in lower case. */
interface Headers {
  readonly host?: string | undefined;
  readonly origin?: string | undefined;
  readonly [name: string]: string | readonly string[] | undefined;
}

/** Headers that proxies add to report their client. */
const PROXY_HEADERS =
  /^(x-forwarded(-.+)?|forwarded(-.+)?|via|(x-)?([a-z]+-)*client-ip|x-real-ip|x-original-.+|cf-.+|x-envoy-.+|x-azure-.+|x-amzn-.+)$/;

/** Source of a request. */
interface Origin {
  readonly headers: Headers;
  readonly remoteAddress: string | undefined;
  /** Version in the request line, such as 1.1. */
  readonly httpVersion: string;
}

/**
 * Returns whether a request comes directly from this machine, with a loopback Host header and without a proxy. HTTP/1.0
 * is rejected, because browsers do not use it but proxies may; nginx does by default.
 */
export function isDirect({ headers, remoteAddress, httpVersion }: Origin): boolean {
  if (httpVersion === '1.0' || remoteAddress === undefined || !isLoopback(remoteAddress)) return false;
  const name = headers.host === undefined ? null : nameOf(headers.host);
  if (name === null || !isLoopback(name)) return false;
  return !Object.keys(headers).some((header) => PROXY_HEADERS.test(header));
}

/**
 * Returns whether a request comes from a page of another site, as reported by the browser. With `mayNavigate`, links
 * from other sites are allowed, because the page itself contains no data.
 */
export function isForeign({ origin, host, ...headers }: Headers, mayNavigate: boolean): boolean {
  if (origin !== undefined && !isSameOrigin(origin, host)) return true;
  const site = headers['sec-fetch-site'];
  if (site === undefined || site === 'same-origin' || site === 'none') return false;
  return !(mayNavigate && headers['sec-fetch-mode'] === 'navigate');
}

// A TLS-terminating proxy keeps the host but not the scheme, so compare only hosts.
function isSameOrigin(origin: string, host: string | undefined): boolean {
  const named = /^https?:\/\/([^/?#@]+)$/i.exec(origin)?.[1];
  return named !== undefined && host !== undefined && named.toLowerCase() === host.toLowerCase();
}
