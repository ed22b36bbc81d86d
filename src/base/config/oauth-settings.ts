import { z } from 'zod';
import { SightlineError } from '../errors.ts';
import { isRecord } from '../json.ts';
import { type FindProxy, readProxies } from '../proxies.ts';
import { isPrivateWay } from './notify-settings.ts';
import { allowedOf, noteOf } from './setting-schema.ts';
import { workspaceName } from './shared-schemas.ts';

/** Signature algorithms of access tokens. All are asymmetric: with HS256, anyone who knows the public key could sign. */
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
] as const;
/** Forms of access tokens: as RFC 9068 requires, or any signed JWT. */
export const TOKEN_PROFILES = ['rfc9068', 'jwt'] as const;

/** Scopes that a token needs by default. */
const SCOPES = ['sightline:read'] as const;
const CLOCK_SKEW_SECONDS = 60;

/** Opens a workspace to tokens that have all scopes and claims. */
export interface Grant {
  readonly workspace: string;
  readonly scopes: readonly string[];
  /** A claim of a token matches if it is the value, or a list with the value. */
  readonly claims: Readonly<Record<string, string | number | boolean>>;
}

/** The authorization server whose access tokens the read server accepts, and the rights that they give. */
export interface OAuthSettings {
  /** Exactly as in the `iss` claim. */
  readonly issuer: string;
  /** Identifier of the read server for RFC 8707 and RFC 9728: the public URL of its MCP endpoint. */
  readonly resource: URL;
  /** Accepted values of the `aud` claim. */
  readonly audiences: readonly string[];
  /** Null if it is read from the issuer's metadata. */
  readonly jwksUri: URL | null;
  /** Scopes that every token needs. */
  readonly scopes: readonly string[];
  readonly profile: (typeof TOKEN_PROFILES)[number];
  readonly algorithms: readonly (typeof ALGORITHMS)[number][];
  readonly clockSkewSeconds: number;
  /** Claim with the name of the token's workspace; null if there is none. */
  readonly workspaceClaim: string | null;
  readonly grants: readonly Grant[];
  readonly findProxy: FindProxy;
}

const scopes = z.array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,128}$/)).max(20);
const claimName = z.string().min(1).max(256);

/** Schema of the `oauth` setting in the configuration file. */
export const oauthSchema = z.strictObject({
  issuer: z
    .string()
    .describe(
      'the https URL of an authorization server, as in the iss claim of its tokens; http only on loopback; no link-local address',
    )
    .optional()
    .meta({ variable: 'SIGHTLINE_OAUTH_ISSUER' }),
  resource: z
    .string()
    .describe(
      'the public https URL of the MCP endpoint, such as https://data.example.com/v1/mcp, without a query or fragment; http only on loopback',
    )
    .optional()
    .meta({
      about: 'the value of the aud claim that tokens need',
      variable: 'SIGHTLINE_OAUTH_RESOURCE',
    }),
  audiences: z
    .array(z.string().min(1).max(512))
    .max(10)
    .describe('a list of at most 10 more accepted values of the aud claim')
    .optional()
    .meta({ whenUnset: 'none' }),
  jwksUri: z
    .string()
    .describe('the https URL of the key set of the issuer; http only on loopback; no link-local address')
    .optional()
    .meta({ whenUnset: "from the issuer's metadata" }),
  scopes: scopes
    .min(1)
    .describe('a list of 1 to 20 scopes, such as sightline:read')
    .optional()
    .meta({ about: 'scopes that every token needs; clients ask for them', preset: SCOPES }),
  profile: z
    .enum(TOKEN_PROFILES)
    .optional()
    .meta({ about: 'the form of the tokens: as RFC 9068 requires, or any signed JWT', preset: TOKEN_PROFILES[0] }),
  algorithms: z
    .array(z.enum(ALGORITHMS))
    .min(1)
    .optional()
    .meta({ about: 'accepted signature algorithms', whenUnset: 'all' }),
  clockSkewSeconds: z
    .int()
    .min(0)
    .max(300)
    .describe('a whole number of seconds from 0 to 300')
    .optional()
    .meta({ about: 'the tolerance for exp, nbf and iat', preset: CLOCK_SKEW_SECONDS }),
  workspaceClaim: claimName
    .describe('the name of the claim with the name of the workspace, or a list of names')
    .optional(),
  grants: z
    .array(
      z.strictObject({
        workspace: workspaceName.meta({ about: 'the workspace that the grant opens' }),
        scopes: scopes
          .describe('a list of at most 20 scopes')
          .optional()
          .meta({ about: 'scopes that the token needs too' }),
        claims: z
          .custom<Grant['claims']>(isClaims)
          .describe('an object with the value of each claim: a text, a number, true or false')
          .optional()
          .meta({ about: 'claims that the token needs: each is the value, or a list with it' }),
      }),
    )
    .max(1_000)
    .optional()
    .meta({ about: 'a list of workspaces that tokens with certain scopes and claims open', whenUnset: 'none' }),
});

