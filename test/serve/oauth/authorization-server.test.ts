import {
  Client,
  ClientCredentialsProvider,
  type OAuthClientProvider,
  type OAuthTokens,
  type StoredOAuthClientInformation,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import { decodeJwt } from 'jose';
import { describe, expect, it, onTestFinished } from 'vitest';
import { freePort } from '../../support/ports.ts';
import { sharedBefore } from '../served-world.ts';
import { ACCOUNT, MACHINE, startAuthorizationServer } from './authorization-server.ts';
import { openTokenServer } from './support.ts';

const CALLBACK = 'http://127.0.0.1/callback';

/** An MCP client without a prior registration, which keeps its state in memory. */
class PublicClient implements OAuthClientProvider {
  readonly redirectUrl = CALLBACK;
  readonly clientMetadata = {
    client_name: 'chat',
    redirect_uris: [CALLBACK],
    application_type: 'native',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  };
  sentTo: URL | undefined;
  stored: OAuthTokens | undefined;
  #information: StoredOAuthClientInformation | undefined;
  #verifier = '';

  clientInformation = () => this.#information;
  saveClientInformation = (information: StoredOAuthClientInformation): void => {
    this.#information = information;
  };
  tokens = () => this.stored;
  saveTokens = (tokens: OAuthTokens): void => {
    this.stored = tokens;
  };
  redirectToAuthorization = (url: URL): void => {
    this.sentTo = url;
  };
  codeVerifier = () => this.#verifier;
  saveCodeVerifier = (verifier: string): void => {
    this.#verifier = verifier;
  };
}

/** An authorization server, and a server that accepts its tokens. */
const opened = sharedBefore(async (closeLater) => {
  const authorization = await startAuthorizationServer(closeLater);
  // Tokens are for the address, which is known only after the server listens.
  const port = await freePort();
  const resource = `http://127.0.0.1:${port}/v1/mcp`;
  const { issuer } = authorization;
  return { authorization, server: await openTokenServer({ issuer, resource }, { port }, closeLater), resource };
});

async function toolsOf(url: string, authProvider: OAuthClientProvider): Promise<number> {
  const client = new Client({ name: 'chat', version: '1.0.0' });
  onTestFinished(() => client.close());
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { authProvider }));
  return (await client.listTools()).tools.length;
}

describe('with the authorization server oidc-provider', () => {
  it('an MCP client finds it by discovery, registers, logs in with PKCE and calls tools', async () => {
    const { authorization, server, resource } = opened();
    const provider = new PublicClient();
    const transport = new StreamableHTTPClientTransport(new URL(server.mcpUrl), { authProvider: provider });
    const client = new Client({ name: 'chat', version: '1.0.0' });
    await expect(client.connect(transport)).rejects.toBeInstanceOf(UnauthorizedError);
    const request = provider.sentTo as URL;
    expect(request.origin).toBe(authorization.issuer);
    expect(Object.fromEntries(request.searchParams)).toMatchObject({
      resource,
      scope: 'sightline:read offline_access',
      code_challenge_method: 'S256',
    });
    const callback = await authorization.logIn(request);
    expect(callback.href).toMatch(/^http:\/\/127\.0\.0\.1\/callback\?code=/);
    await transport.finishAuth(callback.searchParams);
    const token = provider.stored?.access_token ?? '';
    expect(decodeJwt(token)).toMatchObject({ iss: authorization.issuer, aud: resource, sub: ACCOUNT });
    expect(await toolsOf(server.mcpUrl, provider)).toBeGreaterThan(10);
    const text = JSON.stringify(await server.log());
    for (const part of token.split('.')) expect(text).not.toContain(part);
  });

  it('a client with a secret gets tokens for itself by discovery', async () => {
    const { authorization, server, resource } = opened();
    const provider = new ClientCredentialsProvider({
      clientId: MACHINE.id,
      clientSecret: MACHINE.secret,
      expectedIssuer: authorization.issuer,
    });
    expect(await toolsOf(server.mcpUrl, provider)).toBeGreaterThan(10);
    expect(decodeJwt(provider.tokens()?.access_token ?? '')).toMatchObject({ aud: resource, sub: MACHINE.id });
  });

  it('the metadata of the resource are public at the paths of RFC 9728', async () => {
    const { authorization, server, resource } = opened();
    for (const path of ['/.well-known/oauth-protected-resource', '/.well-known/oauth-protected-resource/v1/mcp']) {
      const response = await fetch(new URL(path, server.baseUrl));
      expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
      expect(await response.json()).toEqual({
        resource,
        authorization_servers: [authorization.issuer],
        scopes_supported: ['sightline:read'],
        bearer_methods_supported: ['header'],
        resource_name: 'sightline',
      });
      expect((await fetch(new URL(path, server.baseUrl), { method: 'POST' })).status).toBe(405);
    }
    const { challenge } = await server.ask(null);
    const [, url = ''] = /resource_metadata="([^"]+)"/.exec(challenge ?? '') ?? [];
    expect((await fetch(url)).status).toBe(200);
  });
});
