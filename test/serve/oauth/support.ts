import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { onTestFinished } from 'vitest';
import { type OAuthSettings, oauthSchema, readOAuth } from '../../../src/base/config/oauth-settings.ts';
import { createOAuth } from '../../../src/serve/auth/oauth/oauth.ts';
import { serve } from '../../cli/helpers.ts';
import { leapingClock } from '../../support/clocks.ts';
import { NO_REPLICA, startTestServer, type TestServerOptions, WORKSPACE } from '../http/support.ts';
import { post } from '../mcp/support.ts';
import { type CloseLater, sharedBefore } from '../served-world.ts';

/** The resource of tests whose clients do not discover it. */
export const RESOURCE = 'https://data.example.com/v1/mcp';

/** A private key and its public JWK. */
export interface SigningKey {
  readonly sign: CryptoKey;
  readonly jwk: JWK;
}

/** Makes a key pair with an id. */
export async function makeKey(kid: string, alg = 'ES256'): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { sign: privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } };
}

/** An issuer under the control of a test. */
type Issuer = Awaited<ReturnType<typeof startIssuer>>;

/** Starts an issuer on loopback with one key; closed after the test. */
export async function startIssuer(path = '', closeLater: CloseLater = onTestFinished) {
  const key = await makeKey('first');
  /** Paths of the requests so far. */
  const requests: string[] = [];
  const keys = [key.jwk];
  const { origin, close } = await serve((request, response) => {
    const { pathname } = new URL(request.url ?? '', issuer.issuer);
    requests.push(pathname);
    const documents: Record<string, unknown> = {
      [`/.well-known/oauth-authorization-server${path}`]: { issuer: issuer.issuer, jwks_uri: `${origin}/keys` },
      '/keys': { keys },
    };
    const document = documents[pathname];
    const { status, body } = issuer.respond?.(pathname) ?? {
      status: document === undefined ? 404 : 200,
      body: JSON.stringify(document ?? {}),
    };
    response.writeHead(status, { 'content-type': 'application/json', location: `${origin}/keys` }).end(body);
  });
  closeLater(close);
  const issuer = {
    issuer: `${origin}${path}`,
    key,
    keys,
    requests,
    /** Replaces the response to all requests, until it is null again. */
    respond: null as ((path: string) => { readonly status: number; readonly body: string } | null) | null,
    /** Signs a valid token, with the given differences; an undefined claim is left out. */
    token: (claims: object = {}, header: object = {}, signing: SigningKey = key): Promise<string> => {
      const seconds = Math.floor(Date.now() / 1_000);
      const times = { iat: seconds, exp: seconds + 300 };
      const names = {
        iss: issuer.issuer,
        aud: RESOURCE,
        sub: 'ana',
        client_id: 'chat',
        jti: 'a1',
        scope: 'sightline:read',
      };
      const { alg = 'ES256', kid } = signing.jwk;
      return new SignJWT({ ...names, ...times, ...claims })
        .setProtectedHeader({ alg, ...(kid === undefined ? {} : { kid }), typ: 'at+jwt', ...header })
        .sign(signing.sign);
    },
  };
  return issuer;
}

/** Resolves settings as in the configuration file. */
export function settingsOf(given: Record<string, unknown>): OAuthSettings {
  const settings = readOAuth(oauthSchema.parse(given), {});
  if (settings === null) throw new Error('no issuer is set');
  return settings;
}

interface TokenServerOptions extends Omit<TestServerOptions, 'clock'> {
  readonly issuer?: Issuer;
}

/** Serves a workspace without data to tokens before the tests of a file; wrong tokens are not limited. */
export function tokenServerBefore(given: Record<string, unknown> = {}) {
  return sharedBefore((closeLater) => openTokenServer(given, { limits: { wrongKeysMax: 1_000_000 } }, closeLater));
}

/** Serves a workspace without data to tokens; `given` is the `oauth` setting, with the address of a new issuer. */
export async function openTokenServer(
  given: Record<string, unknown> = {},
  { issuer: known, ...options }: TokenServerOptions = {},
  closeLater: CloseLater = onTestFinished,
) {
  const issuer = known ?? (await startIssuer('', closeLater));
  /** Problems with the issuer so far; null means that it works again. */
  const states: unknown[] = [];
  // Stands still, so that tokens expire and keys are fetched again only when a test advances it.
  const clock = leapingClock(Date.now());
  const oauth = createOAuth({
    settings: settingsOf({ resource: RESOURCE, issuer: issuer.issuer, ...given }),
    clock,
    isWorkspace: (name) => name === WORKSPACE,
    standard: WORKSPACE,
    onState: (problem) => states.push(problem),
  });
  const server = await startTestServer(NO_REPLICA, { ...options, clock, oauth }, closeLater);
  /** Lists the tools over MCP with a bearer token. */
  const ask = async (token: string | null, query = '') => {
    const headers: Record<string, string> = token === null ? {} : { authorization: `Bearer ${token}` };
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
    return readAnswer(await post(`${server.mcpUrl}${query}`, message, headers));
  };
  const askWith = async (...differences: Parameters<Issuer['token']>) => ask(await issuer.token(...differences));
  return { ...server, issuer, clock, ask, askWith, states };
}

/** Reads the parts of a response that tests compare; `code` is null without an error. */
export async function readAnswer(response: Response) {
  const text = await response.text();
  const error = response.ok ? null : (JSON.parse(text) as { error: { code: string; message: string } }).error;
  const challenge = response.headers.get('www-authenticate');
  const { status, headers } = response;
  return { status, code: error?.code ?? null, message: error?.message ?? '', challenge, headers };
}
