import { createHash } from 'node:crypto';
import { errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';
import type { Clock } from '../../../base/clock.ts';
import type { OAuthSettings } from '../../../base/config/oauth-settings.ts';
import { SightlineError } from '../../../base/errors.ts';
import { DEFAULT_SCOPES } from '../../../workspace/stored-keys.ts';
import type { Key } from '../keys.ts';

/** Maximum length of a token; longer ones are rejected unread. */
const TOKEN_CHARACTERS_MAX = 8_192;
const ID_CHARACTERS = 16;

/** Claims that every token needs, by profile. */
const REQUIRED = {
  rfc9068: ['iss', 'exp', 'aud', 'sub', 'client_id', 'iat', 'jti'],
  jwt: ['iss', 'exp', 'aud', 'sub'],
} as const;
/** Required claims that are texts. */
const TEXTS = ['sub', 'client_id', 'jti'] as const;
/** Claims that only ID tokens and logout tokens have. */
const FOREIGN = ['at_hash', 'c_hash', 'events'];

/** A token whose signature and claims are valid. */
export interface VerifiedToken {
  /** Stands for the subject of the token, like an API key. It expires with the token. */
  readonly key: Key;
  readonly scopes: ReadonlySet<string>;
  readonly claims: JWTPayload;
}

/** A token is invalid. The message has no part of the token. */
export class TokenError extends Error {
  readonly isExpired: boolean;

  constructor(problem: string, isExpired = false) {
    super(`The access token ${problem}.`);
    this.isExpired = isExpired;
  }
}

/**
 * Verifies an access token: its signature by a key of the issuer, issuer, audience, times and form.
 *
 * @throws TokenError if the token is invalid
 * @throws SightlineError `issuer_unreachable` if the issuer's keys are not known
 */
export type VerifyToken = (text: string) => Promise<VerifiedToken>;

/** Creates the verification of tokens. `findKey` returns the issuer's key that a token names. */
export function createVerifyToken(settings: OAuthSettings, clock: Clock, findKey: JWTVerifyGetKey): VerifyToken {
  const { issuer, audiences, algorithms, profile, clockSkewSeconds } = settings;
  const requiredClaims: string[] = [...REQUIRED[profile]];
  const options = {
    issuer,
    audience: [...audiences],
    algorithms: [...algorithms],
    clockTolerance: clockSkewSeconds,
    requiredClaims,
    ...(profile === 'rfc9068' ? { typ: 'at+jwt' } : {}),
  };
  return async (text) => {
    if (text.length > TOKEN_CHARACTERS_MAX) {
      throw new TokenError(`is longer than ${TOKEN_CHARACTERS_MAX} characters`);
    }
    try {
      const currentDate = new Date(clock.now());
      const { payload, protectedHeader } = await jwtVerify(text, findKey, { ...options, currentDate });
      if (profile === 'jwt' && isForeign(payload, protectedHeader.typ)) {
        throw new TokenError('is another kind of token, such as an ID token');
      }
      if ('cnf' in payload)
        throw new TokenError('is bound to a key of its client (cnf), and no proof of it is checked');
      if ((payload.iat ?? 0) > currentDate.getTime() / 1_000 + clockSkewSeconds)
        throw new TokenError('is issued in the future (iat)');
      const wrong = TEXTS.find((name) => requiredClaims.includes(name) && !isText(payload[name]));
      if (wrong !== undefined) throw new TokenError(`has an invalid ${wrong} claim`);
      const key = keyOf(issuer, payload, clockSkewSeconds);
      return { key, scopes: scopesOf(payload), claims: payload };
    } catch (thrown) {
      throw thrown instanceof TokenError || thrown instanceof SightlineError ? thrown : toTokenError(thrown);
    }
  };
}

function isForeign(payload: JWTPayload, typ: string | undefined): boolean {
  const form = typ?.toLowerCase().replace(/^application\//, '');
  return !(form === undefined || form === 'jwt' || form === 'at+jwt') || FOREIGN.some((name) => name in payload);
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

// The id appears in logs and counts towards the rate limit. It does not reveal the subject, which may be an e-mail address.
function keyOf(issuer: string, { sub = '', exp = 0, iat = 0 }: JWTPayload, clockSkewSeconds: number): Key {
  const hash = createHash('sha256')
    .update(JSON.stringify([issuer, sub]))
    .digest('hex');
  return {
    id: `oauth-${hash.slice(0, ID_CHARACTERS)}`,
    name: sub,
    prefix: '',
    createdAt: toTime(iat),
    expiresAt: toTime(exp + clockSkewSeconds),
    scopes: DEFAULT_SCOPES,
    brands: null,
    workspaces: null,
  };
}

function toTime(seconds: number): string {
  const date = new Date(seconds * 1_000);
  if (Number.isNaN(date.getTime())) throw new TokenError('has an invalid time');
  return date.toISOString();
}

// `scope` is a text separated by spaces (RFC 9068); some issuers use `scp`, also as a list.
function scopesOf({ scope, scp }: JWTPayload): ReadonlySet<string> {
  const given: unknown = scope ?? scp;
  if (typeof given === 'string') return new Set(given.split(' '));
  return new Set(Array.isArray(given) ? given.filter((each) => typeof each === 'string') : []);
}

function toTokenError(thrown: unknown): TokenError {
  if (thrown instanceof errors.JWTExpired) return new TokenError('has expired', true);
  if (thrown instanceof errors.JWTClaimValidationFailed) return new TokenError(claimProblem(thrown));
  if (thrown instanceof errors.JOSEAlgNotAllowed)
    return new TokenError('is signed with an algorithm that is not allowed');
  if (thrown instanceof errors.JWKSNoMatchingKey) return new TokenError('names a key that its issuer does not have');
  if (thrown instanceof errors.JWKSMultipleMatchingKeys) return new TokenError('fits several keys of its issuer (kid)');
  if (thrown instanceof errors.JWSSignatureVerificationFailed) return new TokenError('has an invalid signature');
  return new TokenError('is not a valid signed JWT');
}

function claimProblem({ claim, reason }: errors.JWTClaimValidationFailed): string {
  if (reason === 'missing') return `has no ${claim} claim`;
  if (reason === 'invalid') return `has an invalid ${claim} claim`;
  switch (claim) {
    case 'iss':
      return 'is of another issuer (iss)';
    case 'aud':
      return 'is for another server (aud)';
    case 'nbf':
      return 'is not valid yet (nbf)';
    case 'typ':
      return 'does not have the type at+jwt (RFC 9068)';
    default:
      return `has an invalid ${claim} claim`;
  }
}
