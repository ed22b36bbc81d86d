import { connect, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createKey, revokeKey } from '../../../src/serve/auth/keys.ts';
import { NOW_MS } from '../../support/clocks.ts';
import { temporaryFolder } from '../../support/folders.ts';
import { stillClock } from '../served-world.ts';
import { createGate, openServer, readRaw, requestText, sendRaw, serverBefore, type TestServer } from './support.ts';

const server = serverBefore();
const APP = 'https://app.example.com';
/** Accepts pages of another origin. */
const open = serverBefore({ corsOrigins: [APP] });

const statusWith = async (headers: Record<string, string>, target = '/v1/brands'): Promise<number> =>
  readRaw(await sendRaw(server().port, requestText('GET', target, headers))).status;

/** Opens a connection whose received text is collected; closed after the test. */
function openSocket(port: number): { socket: Socket; received: Promise<string> } {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  onTestFinished(() => void socket.destroy());
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  const received = new Promise<string>((resolve, reject) => {
    socket.once('error', reject);
    socket.once('end', () => resolve(Buffer.concat(chunks).toString()));
  });
  return { socket, received };
}

describe('keys', () => {
  it('are accepted in either header; a bearer token takes precedence, and other schemes are ignored', async () => {
    const { key, keyId, log } = server();
    await log();
    const basic = `Basic ${Buffer.from('user:password').toString('base64')}`;
    for (const [status, headers] of [
      [200, { Authorization: `Bearer ${key}` }],
      [200, { Authorization: `bEaReR   ${key}  ` }],
      [200, { 'X-Api-Key': key }],
      [200, { Authorization: `Bearer ${key}`, 'X-Api-Key': key }],
      [200, { Authorization: `Bearer ${key}`, 'X-Api-Key': 'gsk_wrong' }],
      [200, { Authorization: basic, 'X-Api-Key': key }],
      [200, { Authorization: 'Digest username="user"', 'X-Api-Key': key }],
      [401, { Authorization: 'Bearer gsk_wrong', 'X-Api-Key': key }],
      [401, { Authorization: 'Bearer', 'X-Api-Key': key }],
      [401, { Authorization: key }],
      [401, { Authorization: `Basic ${key}` }],
      [401, { Authorization: 'Bearer' }],
      [401, { 'X-Api-Key': '' }],
      [401, { 'X-Api-Key': `${key}, ${key}` }],
      [401, {}],
      [401, { 'X-Api-Key': `gsk_${'x'.repeat(8_192)}` }],
      [401, { Cookie: `key=${key}` }],
    ] as [number, Record<string, string>][])
      expect(await statusWith(headers), JSON.stringify(headers).slice(0, 100)).toBe(status);
    expect(await statusWith({}, `/v1/brands?key=${key}`)).toBe(401);
    const logged = JSON.stringify(await log());
    expect(logged).not.toContain(key.slice(4, 20));
    expect(logged).toContain(keyId);
  });

  it('are required before anything is revealed, including for unknown paths and methods', async () => {
    const targets = ['/v1/nothing', '/v1', `/v1/brands/${server().brandId}/nothing`, '/v1/brands/%'];
    const requests = [...targets, `/v1/${'x'.repeat(9_000)}`].map((target) => ['GET', target]);
    const methods = ['POST', 'DELETE', 'OPTIONS', 'PROPFIND'].map((method) => [method, '/v1/brands']);
    for (const [method = '', target = ''] of [...requests, ...methods]) {
      const { status, headers, body } = readRaw(await sendRaw(server().port, requestText(method, target)));
      expect([method, target, status, headers['www-authenticate']]).toEqual([method, target, 401, 'Bearer']);
      expect(JSON.parse(body)).toMatchObject({ error: { code: 'unauthorized' } });
    }
  });

  it('take effect immediately when created, and are rejected from their expiry on', async () => {
    let now = NOW_MS;
    const own = await openServer(server().copy, { clock: { ...stillClock, now: () => now } });
    const { text } = await createKey(own.folder, 'short', now + 300, now);
    const ask = () => own.get('/brands', { headers: { 'x-api-key': text } });
    now += 299;
    expect((await ask()).status).toBe(200);
    now += 1;
    const answer = await ask();
    expect(answer.status).toBe(401);
    expect(await answer.json()).toMatchObject({ error: { message: 'The API key has expired.' } });
  });

  it('stay 401 once revoked, on open connections, for cached responses, after many attempts and after a restart', async () => {
    const folder = await temporaryFolder();
    const { copy } = server();
    const own = await openServer(copy, { folder });
    const { text } = await createKey(folder, 'leaked', null, NOW_MS);
    const { socket, received } = openSocket(own.port);
    const request = (connection: string): string =>
      requestText('GET', '/v1/brands', { Authorization: `Bearer ${text}`, Connection: connection });
    socket.write(request('keep-alive'));
    await new Promise((resolve) => socket.once('data', resolve));
    await revokeKey(folder, 'leaked');
    socket.write(request('close'));
    expect((await received).match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 401']);
    const attempt = ({ get }: TestServer) => get('/brands', { headers: { 'x-api-key': text } });
    // More than the number of wrong keys after which others of the address are rejected.
    for (let times = 0; times < 40; times++) expect((await attempt(own)).status).toBe(401);
    const error = { code: 'unauthorized', message: 'The API key was revoked.' };
    expect(await (await attempt(own)).json()).toMatchObject({ error });
    expect((await own.get('/brands')).status).toBe(200);
    await own.close();
    await revokeKey(folder, 'test');
    const restarted = await openServer(copy, { folder });
    for (let times = 0; times < 40; times++) expect((await attempt(restarted)).status).toBe(401);
    expect((await restarted.get('/brands')).status).toBe(200);
  });

  it('are limited in wrong attempts per address, without affecting valid keys', async () => {
    const own = await openServer(server().copy);
    const guess = () => own.get('/brands', { headers: { 'x-api-key': `gsk_${Math.random()}` } });
    for (let times = 0; times < 30; times++) expect((await guess()).status).toBe(401);
    const refused = await guess();
    expect(refused.status).toBe(429);
    const wait = Number(refused.headers.get('retry-after'));
    expect(wait).toBeGreaterThan(50);
    const message = expect.stringContaining(`${wait} seconds`);
    expect(await refused.json()).toMatchObject({ error: { code: 'rate_limited', message } });
    expect((await own.get('/brands')).status).toBe(200);
    expect((await fetch(`${own.baseUrl}/brands`)).status).toBe(401);
  });
});

describe('host names', () => {
  it('other than loopback are rejected on loopback, unless allowed', async () => {
    const own = await openServer(server().copy, { allowedHosts: ['Sightline.internal'] });
    const loopback = ['127.0.0.1', 'localhost:4000', 'LOCALHOST', '127.9.9.9:80', '[::1]:4000', 'localhost.'];
    for (const Host of [...loopback, 'sightline.INTERNAL:4000'])
      expect((await own.raw('/v1/brands', { Host })).status, Host).toBe(200);
    const evil = ['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example', 'evil.example:127'];
    for (const Host of [...evil, 'evil@localhost', 'localhost:evil', '1270.0.0.1', '0.0.0.0', '192.168.0.1'])
      expect((await own.raw('/v1/brands', { Host })).status, Host).toBe(403);
    const probe = await own.raw('/livez', { Host: 'evil.example' });
    expect([probe.status, JSON.parse(probe.body)]).toMatchObject([403, { error: { code: 'forbidden' } }]);
  });

  it('are all accepted beyond loopback, unless names are given', async () => {
    const wide = await openServer(server().copy, { host: '0.0.0.0' });
    expect(wide.baseUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/v1$/);
    expect((await wide.raw('/v1/brands', { Host: 'sightline.example.com' })).status).toBe(200);
    const named = await openServer(server().copy, { host: '0.0.0.0', allowedHosts: ['sightline.example.com'] });
    for (const [Host, status] of [
      ['sightline.example.com', 200],
      ['SIGHTLINE.example.com:8080', 200],
      ['127.0.0.1', 200],
      ['evil.example', 403],
      ['192.168.0.1', 403],
    ] as const)
      expect((await named.raw('/v1/brands', { Host })).status, Host).toBe(status);
  });
});

describe('web pages', () => {
  const preflight = async (Origin: string) => {
    const asked = { 'Access-Control-Request-Method': 'GET', 'Access-Control-Request-Headers': 'authorization' };
    return readRaw(await sendRaw(open().port, requestText('OPTIONS', '/v1/brands', { Origin, ...asked })));
  };

  it('of an allowed origin can send requests, read the headers, and preflight without a key', async () => {
    expect(await preflight(APP)).toMatchObject({
      status: 204,
      headers: {
        'access-control-allow-origin': APP,
        'access-control-allow-methods': 'GET, HEAD, POST, DELETE',
        'access-control-allow-headers': 'authorization',
      },
    });
    const { headers } = await open().raw('/v1/brands', { Origin: APP });
    expect(headers['access-control-allow-origin']).toBe(APP);
    expect(headers['access-control-expose-headers']).toContain('X-RateLimit-Remaining');
    const refused = readRaw(await sendRaw(open().port, requestText('GET', '/v1/x', { Origin: APP })));
    expect([refused.status, refused.headers['access-control-allow-origin']]).toEqual([401, APP]);
    const options = await open().raw('/v1/brands', {}, 'OPTIONS');
    expect([options.status, options.headers['allow']]).toEqual([405, 'GET, HEAD']);
    expect(readRaw(await sendRaw(open().port, requestText('OPTIONS', '/v1/brands'))).status).toBe(401);
  });

  it('of other origins get no CORS headers', async () => {
    for (const Origin of ['https://evil.example', `${APP}.evil.example`, 'http://app.example.com', 'null']) {
      expect((await preflight(Origin)).headers['access-control-allow-origin'], Origin).toBeUndefined();
      const { status, headers } = await open().raw('/v1/brands', { Origin });
      expect([status, headers['access-control-allow-origin']], Origin).toEqual([200, undefined]);
    }
    const { headers } = await server().raw('/v1/brands', { Origin: APP });
    expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
    const asked = requestText('OPTIONS', '/v1/brands', { Origin: 'null', 'Access-Control-Request-Method': 'GET' });
    expect(readRaw(await sendRaw(server().port, asked)).status).toBe(401);
  });

  it('may call the MCP endpoint if their origin is allowed or is this machine', async () => {
    const statusFor = async (Origin: string): Promise<number> => (await open().raw('/v1/mcp', { Origin })).status;
    for (const origin of ['https://evil.example', 'null', 'http://localhost.evil.example', 'file://', ''])
      expect(await statusFor(origin), origin).toBe(403);
    for (const origin of [APP, 'http://localhost:3000', 'http://[::1]:1', 'https://127.0.0.1'])
      expect(await statusFor(origin), origin).toBe(405);
  });

  it('find Origin in the Vary header, also of requests without one, if origins are allowed', async () => {
    for (const headers of [{}, { Origin: APP }] as Record<string, string>[]) {
      for (const [target, vary] of [
        ['/v1/brands', 'Accept, Accept-Encoding, Origin'],
        [`/v1/brands/${open().brandId}/responses`, 'Accept, Accept-Encoding, Origin'],
        ['/v1/openapi.json', 'Accept-Encoding, Origin'],
        ['/v1/nothing', 'Origin'],
        ['/livez', 'Origin'],
      ] as const)
        expect((await open().raw(target, headers)).headers['vary'], target).toBe(vary);
    }
    expect((await server().raw('/v1/brands')).headers['vary']).toBe('Accept, Accept-Encoding');
  });
});

it('a half-closed connection receives the response, also if it is computed after the client has closed its half', async () => {
  const { around, shut, open: release } = createGate();
  const own = await openServer(server().copy, { around });
  shut();
  const request = requestText('GET', '/v1/brands', { 'X-Api-Key': own.key, Connection: 'keep-alive' });
  const { socket, received } = openSocket(own.port);
  socket.end(request);
  // The server has seen the end of the request when it asks whether the client is still there.
  const [probe] = await new Promise<Buffer[]>((resolve) => socket.once('data', (...data) => resolve(data)));
  expect(String(probe)).toBe('HTTP/1.1 100 Continue\r\n\r\n');
  release();
  const answer = readRaw((await received).split('100 Continue\r\n\r\n').at(-1) ?? '');
  expect(answer.status).toBe(200);
  expect(JSON.parse(answer.body)).toBeTruthy();
  const cached = openSocket(own.port);
  cached.socket.end(request);
  expect(await cached.received).toContain('HTTP/1.1 200 OK');
  const old = openSocket(own.port);
  old.socket.end(requestText('GET', '/v1/engines', { 'X-Api-Key': own.key }).replace('HTTP/1.1', 'HTTP/1.0'));
  expect(await old.received).toMatch(/^HTTP\/1\.1 200 OK/);
});
