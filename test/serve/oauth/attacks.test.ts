import { exportJWK, exportSPKI, generateKeyPair, SignJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import { NO_REPLICA, openServer } from '../http/support.ts';
import { makeKey, openTokenServer, RESOURCE, type SigningKey, startIssuer, tokenServerBefore } from './support.ts';

const METADATA = 'https://data.example.com/.well-known/oauth-protected-resource/v1/mcp';
const CHALLENGE = `scope="sightline:read", resource_metadata="${METADATA}"`;
const NOT_ALLOWED = 'The access token is signed with an algorithm that is not allowed.';

const server = tokenServerBefore();

const claimsOf = (token: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Publishes more keys of the issuer, which the server may fetch at once. */
function publish(...keys: readonly object[]): void {
  server().issuer.keys.push(...keys);
  server().clock.advance(10_000);
}

describe('access tokens', () => {
  it('of the issuer are accepted for MCP and REST, beside API keys', async () => {
    const { issuer, ask, key, baseUrl } = await openTokenServer();
    const token = await issuer.token();
    expect(await ask(token)).toMatchObject({ status: 200 });
    expect(await ask(key)).toMatchObject({ status: 200 });
    // The workspace has no data, which only a request with access learns.
    const rest = await fetch(`${baseUrl}/brands`, { headers: { authorization: `Bearer ${token}` } });
    expect(await rest.json()).toMatchObject({ error: { code: 'no_data' } });
    expect(issuer.requests).toEqual(['/.well-known/oauth-authorization-server', '/keys']);
  });

  it('are counted by subject, and are logged by a hash of the subject', async () => {
    const { askWith, log } = await openTokenServer({}, { rateLimit: 2 });
    for (const [sub, jti, status] of [
      ['ana@example.com', 'a1', 200],
      ['ana@example.com', 'a2', 200],
      ['ana@example.com', 'a3', 429],
      ['ben', 'a1', 200],
    ] as const)
      expect(await askWith({ sub, jti })).toMatchObject({ status });
    const keys = (await log()).flatMap(({ key }) => (typeof key === 'string' ? [key] : []));
    expect(new Set(keys).size).toBe(2);
    expect(keys.every((key) => /^oauth-[0-9a-f]{16}$/.test(key))).toBe(true);
  });

  it('are asked for with the address of the metadata and the scope, without a request to the issuer', async () => {
    const { ask, baseUrl, issuer } = await openTokenServer();
    for (const token of [null, 'gsk_unknown'])
      expect(await ask(token)).toMatchObject({ status: 401, challenge: `Bearer ${CHALLENGE}` });
    const unknown = await fetch(`${baseUrl}/nothing`);
    expect([unknown.status, unknown.headers.get('www-authenticate')]).toEqual([401, `Bearer ${CHALLENGE}`]);
    expect(issuer.requests).toEqual([]);
  });

  it('are described by public metadata at the paths of RFC 9728', async () => {
    const { origin, issuer } = server();
    for (const path of ['/.well-known/oauth-protected-resource', new URL(METADATA).pathname]) {
      const response = await fetch(`${origin}${path}`);
      expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
      expect(await response.json()).toEqual({
        resource: RESOURCE,
        authorization_servers: [issuer.issuer],
        scopes_supported: ['sightline:read'],
        bearer_methods_supported: ['header'],
        resource_name: 'sightline',
      });
      expect((await fetch(`${origin}${path}`, { method: 'POST' })).status).toBe(405);
    }
  });

  it.each([
    ['for another server', { aud: 'https://other.example.com/v1/mcp' }, {}, 'is for another server (aud)'],
    ['for the prefix of the address', { aud: 'https://data.example.com/v1' }, {}, 'is for another server (aud)'],
    ['of another issuer', { iss: 'https://evil.example.com' }, {}, 'is of another issuer (iss)'],
    ['without an audience', { aud: undefined }, {}, 'has no aud claim'],
    ['without an end', { exp: undefined }, {}, 'has no exp claim'],
    ['without a subject', { sub: undefined }, {}, 'has no sub claim'],
    ['with an empty subject', { sub: '' }, {}, 'has an invalid sub claim'],
    ['without a client', { client_id: undefined }, {}, 'has no client_id claim'],
    ['with a client that is not a text', { client_id: ['chat'] }, {}, 'has an invalid client_id claim'],
    ['with an id that is null', { jti: null }, {}, 'has an invalid jti claim'],
    ['with a start that is not a number', { nbf: '0' }, {}, 'has an invalid nbf claim'],
    ['with an end beyond all dates', { exp: 1e300 }, {}, 'has an invalid time'],
    ['that is not valid yet', { nbf: Math.floor(Date.now() / 1_000) + 3_600 }, {}, 'is not valid yet (nbf)'],
    [
      'that is issued in the future',
      { iat: Math.floor(Date.now() / 1_000) + 3_600 },
      {},
      'is issued in the future (iat)',
    ],
    [
      'that is bound to a key of its client',
      { cnf: { jkt: 'x' } },
      {},
      'is bound to a key of its client (cnf), and no proof of it is checked',
    ],
    ['with the type of an ID token', {}, { typ: 'JWT' }, 'does not have the type at+jwt (RFC 9068)'],
    ['without a type', {}, { typ: undefined }, 'does not have the type at+jwt (RFC 9068)'],
  ])('%s are rejected', async (_title, claims, header, problem) => {
    const { issuer, ask } = server();
    const answer = await ask(await issuer.token(claims, header));
    expect(answer).toMatchObject({ status: 401, code: 'unauthorized', message: `The access token ${problem}.` });
    expect(answer.challenge).toBe(
      `Bearer error="invalid_token", error_description="The access token ${problem}.", ${CHALLENGE}`,
    );
  });

  it('expire by the clock of this machine, after the skew', async () => {
    const { clock, askWith } = await openTokenServer({ clockSkewSeconds: 5 });
    const seconds = Math.floor(clock.now() / 1_000);
    expect(await askWith({ exp: seconds - 4 })).toMatchObject({ status: 200 });
    // More than the number of wrong tokens after which others are rejected: an expired token is not a guess.
    for (let count = 0; count < 40; count += 1)
      expect(await askWith({ exp: seconds - 6 })).toMatchObject({
        status: 401,
        message: 'The access token has expired.',
      });
    expect(await askWith({ nbf: seconds + 4 })).toMatchObject({ status: 200 });
  });

  it('signed with HS256, or with an algorithm that the settings leave out, are rejected', async () => {
    const { issuer, ask, askWith } = server();
    const rsa = await generateKeyPair('RS256', { extractable: true });
    const jwk = { ...(await exportJWK(rsa.publicKey)), kid: 'rsa', use: 'sig' };
    publish(jwk);
    const claims = claimsOf(await issuer.token());
    const requests = issuer.requests.length;
    const shared = new SignJWT(claims).setProtectedHeader({ alg: 'HS256', typ: 'at+jwt', kid: 'rsa' });
    const token = await shared.sign(Buffer.from(await exportSPKI(rsa.publicKey)));
    expect(await ask(token)).toMatchObject({ status: 401, message: NOT_ALLOWED });
    expect(issuer.requests).toHaveLength(requests);
    const own = { sign: rsa.privateKey, jwk: {} };
    expect(await askWith({}, { alg: 'RS256', kid: 'rsa' }, own)).toMatchObject({ status: 200 });
    const narrow = await openTokenServer({ algorithms: ['RS256'] });
    expect(await narrow.askWith()).toMatchObject({ status: 401, message: NOT_ALLOWED });
  });

  it('signed with another key are rejected, even if they contain or name that key', async () => {
    const { issuer, ask, askWith } = server();
    const evil: SigningKey = await makeKey('first');
    for (const header of [{}, { jwk: evil.jwk }, { jku: `${issuer.issuer}/evil`, x5u: `${issuer.issuer}/evil` }]) {
      const message = 'The access token has an invalid signature.';
      expect(await askWith({}, header, evil)).toMatchObject({ status: 401, message });
    }
    expect(issuer.requests).not.toContain('/evil');
    const [head, , signature] = (await issuer.token()).split('.');
    const body = part({ iss: issuer.issuer, aud: RESOURCE, sub: 'root' });
    expect(await ask(`${head}.${body}.${signature}`)).toMatchObject({ status: 401 });
  });

  it('that fit several keys of the issuer are rejected', async () => {
    const [one, other] = await Promise.all([makeKey('twice'), makeKey('twice')]);
    publish(one.jwk, other.jwk);
    const message = 'The access token fits several keys of its issuer (kid).';
    for (const key of [one, other]) expect(await server().askWith({}, {}, key)).toMatchObject({ status: 401, message });
  });

  it('in the address are refused, and are not logged', async () => {
    const { issuer, ask, key, log } = server();
    await log();
    const token = await issuer.token();
    for (const name of ['access_token', 'access%5Ftoken', 'a=1&access_token'])
      for (const header of [null, token, key]) {
        const answer = await ask(header, `?${name}=${token}`);
        const challenge = `Bearer error="invalid_request", ${CHALLENGE}`;
        expect(answer).toMatchObject({ status: 400, code: 'bad_request', challenge });
      }
    await ask(null, '?access_token=opaque-secret');
    const text = JSON.stringify(await log());
    expect(text).toContain('access_token=…');
    for (const secret of [...token.split('.'), 'opaque-secret']) expect(text).not.toContain(secret);
  });

  it('of more than 8,192 characters are rejected unread', async () => {
    const { issuer, ask, askWith } = await openTokenServer();
    const message = 'The access token is longer than 8192 characters.';
    expect(await askWith({ padding: 'x'.repeat(9_000) })).toMatchObject({ status: 401, message });
    expect(issuer.requests).toEqual([]);
    const invalid = 'The access token is not a valid signed JWT.';
    expect(await ask(`${'a.'.repeat(4_000)}a`)).toMatchObject({ status: 401, message: invalid });
  });

  it('that are wrong are limited by address; valid ones are still accepted', async () => {
    const { askWith } = await openTokenServer({}, { limits: { wrongKeysMax: 3 } });
    const wrong = await makeKey('first');
    for (const status of [401, 401, 401, 429, 429]) expect(await askWith({}, {}, wrong)).toMatchObject({ status });
    expect(await askWith()).toMatchObject({ status: 200 });
  });

  it('are wrong keys if no issuer is configured', async () => {
    const issuer = await startIssuer();
    const { get, origin } = await openServer(NO_REPLICA);
    const answer = await get('/brands', { headers: { authorization: `Bearer ${await issuer.token()}` } });
    expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
    expect((await fetch(`${origin}/.well-known/oauth-protected-resource`)).status).toBe(404);
    expect(issuer.requests).toEqual([]);
  });
});
