import type { OAuthSettings } from '../../../base/config/oauth-settings.ts';
import type { Finding } from '../../../operations/doctor/check-context.ts';
import { MCP_PATH } from '../../http/paths.ts';
import { fetchKeySet, IssuerError } from './issuer-documents.ts';

/** Key type (`kty`) of each family of signature algorithms. */
const KEY_TYPES: readonly (readonly [family: RegExp, type: string])[] = [
  [/^(RS|PS)/, 'RSA'],
  [/^ES/, 'EC'],
  [/^Ed/, 'OKP'],
];

/** Settings and surroundings of the check. */
export interface OAuthCheck {
  /** Null if no access tokens are accepted. */
  readonly settings: OAuthSettings | null;
  readonly isOffline: boolean;
  /** Names of the configured workspaces. */
  readonly workspaces: readonly string[];
}

/**
 * Checks the settings of access tokens: that the issuer is reachable, that its metadata and keys are valid, that the resource is the
 * URL of an MCP endpoint, and that grants name configured workspaces. Returns nothing if no access tokens are accepted.
 */
export async function checkOAuth({ settings, isOffline, workspaces }: OAuthCheck): Promise<Finding[]> {
  if (settings === null) return [];
  const unknown = new Set(settings.grants.map(({ workspace }) => workspace).filter((one) => !workspaces.includes(one)));
  const allowed = workspaces.join(', ');
  return [
    isOffline
      ? { status: 'ok', message: 'the issuer is not checked, because of --offline' }
      : await checkIssuer(settings),
    checkResource(settings),
    ...[...unknown].map((name): Finding => {
      const message = `oauth.grants names the workspace ${name}, which is not configured; allowed: ${allowed}`;
      return { status: 'warning', message, advice: 'Correct the name in oauth.grants.' };
    }),
  ];
}

async function checkIssuer(settings: OAuthSettings): Promise<Finding> {
  const { issuer, algorithms, jwksUri } = settings;
  const source = jwksUri === null ? `issuer ${issuer}` : `issuer ${issuer}, with its keys at ${jwksUri.href}`;
  const setting = jwksUri === null ? 'oauth.issuer (SIGHTLINE_OAUTH_ISSUER)' : 'oauth.jwksUri';
  try {
    const { keys } = await fetchKeySet(settings);
    const types = new Set(algorithms.map((name) => KEY_TYPES.find(([family]) => family.test(name))?.[1]));
    const usable = keys.filter(({ kty }) => types.has(kty)).length;
    if (usable > 0)
      return { status: 'ok', message: `${source}: reachable; ${usable} of ${keys.length} keys are usable` };
    const message = `${source}: none of its ${keys.length} keys can sign with ${algorithms.join(', ')}`;
    return { status: 'failure', message, advice: 'Add an algorithm of the issuer to oauth.algorithms.' };
  } catch (thrown) {
    if (!(thrown instanceof IssuerError)) throw thrown;
    const advice = `Check ${setting} and the network; until the issuer responds, all access tokens are rejected.`;
    return { status: 'failure', message: `${source}: ${thrown.message}`, advice };
  }
}

// Only a token shows which audience the issuer writes, so the accepted ones are reported.
function checkResource({ resource, audiences }: OAuthSettings): Finding {
  const accepted = `tokens need one of these audiences (aud): ${audiences.join(', ')}`;
  if (resource.pathname.endsWith(MCP_PATH)) return { status: 'ok', message: accepted };
  const message = `oauth.resource is ${resource.href}, which does not end with ${MCP_PATH}; ${accepted}`;
  const advice = `Set it to the address that MCP clients connect to, such as ${resource.origin}${MCP_PATH}.`;
  return { status: 'warning', message, advice };
}
