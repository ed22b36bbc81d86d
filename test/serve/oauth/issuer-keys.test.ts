import { describe, expect, it, onTestFinished } from 'vitest';
import { fetchKeySet } from '../../../src/serve/auth/oauth/issuer-documents.ts';
import { serve } from '../../cli/helpers.ts';
import { makeKey, openTokenServer, startIssuer } from './support.ts';

const findProxy = (): null => null;
const METADATA = '/.well-known/oauth-authorization-server';

/** A server whose issuer counts the fetches of its keys. */
async function serveTokens() {
  const server = await openTokenServer();
  const fetched = (): number => server.issuer.requests.filter((path) => path === '/keys').length;
  const statusOf = async (token: string): Promise<number> => (await server.ask(token)).status;
  return { ...server, fetched, statusOf };
}

describe('the keys of an issuer', () => {
  it('are fetched once in 10 seconds, however many tokens name unknown keys', async () => {
    const { issuer, ...server } = await serveTokens();
    const { sign } = issuer.key;
    const flood = async (): Promise<number[]> => {
      const tokens = Array.from({ length: 20 }, (_, at) =>
        issuer.token({}, { kid: `unknown ${at}` }, { sign, jwk: {} }),
      );
      const statuses = await Promise.all((await Promise.all(tokens)).map(server.statusOf));
      return [...new Set(statuses)].sort();
    };
    expect(await flood()).toEqual([401]);
    expect(server.fetched()).toBe(1);
    server.clock.advance(9_999);
    expect(await flood()).toEqual([401, 429]);
    expect(server.fetched()).toBe(1);
    server.clock.advance(1);
    await flood();
    expect(server.fetched()).toBe(2);
    expect(await server.statusOf(await issuer.token())).toBe(200);
  });

  it('are fetched by concurrent tokens together', async () => {
    const { issuer, ...server } = await serveTokens();
    const token = await issuer.token();
    expect(await Promise.all(Array.from({ length: 20 }, () => server.statusOf(token)))).toEqual(Array(20).fill(200));
    expect(server.fetched()).toBe(1);
  });

  it('may be rotated: a new key is used at once, and a removed one at most for 10 minutes', async () => {
    const { issuer, ...server } = await serveTokens();
    const old = await issuer.token();
    expect(await server.statusOf(old)).toBe(200);
    const second = await makeKey('second', 'RS256');
    issuer.keys.push(second.jwk);
    server.clock.advance(10_000);
    expect(await server.statusOf(await issuer.token({}, {}, second))).toBe(200);
    issuer.keys.shift();
    server.clock.advance(600_000);
    expect(await server.statusOf(old)).toBe(200);
    server.clock.advance(1);
    expect(await server.ask(old)).toMatchObject({
      status: 401,
      message: 'The access token names a key that its issuer does not have.',
    });
    expect(await server.statusOf(await issuer.token({}, {}, second))).toBe(200);
    expect(server.fetched()).toBe(3);
  });

  it('are required: without them tokens get 503, and API keys still work', async () => {
    const { issuer, ...server } = await serveTokens();
    issuer.respond = () => ({ status: 500, body: 'broken' });
    const token = await issuer.token();
    for (let count = 0; count < 20; count += 1) {
      const answer = await server.ask(token);
      expect(answer).toMatchObject({ status: 503, code: 'issuer_unreachable', challenge: null });
      expect(answer.headers.get('retry-after')).toBe('10');
    }
    expect(issuer.requests).toEqual([METADATA]);
    expect(await server.statusOf(server.key)).toBe(200);
    issuer.respond = null;
    server.clock.advance(10_000);
    expect(await server.statusOf(token)).toBe(200);
    const { host } = new URL(issuer.issuer);
    expect(server.states.map((state) => (state as Error | null)?.message ?? null)).toEqual([
      `${host} responded with status 500 to the request for its metadata`,
      null,
    ]);
  });

  it('are used for an hour while the issuer cannot be reached; then tokens get 503', async () => {
    const { issuer, ...server } = await serveTokens();
    const token = await issuer.token();
    expect(await server.statusOf(token)).toBe(200);
    issuer.respond = () => ({ status: 503, body: '' });
    server.clock.advance(600_001);
    expect(await server.statusOf(token)).toBe(200);
    // The issuer may have a new key with this name.
    expect(await server.statusOf(await issuer.token({}, {}, await makeKey('new')))).toBe(503);
    server.clock.advance(3_600_000 - 600_001);
    expect(await server.statusOf(token)).toBe(200);
    server.clock.advance(1);
    expect(await server.ask(token)).toMatchObject({ status: 503, code: 'issuer_unreachable' });
    expect(server.states).toHaveLength(1);
  });

  it.each([
    ['of an error', () => ({ status: 404, body: '{"keys":[]}' }), /responded with status 404/],
    ['of a redirect', () => ({ status: 302, body: '{"keys":[]}' }), /responded with status 302/],
    ['that is not JSON', () => ({ status: 200, body: '<html>' }), /sent a document that is not JSON/],
    ['without keys', () => ({ status: 200, body: '{}' }), /has no keys/],
    ['with keys that are no objects', () => ({ status: 200, body: '{"keys":[null]}' }), /has no keys/],
    ['of 101 keys', () => ({ status: 200, body: JSON.stringify({ keys: Array(101).fill({}) }) }), /has 101 keys/],
    ['of more than 256 kB', () => ({ status: 200, body: `{"keys":[]}${' '.repeat(300_000)}` }), /more than 256 kB/],
  ])('are not read from a document %s', async (_title, respond, problem) => {
    const issuer = await startIssuer();
    issuer.respond = (path) => (path === '/keys' ? respond() : null);
    await expect(fetchKeySet({ issuer: issuer.issuer, jwksUri: null, findProxy })).rejects.toThrow(problem);
  });

  it.each([
    [
      'another issuer',
      { issuer: 'https://other.example.com', jwks_uri: 'https://other.example.com/keys' },
      /another issuer/,
    ],
    ['the issuer with a slash', { issuer: 'SELF/', jwks_uri: 'SELF/keys' }, /another issuer/],
    ['no key set', { issuer: 'SELF' }, /have no jwks_uri/],
    ['a key set over http', { issuer: 'SELF', jwks_uri: 'http://keys.example.com/keys' }, /is not an https URL/],
    ['a key set in a file', { issuer: 'SELF', jwks_uri: 'file:///etc/passwd' }, /is not an https URL/],
  ])('are not read by metadata of %s', async (_title, metadata, problem) => {
    const issuer = await startIssuer();
    const body = JSON.stringify(metadata).replaceAll('SELF', issuer.issuer);
    issuer.respond = (path) => (path === METADATA ? { status: 200, body } : null);
    await expect(fetchKeySet({ issuer: issuer.issuer, jwksUri: null, findProxy })).rejects.toThrow(problem);
    expect(issuer.requests).toEqual([METADATA]);
  });

  it('are found by the metadata of RFC 8414 and of OpenID Connect, or by the setting', async () => {
    const issuer = await startIssuer('/realms/acme');
    expect((await fetchKeySet({ issuer: issuer.issuer, jwksUri: null, findProxy })).keys).toEqual(issuer.keys);
    const document = JSON.stringify({ issuer: issuer.issuer, jwks_uri: `${new URL(issuer.issuer).origin}/keys` });
    const places = [
      '/.well-known/oauth-authorization-server/realms/acme',
      '/.well-known/openid-configuration/realms/acme',
      '/realms/acme/.well-known/openid-configuration',
    ];
    for (const [at, place] of places.entries()) {
      issuer.requests.length = 0;
      issuer.respond = (path) =>
        path === '/keys' ? null : path === place ? { status: 200, body: document } : { status: 404, body: '' };
      expect((await fetchKeySet({ issuer: issuer.issuer, jwksUri: null, findProxy })).keys).toEqual(issuer.keys);
      expect(issuer.requests).toEqual([...places.slice(0, at + 1), '/keys']);
    }
    issuer.respond = (path) => (path === '/keys' ? null : { status: 404, body: '' });
    await expect(fetchKeySet({ issuer: issuer.issuer, jwksUri: null, findProxy })).rejects.toThrow(
      /has no metadata for/,
    );
    issuer.requests.length = 0;
    const jwksUri = new URL(`${new URL(issuer.issuer).origin}/keys`);
    expect((await fetchKeySet({ issuer: issuer.issuer, jwksUri, findProxy })).keys).toEqual(issuer.keys);
    expect(issuer.requests).toEqual(['/keys']);
  });

  it('are not waited for without an end', async () => {
    const silent = await serve((_request, response) => void response.writeHead(200).write('{"keys":'));
    onTestFinished(silent.close);
    const jwksUri = new URL(`${silent.origin}/keys`);
    const fetching = fetchKeySet({ issuer: 'http://127.0.0.1', jwksUri, findProxy }, 50);
    await expect(fetching).rejects.toThrow(`${jwksUri.host} did not respond in time`);
  });
});