/**
 * Resolves the `oauth` setting with environment and defaults; null if nothing is set.
 * @throws `config_invalid` with the setting and its allowed values
 */
export function readOAuth(
  given: z.infer<typeof oauthSchema> = {},
  environment: Readonly<Record<string, string | undefined>>,
): OAuthSettings | null {
  const read = (member: 'issuer' | 'resource'): [name: string, text: string | undefined] => {
    const variable = noteOf(oauthSchema.shape[member]).variable ?? '';
    const text = environment[variable];
    return text === undefined || text === '' ? [`oauth.${member}`, given[member]] : [variable, text];
  };
  const [issuerName, issuer] = read('issuer');
  const [resourceName, resource] = read('resource');
  if (issuer === undefined) {
    if (resource === undefined && Object.keys(given).length === 0) return null;
    throw refuse(issuerName, 'is not set', allowed('issuer'));
  }
  readUrl(issuerName, issuer, allowed('issuer'));
  if (resource === undefined) throw refuse(resourceName, 'is not set', allowed('resource'));
  const resourceUrl = readUrl(resourceName, resource, allowed('resource'));
  // The path of the metadata ends with it, and routes are patterns.
  if (!/^[\w./~-]*$/.test(resourceUrl.pathname)) {
    throw refuse(
      resourceName,
      'has other characters in its path than letters, digits and . _ ~ - /',
      allowed('resource'),
    );
  }
  return {
    issuer,
    resource: resourceUrl,
    // Clients send the URL with or without the slash of an empty path.
    audiences: [
      ...new Set([resource, resourceUrl.href, resourceUrl.href.replace(/\/$/, '')]),
      ...(given.audiences ?? []),
    ],
    jwksUri: given.jwksUri === undefined ? null : readUrl('oauth.jwksUri', given.jwksUri, allowed('jwksUri'), true),
    findProxy: readProxies(environment),
    scopes: given.scopes ?? SCOPES,
    profile: given.profile ?? TOKEN_PROFILES[0],
    algorithms: given.algorithms ?? ALGORITHMS,
    clockSkewSeconds: given.clockSkewSeconds ?? CLOCK_SKEW_SECONDS,
    workspaceClaim: given.workspaceClaim ?? null,
    grants: (given.grants ?? []).map(({ workspace, scopes = [], claims = {} }) => ({ workspace, scopes, claims })),
  };
}

// SIGHTLINE_ALLOW_HTTP does not apply: a key set that is changed in transit would accept forged tokens.
function readUrl(name: string, text: string, allowed: string, mayHaveQuery = false): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  // The text before an @ may contain a password.
  if (url === null || !isPrivateWay(url, false)) {
    throw refuse(name, `is ${JSON.stringify(text.replace(/^.*@/s, '…@'))}`, allowed);
  }
  if (url.username !== '' || url.password !== '') throw refuse(name, 'contains a user name or password', allowed);
  if (url.hash !== '' || (url.search !== '' && !mayHaveQuery)) throw refuse(name, 'has a query or a fragment', allowed);
  return url;
}

function isClaims(value: unknown): value is Grant['claims'] {
  return isRecord(value) && Object.values(value).every((each) => ['string', 'number', 'boolean'].includes(typeof each));
}

// Returns the allowed values of a member.
function allowed(member: keyof typeof oauthSchema.shape): string {
  return allowedOf(oauthSchema.shape[member]);
}

function refuse(name: string, problem: string, allowed: string): SightlineError {
  return new SightlineError('config_invalid', `${name} ${problem}; allowed: ${allowed}`);
}
