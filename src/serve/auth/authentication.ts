import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Clock } from '../../base/clock.ts';
import { SCOPES } from '../../workspace/stored-keys.ts';
import type { StoredSession } from '../../workspace/stored-sessions.ts';
import type { HttpLimits } from '../http/http-limits.ts';
import { Refusal, tooMany } from '../http/refusal.ts';
import { type Access, csrfOf } from './access.ts';
import type { Key, Keyring } from './keys.ts';
import { createLimiter } from './limiter.ts';
import type { SiteOAuth, TokenResult } from './oauth/oauth.ts';
import { readSessionCookie } from './session-cookie.ts';
import type { Sessions } from './sessions.ts';

/** Finds the credential of a request. */
export interface Authentication {
  /**
   * Returns the access of an active key, or of an access token.
   *
   * @throws Refusal `unauthorized`, or `rate_limited` after too many wrong keys from one address; for access tokens also
   *   `forbidden`, `bad_request` and `issuer_unreachable`
   */
  byKey(request: IncomingMessage): Access;
  /** Returns the access of the request's session cookie; null without a valid session, or if the session's key was revoked or has expired. */
  bySession(request: IncomingMessage): Access | null;
  /** Returns the access of a session that was just opened. */
  ofSession(session: StoredSession, text: string): Access | null;
  /** Returns the active key with this text. Throws like `byKey`. */
  activeKey(text: string, address: string | undefined): Key;
  /** Counts a wrong secret. Throws `rate_limited` after too many from one address. */
  countWrong(address: string | undefined, what: string): void;
  /** Access of requests from this machine that need no key. */
  readonly loopback: Access;
}

/** Dependencies of `createAuthentication`. */
export interface AuthenticationParts {
  readonly keyring: Keyring;
  /** Browser sessions; null if there are no pages. */
  readonly sessions: Sessions | null;
  /** Returns the names of the workspaces that a key opens on this server; all for null. */
  readonly workspacesOf: (key: Key | null) => readonly string[];
  readonly clock: Clock;
  readonly limits: Pick<HttpLimits, 'wrongKeysMax' | 'addressesMax'>;
  /** Without it, access tokens are rejected like wrong keys. */
  readonly oauth: SiteOAuth | null;
}

/** Creates the check. Wrong keys are counted by address, to limit guessing; valid keys are accepted from any address. */
export function createAuthentication(parts: AuthenticationParts): Authentication {
  const { keyring, sessions, workspacesOf, clock, limits, oauth } = parts;
  const unauthorized = (message: string): Refusal =>
    new Refusal('unauthorized', message, oauth?.resource.challenge() ?? { 'WWW-Authenticate': 'Bearer' });
  const wrong = createLimiter({
    limit: limits.wrongKeysMax,
    monotonic: clock.monotonic,
    keysMax: limits.addressesMax,
  });
  const countWrong: Authentication['countWrong'] = (address, what) => {
    const { allowed, retryAfterSeconds } = wrong.admit(groupOf(address ?? ''));
    if (!allowed) throw tooMany(`Too many wrong ${what} from this address.`, retryAfterSeconds);
  };
  const isActive = ({ expiresAt }: Key): boolean => expiresAt === null || Date.parse(expiresAt) > clock.now();
  const checkActive = (key: Key, what: string): Key => {
    if (!isActive(key)) throw unauthorized(`The ${what} has expired.`);
    return key;
  };
  const activeKey: Authentication['activeKey'] = (text, address) => {
    const key = keyring.find(text);
    if (key !== null) return checkActive(key, 'API key');
    // The holder of a revoked key did not guess it, and would be blocked for its other keys.
    if (keyring.isRevoked(text)) throw unauthorized('The API key was revoked.');
    countWrong(address, 'API keys');
    throw unauthorized('The API key is invalid.');
  };
  const tokenOf = (request: IncomingMessage): Exclude<TokenResult, { refusal: Refusal }> | null => {
    const token = oauth?.find(request) ?? null;
    if (token === null || !('refusal' in token)) return token;
    if (token.isWrong) countWrong(request.socket.remoteAddress, 'access tokens');
    throw token.refusal;
  };
  const byKey: Authentication['byKey'] = (request) => {
    const token = tokenOf(request);
    const text = keyOf(request.headers);
    if (text === undefined) {
      const what = oauth === null ? 'API key' : 'API key or access token';
      throw unauthorized(`The request carries no ${what}: send Authorization: Bearer <API_KEY>.`);
    }
    const key = token === null ? activeKey(text, request.socket.remoteAddress) : checkActive(token.key, 'access token');
    const workspaces = token?.workspaces ?? workspacesOf(key);
    return { ...rightsOf(key), via: 'key', id: key.id, session: null, workspaces, csrf: null };
  };
  const ofSession: Authentication['ofSession'] = ({ id, keyId }, text) => {
    const key = keyId === null ? null : keyring.byId(keyId);
    if (keyId !== null && (key === null || !isActive(key))) return null;
    const own = { via: 'session', id: keyId ?? `session-${id}`, session: id, csrf: csrfOf(text) } as const;
    return { ...rightsOf(key), ...own, workspaces: workspacesOf(key) };
  };
  const bySession: Authentication['bySession'] = ({ headers }) => {
    const text = readSessionCookie(headers);
    const session = text === null ? null : (sessions?.find(text) ?? null);
    return session === null ? null : ofSession(session, text as string);
  };
  const csrf = csrfOf(randomBytes(32));
  const loopback: Access = {
    ...rightsOf(null),
    via: 'loopback',
    id: null,
    session: null,
    csrf,
    get workspaces() {
      return workspacesOf(null);
    },
  };
  return { byKey, bySession, ofSession, activeKey, countWrong, loopback };
}

// Without a key, the owner of the workspace's folder gave the access.
function rightsOf(key: Key | null) {
  return { key, scopes: key?.scopes ?? SCOPES, brands: key?.brands ?? null };
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
