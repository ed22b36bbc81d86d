import type { OAuthSettings } from '../../../base/config/oauth-settings.ts';
import { MCP_PATH } from '../../http/paths.ts';

/** Path of the metadata of a protected resource (RFC 9728). The path of the resource is appended to it. */
const METADATA_PATH = '/.well-known/oauth-protected-resource';

/** Errors of requests with an access token (RFC 6750, section 3.1). */
export type BearerError = 'invalid_request' | 'invalid_token' | 'insufficient_scope';

/** The read server as a protected resource of an authorization server. */
export interface ProtectedResource {
  /** Paths of its metadata. */
  readonly paths: readonly string[];
  readonly metadata: object;
  /** Returns the header with which a request is rejected; without an error if the request had no access token. */
  challenge(error?: BearerError, description?: string): { readonly 'WWW-Authenticate': string };
}

/** Describes the read server by RFC 9728. The addresses come from the settings, never from a request. */
export function createProtectedResource({ issuer, resource, scopes }: OAuthSettings): ProtectedResource {
  const path = resource.pathname === '/' ? '' : resource.pathname;
  // Clients that know only the origin request the first one, and those that know the MCP endpoint the second one. A proxy may serve
  // it below another path.
  const paths = [...new Set([METADATA_PATH, `${METADATA_PATH}${MCP_PATH}`, `${METADATA_PATH}${path}`])];
  const common = [
    `scope="${scopes.join(' ')}"`,
    `resource_metadata="${new URL(`${METADATA_PATH}${path}`, resource.origin).href}"`,
  ];
  return {
    paths,
    metadata: {
      resource: path === '' ? resource.origin : resource.href,
      authorization_servers: [issuer],
      scopes_supported: scopes,
      bearer_methods_supported: ['header'],
      resource_name: 'sightline',
    },
    challenge: (error, description) => {
      const about = error === undefined ? [] : [`error="${error}"`];
      if (description !== undefined) about.push(`error_description="${description}"`);
      return { 'WWW-Authenticate': `Bearer ${[...about, ...common].join(', ')}` };
    },
  };
}
