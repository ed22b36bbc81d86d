import type { IncomingHttpHeaders } from 'node:http';
import type { Clock } from '../../base/clock.ts';
import type { Key, Keyring } from '../keys.ts';
import { createLimiter } from '../limiter.ts';
import type { HttpLimits } from './limits.ts';
import { Refusal, tooMany } from './refusal.ts';

/** Lets the holder of a key pass and returns the key; throws `unauthorized`, or `rate_limited` for one who guesses. */
export type Authenticate = (headers: IncomingHttpHeaders, remoteAddress: string | undefined) => Key;

/** Builds it. Wrong keys are counted by address, so that guessing costs; a right key passes from any address. */
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

/** The key that a request carries: of both headers, Authorization counts where it is there at all. */
export function keyOf(headers: IncomingHttpHeaders): string | undefined {
  const { authorization } = headers;
  if (authorization !== undefined) return /^Bearer +(\S+) *$/i.exec(authorization)?.[1];
  const alone = headers['x-api-key'];
  return typeof alone === 'string' && alone !== '' ? alone : undefined;
}

/** Whom an address stands for: of IPv6, whoever has an address has the 2^64 beside it as well. */
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
