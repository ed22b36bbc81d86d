import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair } from 'jose';
import { Provider } from 'oidc-provider';
import { vi } from 'vitest';
import type { CloseLater } from '../served-world.ts';

/** A client of the authorization server that gets tokens for itself. */
export const MACHINE = { id: 'machine', secret: 'a-secret-of-the-machine' } as const;
/** The account with which every login succeeds. */
export const ACCOUNT = 'ana';
/** The only scope of all resources. */
const SCOPE = 'sightline:read';

/** A running authorization server. */
interface AuthorizationServer {
  readonly issuer: string;
  /** Opens the address of an authorization request like a browser, and returns the address to which it is redirected at the end. */
  logIn(url: URL): Promise<URL>;
}

/** Starts oidc-provider on loopback. Access tokens are JWTs of RFC 9068, signed with ES256. */
export async function startAuthorizationServer(closeLater: CloseLater): Promise<AuthorizationServer> {
  // It prints that it is not set up for production.
  const muted = [vi.spyOn(console, 'warn'), vi.spyOn(console, 'info')].map((spy) => spy.mockReturnValue(undefined));
  let handle = (_request: IncomingMessage, response: ServerResponse): void => void response.writeHead(503).end();
  const server = createServer((request, response) => handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closeLater(async () => {
    for (const spy of muted) spy.mockRestore();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = await createProvider(issuer);
  const callback = provider.callback();
  handle = (request, response) => {
    if (request.url?.startsWith('/login/') !== true) return void callback(request, response);
    void provider.interactionFinished(request, response, { login: { accountId: ACCOUNT }, consent: {} });
  };
  return { issuer, logIn: (url) => followWithCookies(url, issuer) };
}

async function createProvider(issuer: string): Promise<Provider> {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  const provider: Provider = new Provider(issuer, {
    jwks: { keys: [{ ...(await exportJWK(privateKey)), kid: 'of-the-provider', alg: 'ES256', use: 'sig' }] },
    cookies: { keys: ['a key for cookies'] },
    clients: [
      {
        client_id: MACHINE.id,
        client_secret: MACHINE.secret,
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
        id_token_signed_response_alg: 'ES256',
      },
    ],
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
    scopes: ['openid', 'offline_access', SCOPE],
    pkce: { required: () => true },
    findAccount: (_ctx, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    interactions: { url: (_ctx, { uid }) => `/login/${uid}` },
    loadExistingGrant: async ({ oidc: { client, session, params } }) => {
      const grant = new provider.Grant({ clientId: client?.clientId, accountId: session?.accountId });
      // The scope is known to the server too, because clients register with it.
      grant.addOIDCScope(`openid offline_access ${SCOPE}`);
      grant.addResourceScope(String(params?.['resource']), SCOPE);
      await grant.save();
      return grant;
    },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      registration: { enabled: true },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: (_ctx, resource) => ({
          scope: SCOPE,
          audience: resource,
          accessTokenTTL: 300,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
    },
  });
  return provider;
}

/** Follows redirects within the origin of the authorization server. */
async function followWithCookies(start: URL, origin: string): Promise<URL> {
  const cookies = new Map<string, string>();
  let url = start;
  for (let count = 0; count < 10 && url.origin === origin; count += 1) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(url, { redirect: 'manual', headers: { cookie } });
    for (const line of response.headers.getSetCookie()) {
      const [pair = ''] = line.split(';', 1);
      cookies.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1));
    }
    const location = response.headers.get('location');
    if (location === null)
      throw new Error(`${url.pathname} responded with ${response.status}: ${await response.text()}`);
    url = new URL(location, url);
  }
  return url;
}
