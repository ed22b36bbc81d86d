import type { IncomingHttpHeaders } from 'node:http';
import type { Clock } from '../../base/clock.ts';
import type { HttpLimits } from '../http/http-limits.ts';
import { Refusal, tooMany } from '../http/refusal.ts';
import type { Key, Keyring } from './keys.ts';
import { createLimiter } from './limiter.ts';

/**
 * Returns the active key of a request.
 *
 * @throws Refusal `unauthorized`, or `rate_limited` after too many wrong keys from one address
 */
export type Authenticate = (headers: IncomingHttpHeaders, remoteAddress: string | undefined) => Key;

/**
 * Creates the check. Wrong keys are counted by address, to limit guessing; valid keys are accepted from any address.
 */
export function createAuthenticate(
  keyring: Keyring,
  clock: Clock,
  limits: Pick<HttpLimits, 'wrongKeysMax' | 'addressesMax'>,
): Authenticate {
  const wrong = createLimiter({
    limit: limits.wrongKeysMax,
    monotonic: clock.monotonic,
    keysMax: limits.addressesMax,
  });
  return (headers, remoteAddress) => {
    const text = keyOf(headers);
    if (text === undefined) {
      throw unauthorized('The request carries no API key: send Authorization: Bearer <API_KEY>.');
    }
    const key = keyring.find(text);
    if (key === null) {
      // The holder of a revoked key did not guess it, and would be blocked for its other keys.
      if (keyring.isRevoked(text)) throw unauthorized('The API key was revoked.');
      const { allowed, retryAfterSeconds } = wrong.admit(groupOf(remoteAddress ?? ''));
      if (!allowed) throw tooMany('Too many wrong API keys from this address.', retryAfterSeconds);
      throw unauthorized('The API key is invalid.');
    }
    if (key.expiresAt !== null && Date.parse(key.expiresAt) <= clock.now()) {
      throw unauthorized('The API key has expired.');
    }
    return key;
  };
}

/**
 * Returns the key of a request. A bearer token takes precedence over X-Api-Key. Other schemes in Authorization, such as the
 * Basic credentials of a proxy, are ignored.
 */
export function keyOf(headers: IncomingHttpHeaders): string | undefined {
  const { authorization = '' } = headers;
  if (/^Bearer\b/i.test(authorization)) return /^Bearer +(\S+) *$/i.exec(authorization)?.[1];
  const alone = headers['x-api-key'];
  return typeof alone === 'string' && alone !== '' ? alone : undefined;
}

/**
 * Returns the unit by which an address is counted. An IPv6 client usually controls its /64 network, so use the prefix.
 */
export function groupOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (!address.includes(':')) return address;
  const [head = '', tail] = (address.split('%')[0] as string).split('::');
  const first = head === '' ? [] : head.split(':');
  const last = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? [] : Array<string>(Math.max(0, 8 - first.length - last.length)).fill('0');
  return [...first, ...zeros, ...last].slice(0, 4).join(':');
}

function unauthorized(message: string): Refusal {
  return new Refusal('unauthorized', message, { 'WWW-Authenticate': 'Bearer' });
}
