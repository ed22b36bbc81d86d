import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../../base/clock.ts';
import type { OAuthSettings } from '../../../base/config/oauth-settings.ts';
import { splitUrl } from '../../http/paths.ts';
import { Refusal } from '../../http/refusal.ts';
import type { Key } from '../keys.ts';
import { fetchKeySet } from './issuer-documents.ts';
import { createIssuerKeys } from './issuer-keys.ts';
import { createProtectedResource, type ProtectedResource } from './protected-resource.ts';
import { createVerifyToken, TokenError, type VerifiedToken } from './verify-token.ts';

/** The result of a check: a key with the rights of the access token, or the error. */
export type TokenResult =
  | { readonly key: Key; readonly workspaces: readonly string[] }
  /** `isWrong` is true if the token was never valid. */
  | { readonly refusal: Refusal; readonly isWrong: boolean };

/** Access tokens at the address of one workspace, or at the address that all workspaces share. */
export interface SiteOAuth {
  readonly resource: ProtectedResource;
  /** Checks the access token of a request. Never rejects. */
  check(request: IncomingMessage): Promise<unknown>;
  /** Returns the result of `check`; null if the request has no access token. */
  find(request: IncomingMessage): TokenResult | null;
}

/** Access tokens of an authorization server. A request is checked once, however many sites ask. */
export interface OAuth {
  /** Returns the workspaces that the request's token opens; an empty list without a valid token. */
  workspacesOf(request: IncomingMessage): Promise<readonly string[]>;
  /** Returns the access to a workspace; null is the address that all workspaces share. */
  siteOf(workspace: string | null): SiteOAuth;
}

/** Dependencies of `createOAuth`. */
export interface OAuthParts {
  readonly settings: OAuthSettings;
  readonly clock: Clock;
  readonly isWorkspace: (name: string) => boolean;
  /** Workspace that all tokens open if the settings assign none. */
  readonly standard: string | null;
  /** Called when the issuer's keys cannot be fetched, and with null when they can be again. */
  readonly onState: (problem: unknown) => void;
}

/** Creates the check of access tokens. Keys of the issuer are fetched with the first token. */
export function createOAuth({ settings, clock, onState, ...parts }: OAuthParts): OAuth {
  const resource = createProtectedResource(settings);
  const findKey = createIssuerKeys({ fetchKeySet: () => fetchKeySet(settings), monotonic: clock.monotonic, onState });
  const verify = createVerifyToken(settings, clock, findKey);
  const checks = new WeakMap<IncomingMessage, Promise<unknown>>();
  const results = new WeakMap<IncomingMessage, TokenResult>();

  const open = async (text: string): Promise<TokenResult> => {
    const token = await verify(text);
    const missing = settings.scopes.filter((scope) => !token.scopes.has(scope));
    if (missing.length > 0) {
      const message = `The access token lacks the scope ${missing.join(' ')}.`;
      throw new Refusal('forbidden', message, resource.challenge('insufficient_scope', message));
    }
    return { key: token.key, workspaces: workspacesOf(token, settings, parts) };
  };
  const check = (request: IncomingMessage): Promise<unknown> => {
    const known = checks.get(request);
    if (known !== undefined) return known;
    const text = tokenOf(request);
    if (text === null) return Promise.resolve();
    const checking = open(text)
      .catch((thrown: unknown) => toRefused(thrown, resource))
      .then((result) => results.set(request, result));
    checks.set(request, checking);
    return checking;
  };
  const find = (request: IncomingMessage, workspace: string | null): TokenResult | null => {
    if (hasTokenInQuery(request)) {
      const message = 'Access tokens are accepted in the Authorization header only, not in the address.';
      return { refusal: new Refusal('bad_request', message, resource.challenge('invalid_request')), isWrong: false };
    }
    const result = results.get(request);
    if (result === undefined || 'refusal' in result) return result ?? null;
    const { workspaces } = result;
    if (workspace === null ? workspaces.length > 0 : workspaces.includes(workspace)) return result;
    const message = 'The access token opens no workspace at this address.';
    return { refusal: new Refusal('forbidden', message), isWrong: false };
  };
  return {
    workspacesOf: async (request) => {
      await check(request);
      const result = results.get(request);
      return result === undefined || 'refusal' in result ? [] : result.workspaces;
    },
    siteOf: (workspace) => ({ resource, check, find: (request) => find(request, workspace) }),
  };
}

// API keys are bearer tokens too. They begin with gsk_.
function tokenOf({ headers: { authorization = '' } }: IncomingMessage): string | null {
  const text = /^Bearer +(\S+) *$/i.exec(authorization)?.[1];
  return text === undefined || text.startsWith('gsk_') ? null : text;
}

// Addresses are logged by proxies and kept in histories (RFC 9700, section 4.3.2).
function hasTokenInQuery({ url = '' }: IncomingMessage): boolean {
  const [, query] = splitUrl(url);
  return query !== '' && new URLSearchParams(query).has('access_token');
}

function toRefused(thrown: unknown, resource: ProtectedResource): TokenResult {
  if (thrown instanceof Refusal) return { refusal: thrown, isWrong: false };
  const { message, isExpired } = thrown instanceof TokenError ? thrown : new TokenError('cannot be checked');
  const refusal = new Refusal('unauthorized', message, resource.challenge('invalid_token', message));
  return { refusal, isWrong: !isExpired };
}

function workspacesOf(
  { claims, scopes }: VerifiedToken,
  { grants, workspaceClaim }: OAuthSettings,
  { isWorkspace, standard }: Pick<OAuthParts, 'isWorkspace' | 'standard'>,
): string[] {
  if (grants.length === 0 && workspaceClaim === null) return standard === null ? [] : [standard];
  const granted = grants.filter((grant) => {
    const wanted = Object.entries(grant.claims);
    return (
      grant.scopes.every((scope) => scopes.has(scope)) &&
      wanted.every(([name, value]) => valuesOf(claims[name]).includes(value))
    );
  });
  const claimed = workspaceClaim === null ? [] : valuesOf(claims[workspaceClaim]);
  const names = new Set([...granted.map(({ workspace }) => workspace), ...claimed]);
  return [...names].filter((name): name is string => typeof name === 'string' && isWorkspace(name));
}

function valuesOf(claim: unknown): readonly unknown[] {
  return Array.isArray(claim) ? claim : claim === undefined ? [] : [claim];
}
