import { isLoopback, nameOf } from '../http/hosts.ts';

/** Headers of a request, their names in lower case. */
interface Headers {
  readonly host?: string | undefined;
  readonly origin?: string | undefined;
  readonly [name: string]: string | readonly string[] | undefined;
}

/** Headers by which proxies say for whom they ask. */
const PROXY_HEADERS =
  /^(x-forwarded(-.+)?|forwarded(-.+)?|via|(x-)?([a-z]+-)*client-ip|x-real-ip|x-original-.+|cf-.+|x-envoy-.+|x-azure-.+|x-amzn-.+)$/;

/** Where a request comes from. */
interface Origin {
  readonly headers: Headers;
  readonly remoteAddress: string | undefined;
  /** As the request line has it, such as 1.1. */
  readonly httpVersion: string;
}

/**
 * Whether a request comes from this machine itself, under this machine's name, and through nobody. Browsers have long
 * ceased to speak HTTP/1.0; a proxy may, and nginx does unless it is told otherwise.
 */
export function isDirect({ headers, remoteAddress, httpVersion }: Origin): boolean {
  if (httpVersion === '1.0' || remoteAddress === undefined || !isLoopback(remoteAddress)) return false;
  const name = headers.host === undefined ? null : nameOf(headers.host);
  if (name === null || !isLoopback(name)) return false;
  return !Object.keys(headers).some((header) => PROXY_HEADERS.test(header));
}

/**
 * Whether a page of another site asks. Browsers say so themselves; a link from elsewhere that opens the page, which has
 * no data in it, is let through by those who ask for `mayNavigate`.
 */
export function isForeign({ origin, host, ...headers }: Headers, mayNavigate: boolean): boolean {
  if (origin !== undefined && !isSameOrigin(origin, host)) return true;
  const site = headers['sec-fetch-site'];
  if (site === undefined || site === 'same-origin' || site === 'none') return false;
  return !(mayNavigate && headers['sec-fetch-mode'] === 'navigate');
}

// A proxy that speaks TLS leaves the host as it is, and not the scheme.
function isSameOrigin(origin: string, host: string | undefined): boolean {
  const named = /^https?:\/\/([^/?#@]+)$/i.exec(origin)?.[1];
  return named !== undefined && host !== undefined && named.toLowerCase() === host.toLowerCase();
}
