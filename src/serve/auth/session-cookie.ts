import type { IncomingHttpHeaders } from 'node:http';
import { isLoopback, nameOf } from './hosts.ts';

/** Returns the text of the session cookie of a request; null if there is none. */
export function readSessionCookie(headers: IncomingHttpHeaders): string | null {
  const { cookie } = headers;
  if (cookie === undefined) return null;
  const name = `${cookieNameOf(headers)}=`;
  const found = cookie.split(';').find((part) => part.trimStart().startsWith(name));
  return found?.trim().slice(name.length) || null;
}

/** Returns the Set-Cookie header that stores a session in the browser, or with an empty text removes it. */
export function sessionCookie(headers: IncomingHttpHeaders, text: string, maxAgeSeconds: number): string {
  const parts = [
    `${cookieNameOf(headers)}=${text}`,
    `Max-Age=${maxAgeSeconds}`,
    'Path=/',
    'HttpOnly',
    'SameSite=Strict',
  ];
  return [...parts, ...(isSecure(headers) ? ['Secure'] : [])].join('; ');
}

/**
 * Whether the browser's connection is taken to be HTTPS: a proxy reports it, or the host is not this machine. A client that sends
 * the header itself only makes its own cookie stricter.
 */
export function isSecure(headers: IncomingHttpHeaders): boolean {
  const { host = '', forwarded = '', 'x-forwarded-proto': proto = '' } = headers;
  const isReported = /^https\b/i.test(String(proto)) || /\bproto="?https\b/i.test(forwarded);
  return isReported || !isLoopback(nameOf(host) ?? '');
}

// Browsers share the cookies of a host between its ports, and each port may have another server.
function cookieNameOf(headers: IncomingHttpHeaders): string {
  const port = /:(\d+)$/.exec(headers.host ?? '')?.[1];
  return `${isSecure(headers) ? '__Host-' : ''}sightline${port === undefined ? '' : `-${port}`}`;
}
