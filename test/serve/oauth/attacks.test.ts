import { generateKeyPairSync, sign } from 'node:crypto';
import { type CryptoKey, exportJWK, exportSPKI, generateKeyPair, importJWK, SignJWT, UnsecuredJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import { ALGORITHMS } from '../../../src/base/config/oauth-settings.ts';
import { leapingClock } from '../../support/clocks.ts';
import { openServer } from '../http/support.ts';
import { makeKey, openTokenServer, RESOURCE, startIssuer } from './support.ts';

const METADATA = 'https://data.example.com/.well-known/oauth-protected-resource/v1/mcp';
const CHALLENGE = `scope="sightline:read", resource_metadata="${METADATA}"`;

describe('access tokens', () => {
  it('of the issuer are accepted for MCP and REST, beside API keys', async () => {
    const issuer = await startIssuer();
    const server = await openTokenServer({ issuer: issuer.issuer });
    const token = await issuer.token();
    expect(await server.ask(token)).toMatchObject({ status: 200 });
    expect(await server.ask(server.key)).toMatchObject({ status: 200 });
    // The workspace has no data, which only a request with access learns.
    const rest = await fetch(`${server.baseUrl}/brands`, { headers: { authorization: `Bearer ${token}` } });
    expect(await rest.json()).toMatchObject({ error: { code: 'no_data' } });
    expect(issuer.requests).toEqual(['/.well-known/oauth-authorization-server', '/keys']);
  });

  it('are counted by subject, and are logged by a hash of the subject', async () => {
    const issuer = await startIssuer();
    const server = await openTokenServer({ issuer: issuer.issuer }, { rateLimit: 2 });
    const [ana, ben] = [await issuer.token({ sub: 'ana@example.com' }), await issuer.token({ sub: 'ben' })];
    const renewed = await issuer.token({ sub: 'ana@example.com', jti: 'a2' });
    const statuses = [];
    for (const token of [ana, renewed, ana, ben]) statuses.push((await server.ask(token)).status);
    expect(statuses).toEqual([200, 200, 429, 200]);
    const keys = (await server.log()).flatMap(({ key }) => (typeof key === 'string' ? [key] : []));
    expect(new Set(keys).size).toBe(2);
    expect(keys.every((key) => /^oauth-[0-9a-f]{16}$/.test(key))).toBe(true);
  });

  it('are asked for with the address of the metadata and the scope', async () => {
    const issuer = await startIssuer();
    const server = await openTokenServer({ issuer: issuer.issuer });
    expect(await server.ask(null)).toMatchObject({ status: 401, challenge: `Bearer ${CHALLENGE}` });
    expect(await server.ask('gsk_unknown')).toMatchObject({ status: 401, challenge: `Bearer ${CHALLENGE}` });
    const unknown = await fetch(`${server.baseUrl}/nothing`);
    expect([unknown.status, unknown.headers.get('www-authenticate')]).toEqual([401, `Bearer ${CHALLENGE}`]);
    expect(issuer.requests).toEqual([]);
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
    ['with an end beyond all dates', { exp: 1e300 }, {}, 'has an invalid time'],
    ['that is not valid yet', { nbf: Math.floor(Date.now() / 1_000) + 3_600 }, {}, 'is not valid yet (nbf)'],
    ['with the type of an ID token', {}, { typ: 'JWT' }, 'does not have the type at+jwt (RFC 9068)'],
    ['without a type', {}, { typ: undefined }, 'does not have the type at+jwt (RFC 9068)'],
    ['with an unknown critical header', {}, { crit: ['trick'], trick: 1 }, 'is not a valid signed JWT'],
  ])('%s are rejected', async (_title, claims, header, problem) => {
    const issuer = await startIssuer();
    const server = await openTokenServer({ issuer: issuer.issuer });
    const signed = 'trick' in header ? await signWithCrit(await issuer.token(), issuer.key.sign, header) : null;
    const answer = await server.ask(signed ?? (await issuer.token(claims, header)));
    expect(answer).toMatchObject({ status: 401, code: 'unauthorized', message: `The access token ${problem}.` });
    expect(answer.challenge).toBe(
      `Bearer error="invalid_token", error_description="The access token ${problem}.", ${CHALLENGE}`,
    );
  });

  it('expire by the clock of this machine, after the skew', async () => {
    const issuer = await startIssuer();
    const now = Date.now();
    const server = await openTokenServer({ issuer: issuer.issuer, clockSkewSeconds: 5 }, { clock: leapingClock(now) });
    const seconds = Math.floor(now / 1_000);
    expect(await server.ask(await issuer.token({ exp: seconds - 4 }))).toMatchObject({ status: 200 });
    // More than the number of wrong tokens after which others are rejected: an expired token is not a guess.
    for (let count = 0; count < 40; count += 1) {
      const answer = await server.ask(await issuer.token({ exp: seconds - 6 }));
      expect(answer).toMatchObject({ status: 401, message: 'The access token has expired.' });
    }
    expect(await server.ask(await issuer.token({ nbf: seconds + 4 }))).toMatchObject({ status: 200 });
  });

  it('without a signature are rejected', async () => {
    const issuer = await startIssuer();
    const server = await openTokenServer({ issuer: issuer.issuer });
    const claims = JSON.parse(Buffer.from((await issuer.token()).split('.')[1] ?? '', 'base64url').toString());
    const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const forged = [
      new UnsecuredJWT(claims).encode(),
      ...['none', 'None', 'NONE', 'nOnE'].map(
        (alg) => `${part({ alg, typ: 'at+jwt', kid: 'first' })}.${part(claims)}.`,
      ),
      `${part({ typ: 'at+jwt', kid: 'first' })}.${part(claims)}.`,
      `${part({ alg: 'ES256', typ: 'at+jwt', kid: 'first' })}.${part(claims)}.`,
    ];
    for (const token of forged) expect(await server.ask(token)).toMatchObject({ status: 401, code: 'unauthorized' });
  });

  it('signed with HS256 and the public key, or with a shared secret in the key set, are rejected', async () => {
    const issuer = await startIssuer();
    const rsa = await generateKeyPair('RS256', { extractable: true });
    issuer.keys.push({ ...(await exportJWK(rsa.publicKey)), kid: 'rsa', use: 'sig' });
    issuer.keys.push({
      kty: 'oct',
      k: Buffer.from('a secret of 32 bytes, or of more').toString('base64url'),
      kid: 'oct',
    });
    const server = await openTokenServer({ issuer: issuer.issuer });
    const secrets: [string, Uint8Array][] = [
      ['rsa', Buffer.from(await exportSPKI(rsa.publicKey))],
      ['rsa', Buffer.from(JSON.stringify(issuer.keys[1]))],
      ['oct', Buffer.from('a secret of 32 bytes, or of more')],
    ];
    for (const [kid, secret] of secrets) {
      const claims = JSON.parse(Buffer.from((await issuer.token()).split('.')[1] ?? '', 'base64url').toString());
      const token = await new SignJWT(claims).setProtectedHeader({ alg: 'HS256', typ: 'at+jwt', kid }).sign(secret);
      const message = 'The access token is signed with an algorithm that is not allowed.';
      expect(await server.ask(token)).toMatchObject({ status: 401, message });
    }
    expect(issuer.requests).toEqual([]);
    expect(
      await server.ask(await issuer.token({}, { alg: 'RS256', kid: 'rsa' }, { sign: rsa.privateKey, jwk: {} })),
    ).toMatchObject({ status: 200 });
  });

  it('signed with any asymmetric algorithm are accepted', async () => {
    const issuer = await startIssuer();
    const keys = await Promise.all(ALGORITHMS.map((alg) => makeKey(`key of ${alg}`, alg)));
    issuer.keys.push(...keys.map(({ jwk }) => jwk));
    const server = await openTokenServer({ issuer: issuer.issuer });
    const asked = keys.map(async (key) => (await server.ask(await issuer.token({}, {}, key))).status);
    expect(await Promise.all(asked)).toEqual(ALGORITHMS.map(() => 200));
  });

  it('signed with an RSA key of 1,024 bits are rejected', async () => {
    const issuer = await startIssuer();
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 1_024 });
    issuer.keys.push({ ...(await exportJWK(publicKey)), kid: 'short' });
    const server = await openTokenServer({ issuer: issuer.issuer });
    const [, claims] = (await issuer.token()).split('.');
    const header = Buffer.from(JSON.stringify({ alg: 'RS256', typ: 'at+jwt', kid: 'short' })).toString('base64url');
    const signature = sign('sha256', Buffer.from(`${header}.${claims}`), privateKey).toString('base64url');
    const message = 'The access token is not a valid signed JWT.';
    expect(await server.ask(`${header}.${claims}.${signature}`)).toMatchObject({ status: 401, message });
  });

  it('signed with an algorithm that the settings leave out are rejected', async () => {
    const issuer = await startIssuer();
    const server = await openTokenServer({ issuer: issuer.issuer, algorithms: ['RS256'] });
    const message = 'The access token is signed with an algorithm that is not allowed.';
    expect(await server.ask(await issuer.token())).toMatchObject({ status: 401, message });
  });

  it('signed with another key are rejected, even if they contain or name that key', async () => {
    const issuer = await startIssuer();
    const server = await openTokenServer({ issuer: issuer.issuer });
    const evil = await makeKey('first');
    for (const header of [{}, { jwk: evil.jwk }, { jku: `${issuer.issuer}/evil`, x5u: `${issuer.issuer}/evil` }]) {
      const answer = await server.ask(await issuer.token({}, header, evil));
      expect(answer).toMatchObject({ status: 401, message: 'The access token has an invalid signature.' });
    }
    expect(issuer.requests).not.toContain('/evil');
    const [head, , signature] = (await issuer.token()).split('.');
    const body = Buffer.from(JSON.stringify({ iss: issuer.issuer, aud: RESOURCE, sub: 'root' })).toString('base64url');
    expect(await server.ask(`${head}.${body}.${signature}`)).toMatchObject({ status: 401 });
  });

  it('signed with a private key that the issuer published by mistake are rejected', async () => {
    const issuer = await startIssuer();
    const leaked = await generateKeyPair('ES256', { extractable: true });
    const jwk = { ...(await exportJWK(leaked.privateKey)), kid: 'leaked', alg: 'ES256' };
    issuer.keys.push(jwk);
    expect(await importJWK(jwk)).toMatchObject({ type: 'private' });
    const server = await openTokenServer({ issuer: issuer.issuer });
    const token = await issuer.token({}, {}, { sign: leaked.privateKey, jwk });
    expect(await server.ask(token)).toMatchObject({ status: 401 });
  });

  it('in the address are refused, and are not logged', async () => {
    const issuer = await startIssuer();
    const server = await openTokenServer({ issuer: issuer.issuer });
    const token = await issuer.token();
    for (const name of ['access_token', 'access%5Ftoken', 'a=1&access_token']) {
      for (const header of [null, token, server.key]) {
        const answer = await server.ask(header, `?${name}=${token}`);
        expect(answer).toMatchObject({ status: 400, code: 'bad_request' });
        expect(answer.challenge).toBe(`Bearer error="invalid_request", ${CHALLENGE}`);
      }
    }
    await server.ask(null, '?access_token=opaque-secret');
    const text = JSON.stringify(await server.log());
    expect(text).toContain('access_token=…');
    for (const secret of [...token.split('.'), 'opaque-secret']) expect(text).not.toContain(secret);
  });

  it('of more than 8,192 characters are rejected unread', async () => {
    const issuer = await startIssuer();
    const server = await openTokenServer({ issuer: issuer.issuer });
    const huge = await issuer.token({ padding: 'x'.repeat(9_000) });
    const message = 'The access token is longer than 8192 characters.';
    expect(await server.ask(huge)).toMatchObject({ status: 401, message });
    expect(issuer.requests).toEqual([]);
    expect(await server.ask(`${'a.'.repeat(4_000)}a`)).toMatchObject({ status: 401 });
  });

  it('that are wrong are limited by address; valid ones are still accepted', async () => {
    const issuer = await startIssuer();
    const server = await openTokenServer({ issuer: issuer.issuer }, { limits: { wrongKeysMax: 3 } });
    const wrong = await issuer.token({}, {}, await makeKey('first'));
    const statuses = [];
    for (let count = 0; count < 5; count += 1) statuses.push((await server.ask(wrong)).status);
    expect(statuses).toEqual([401, 401, 401, 429, 429]);
    expect(await server.ask(await issuer.token())).toMatchObject({ status: 200 });
  });

  it('are wrong keys if no issuer is configured', async () => {
    const issuer = await startIssuer();
    const server = await openServer('/nowhere/analytics.duckdb');
    const answer = await server.get('/brands', { headers: { authorization: `Bearer ${await issuer.token()}` } });
    expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
    expect((await fetch(`http://127.0.0.1:${server.port}/.well-known/oauth-protected-resource`)).status).toBe(404);
    expect(issuer.requests).toEqual([]);
  });
});

// The library refuses to sign a header that it does not know.
async function signWithCrit(token: string, key: CryptoKey, header: object): Promise<string> {
  const all = { alg: 'ES256', kid: 'first', typ: 'at+jwt', ...header };
  const signed = `${Buffer.from(JSON.stringify(all)).toString('base64url')}.${token.split('.')[1]}`;
  const algorithm = { name: 'ECDSA', hash: 'SHA-256' };
  const signature = await crypto.subtle.sign(algorithm, key, Buffer.from(signed));
  return `${signed}.${Buffer.from(signature).toString('base64url')}`;
}
