import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Scope } from '../../workspace/stored-keys.ts';
import type { RequiredRights } from '../http/paths.ts';
import { Refusal } from '../http/refusal.ts';
import type { Key } from './keys.ts';

/** Header with which pages prove that they are pages of this server. */
export const CSRF_HEADER = 'x-sightline-csrf';

/** The rights of a request, and the credential that gives them. */
export interface Access {
  readonly via: 'key' | 'session' | 'loopback';
  /** Id for the log and the rate limits; null for loopback without a key. */
  readonly id: string | null;
  /** The key, or that of the session; null without one, such as in a session of a sign-in link. */
  readonly key: Key | null;
  /** Id of the session; null if there is none. */
  readonly session: string | null;
  readonly scopes: readonly Scope[];
  /** Ids or exact names of the brands; null for all. */
  readonly brands: readonly string[] | null;
  /** Names of the workspaces that the credential opens on this server. */
  readonly workspaces: readonly string[];
  /** Value of `CSRF_HEADER` in requests that change something; null for keys, which pages of other sites do not have. */
  readonly csrf: string | null;
}

/**
 * Checks the rights of a request.
 *
 * @throws Refusal `forbidden`
 */
export function checkRights({ scopes, forAllBrands, forOwner }: RequiredRights, access: Access): void {
  if (forOwner === true && !isOwner(access)) {
    throw new Refusal('forbidden', 'A key cannot change the settings; sign in with the link of `sightline open`.');
  }
  if (scopes !== undefined && !scopes.some((scope) => access.scopes.includes(scope))) {
    throw new Refusal(
      'forbidden',
      `The key lacks the scope ${scopes.join(' or ')}.`,
      {},
      { allowed: scopes.join(', ') },
    );
  }
  if (forAllBrands === true && access.brands !== null) {
    throw new Refusal('forbidden', 'The key is limited to brands, and this address has the data of all brands.');
  }
}

/** Returns whether a request proves access to the folder: by a session of a sign-in link, or by loopback without a key. */
export function isOwner({ via, key }: Pick<Access, 'via' | 'key'>): boolean {
  return via !== 'key' && key === null;
}

/** Returns the CSRF token of a session cookie, or of a secret. */
export function csrfOf(secret: string | Buffer): string {
  return createHmac('sha256', secret).update('csrf').digest('base64url');
}

/**
 * Checks the CSRF token of a request that changes something.
 *
 * @throws Refusal `forbidden`
 */
export function checkCsrf(given: string | string[] | undefined, { csrf }: Access): void {
  if (csrf === null) return;
  const [own, sent] = [Buffer.from(csrf), Buffer.from(typeof given === 'string' ? given : '')];
  if (own.length === sent.length && timingSafeEqual(own, sent)) return;
  throw new Refusal(
    'forbidden',
    'The header X-Sightline-CSRF is missing or wrong; /data/me returns its value as `csrf`.',
  );
}
