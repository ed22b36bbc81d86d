import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Clock } from '../../base/clock.ts';
import type { HttpLimits } from '../http/http-limits.ts';
import { Refusal, tooMany } from '../http/refusal.ts';
import type { Key, Keyring } from './keys.ts';
import { createLimiter } from './limiter.ts';
import type { SiteOAuth } from './oauth/oauth.ts';

/**
 * Returns the active key of a request, or the key that stands for its access token.
 *
 * @throws Refusal `unauthorized`, or `rate_limited` after too many wrong keys from one address; for access tokens also
 *   `forbidden`, `bad_request` and `issuer_unreachable`
 */
export type Authenticate = (request: IncomingMessage) => Key;

/**
 * Creates the check. Wrong keys are counted by address, to limit guessing; valid keys are accepted from any address. Without
 * `oauth`, access tokens are wrong keys.
 */
export function createAuthenticate(
  keyring: Keyring,
  clock: Clock,
  limits: Pick<HttpLimits, 'wrongKeysMax' | 'addressesMax'>,
  oauth: SiteOAuth | null,
): Authenticate {
  const unauthorized = (message: string): Refusal =>
    new Refusal('unauthorized', message, oauth?.resource.challenge() ?? { 'WWW-Authenticate': 'Bearer' });
  const wrong = createLimiter({
    limit: limits.wrongKeysMax,
    monotonic: clock.monotonic,
    keysMax: limits.addressesMax,
  });
  const countWrong = (address: string | undefined, what: string): void => {
    const { allowed, retryAfterSeconds } = wrong.admit(groupOf(address ?? ''));
    if (!allowed) throw tooMany(`Too many wrong ${what} from this address.`, retryAfterSeconds);
  };
  const findKey = (text: string, address: string | undefined): Key => {
    const key = keyring.find(text);
    if (key !== null) return key;
    // The holder of a revoked key did not guess it, and would be blocked for its other keys.
    if (keyring.isRevoked(text)) throw unauthorized('The API key was revoked.');
    countWrong(address, 'API keys');
    throw unauthorized('The API key is invalid.');
  };
  return (request) => {
    const { headers, socket } = request;
    const token = oauth?.find(request) ?? null;
    if (token !== null && 'refusal' in token) {
      if (token.isWrong) countWrong(socket.remoteAddress, 'access tokens');
      throw token.refusal;
    }
    const text = keyOf(headers);
    if (text === undefined) {
      const what = oauth === null ? 'API key' : 'API key or access token';
      throw unauthorized(`The request carries no ${what}: send Authorization: Bearer <API_KEY>.`);
    }
    const key = token?.key ?? findKey(text, socket.remoteAddress);
    if (key.expiresAt !== null && Date.parse(key.expiresAt) <= clock.now()) {
      throw unauthorized(`The ${token === null ? 'API key' : 'access token'} has expired.`);
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
