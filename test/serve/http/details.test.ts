import { copyFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Question, Service } from '../../../src/query/service.ts';
import { createKey, revokeKey } from '../../../src/serve/auth/keys.ts';
import { temporaryFolder } from '../../support/folders.ts';
import { openServer, publishBefore, readRaw, requestText, sendRaw, type TestServer } from './support.ts';

const published = publishBefore();

async function ask(server: TestServer, target: string, headers: Record<string, string> = {}) {
  const all = { Authorization: `Bearer ${server.key}`, ...headers };
  return readRaw(await sendRaw(server.port, requestText('GET', target, all)));
}

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

describe('a key in X-Api-Key', () => {
  it('is accepted beside Basic credentials in Authorization, but not beside a wrong bearer token', async () => {
    const server = await openServer(published().copy);
    const status = (authorization: string) =>
      server.get('/brands', { headers: { authorization } }).then((response) => response.status);
    expect(await status(`Basic ${Buffer.from('user:password').toString('base64')}`)).toBe(200);
    expect(await status('Digest username="user"')).toBe(200);
    expect(await status('Bearer gsk_wrong')).toBe(401);
    expect(await status('Bearer')).toBe(401);
    const basic = await fetch(`${server.baseUrl}/brands`, { headers: { authorization: `Basic ${server.key}` } });
    expect(basic.status).toBe(401);
  });
});

describe('a revoked key', () => {
  it('stays 401, on open connections, for cached responses, after any number of attempts and after a restart', async () => {
    const folder = await temporaryFolder();
    const server = await openServer(published().copy, { folder });
    const { text } = await createKey(folder, 'leaked', null, Date.now());
    const { socket, received } = openSocket(server.port);
    const request = (connection: string): string =>
      requestText('GET', '/v1/brands', { Authorization: `Bearer ${text}`, Connection: connection });
    socket.write(request('keep-alive'));
    await new Promise((resolve) => socket.once('data', resolve));
    await revokeKey(folder, 'leaked');
    socket.write(request('close'));
    expect((await received).match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 401']);
    const attempt = (at: TestServer) => at.get('/brands', { headers: { 'x-api-key': text } });
    for (let times = 0; times < 40; times++) expect((await attempt(server)).status).toBe(401);
    expect(await (await attempt(server)).json()).toMatchObject({
      error: { code: 'unauthorized', message: 'The API key was revoked.' },
    });
    await server.close();
    await revokeKey(folder, 'test');
    const restarted = await openServer(published().copy, { folder });
    for (let times = 0; times < 40; times++) expect((await attempt(restarted)).status).toBe(401);
    expect((await restarted.get('/brands')).status).toBe(200);
  });
});

describe('the Vary header', () => {
  it('contains Origin beside the headers that the response depends on, if origins are allowed', async () => {
    const server = await openServer(published().copy, { corsOrigins: ['https://app.example.com'] });
    for (const headers of [{}, { Origin: 'https://app.example.com' }] as Record<string, string>[]) {
      const varyOf = async (target: string) => (await ask(server, target, headers)).headers['vary'];
      expect(await varyOf('/v1/brands')).toBe('Accept, Accept-Encoding, Origin');
      expect(await varyOf(`/v1/brands/${published().brandId}/responses`)).toBe('Accept, Accept-Encoding, Origin');
      expect(await varyOf('/v1/openapi.json')).toBe('Accept-Encoding, Origin');
      expect(await varyOf('/v1/nothing')).toBe('Origin');
      expect(await varyOf('/livez')).toBe('Origin');
    }
    const closed = await openServer(published().copy);
    expect((await ask(closed, '/v1/brands')).headers['vary']).toBe('Accept, Accept-Encoding');
  });
});

describe('a half-closed connection', () => {
  it('receives the response, also if it is computed after the client has closed its half', async () => {
    let release = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const around = (service: Service): Service => ({
      ...service,
      ask: async (...given): Promise<Question> => {
        const question = await service.ask(...given);
        return { ...question, answer: (signal) => gate.then(() => question.answer(signal)) };
      },
    });
    const server = await openServer(published().copy, { around });
    const request = requestText('GET', '/v1/brands', { 'X-Api-Key': server.key, Connection: 'keep-alive' });
    const { socket, received } = openSocket(server.port);
    socket.end(request);
    // The server has seen the end of the request when it asks whether the client is still there.
    const [probe] = await new Promise<Buffer[]>((resolve) => socket.once('data', (...data) => resolve(data)));
    expect(String(probe)).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    release();
    const answer = (await received).split('100 Continue\r\n\r\n').at(-1) ?? '';
    expect(readRaw(answer).status).toBe(200);
    expect(JSON.parse(readRaw(answer).body)).toBeTruthy();
    const cached = openSocket(server.port);
    cached.socket.end(request);
    expect(await cached.received).toContain('HTTP/1.1 200 OK');
    const old = openSocket(server.port);
    old.socket.end(requestText('GET', '/v1/engines', { 'X-Api-Key': server.key }).replace('HTTP/1.1', 'HTTP/1.0'));
    expect(await old.received).toMatch(/^HTTP\/1\.1 200 OK/);
  });
});

describe('JSON in a request', () => {
  it('that is nested deeper than 64 levels is an invalid parameter', async () => {
    const server = await openServer(published().copy);
    const post = async (body: string) => {
      const headers = { 'x-api-key': server.key, 'content-type': 'application/json', accept: 'application/json' };
      const response = await fetch(server.mcpUrl, { method: 'POST', headers, body });
      return { status: response.status, text: await response.text() };
    };
    const nested = (levels: number): string => `${'[{"a":'.repeat(levels / 2)}1${'}]'.repeat(levels / 2)}`;
    expect((await post(nested(64))).text).not.toContain('invalid_parameter');
    expect((await post(JSON.stringify('[{'.repeat(100)))).text).not.toContain('invalid_parameter');
    expect((await post(JSON.stringify({ text: '"\\"[['.repeat(100) }))).text).not.toContain('invalid_parameter');
    for (const levels of [66, 100_000]) {
      const { status, text } = await post(nested(levels));
      expect(status).toBe(400);
      expect(JSON.parse(text)).toMatchObject({ error: { code: 'invalid_parameter' } });
      expect(text).toContain('64');
    }
  });
});

describe('the Host header', () => {
  it('is rejected if it is given twice', async () => {
    const server = await openServer(published().copy);
    for (const second of ['Host: 127.0.0.1', 'hOST: evil.example']) {
      const text = requestText('GET', '/v1/brands', { 'X-Api-Key': server.key }).replace(
        '\r\n\r\n',
        `\r\n${second}\r\n\r\n`,
      );
      const { status, body } = readRaw(await sendRaw(server.port, text));
      expect(status).toBe(400);
      expect(JSON.parse(body)).toMatchObject({ error: { code: 'bad_request' } });
    }
  });

  it('must be an allowed name beyond loopback, if names are given', async () => {
    const server = await openServer(published().copy, { host: '0.0.0.0', allowedHosts: ['sightline.example.com'] });
    const statusFor = async (host: string) => (await ask(server, '/v1/brands', { Host: host })).status;
    expect(await statusFor('sightline.example.com')).toBe(200);
    expect(await statusFor('SIGHTLINE.example.com:8080')).toBe(200);
    expect(await statusFor('127.0.0.1')).toBe(200);
    expect(await statusFor('evil.example')).toBe(403);
    expect(await statusFor('192.168.0.1')).toBe(403);
  });
});

describe('response headers', () => {
  it('forbid guessing the media type, everywhere', async () => {
    const server = await openServer(published().copy, { metricsPort: 0 });
    const { origin } = new URL(server.baseUrl);
    const key = { 'x-api-key': server.key };
    const list = `${server.baseUrl}/brands/${published().brandId}/responses`;
    const tag = (await server.get('/brands')).headers.get('etag') ?? '';
    const answers = [
      await fetch(list, { headers: key }),
      await fetch(list, { headers: { ...key, accept: 'text/csv' } }),
      await fetch(`${server.baseUrl}/brands`, { headers: { ...key, 'if-none-match': tag } }),
      await fetch(`${server.baseUrl}/brands`),
      await fetch(`${server.baseUrl}/nothing`, { headers: key }),
      await fetch(`${list}?limit=0`, { headers: key }),
      await fetch(`${server.baseUrl}/openapi.json`),
      await fetch(`${origin}/livez`),
      await fetch(`${origin}/readyz`),
      await fetch(`${origin}/snapshots`, { headers: key }),
      await fetch(`${origin}/nothing`),
      await fetch(server.mcpUrl, { method: 'POST', headers: key, body: '{' }),
      await fetch(server.mcpUrl, { method: 'POST', headers: key, body: '{}' }),
      await fetch(server.metricsUrl ?? ''),
    ];
    const options = answers.map(({ url, headers }) => [url, headers.get('x-content-type-options')]);
    expect(options).toEqual(answers.map(({ url }) => [url, 'nosniff']));
    const invalid = readRaw(await sendRaw(server.port, 'no HTTP\r\n\r\n'));
    expect(invalid.headers['x-content-type-options']).toBe('nosniff');
  });

  it('name a file for lists in file formats only', async () => {
    const server = await openServer(published().copy);
    const nameOf = async (path: string, accept: string) =>
      (await server.get(`/brands/${published().brandId}${path}`, { headers: { accept } })).headers.get(
        'content-disposition',
      );
    expect(await nameOf('/prompts', 'text/csv')).toBe('attachment; filename="prompts.csv"');
    expect(await nameOf('/prompts', 'application/x-ndjson')).toBe('attachment; filename="prompts.ndjson"');
    expect(await nameOf('/responses', 'application/vnd.apache.parquet')).toBe(
      'attachment; filename="responses.parquet"',
    );
    expect(await nameOf('/responses?limit=3', 'application/vnd.apache.arrow.stream')).toBe(
      'attachment; filename="responses.arrows"',
    );
    expect(await nameOf('/responses', 'application/json')).toBeNull();
    expect(await nameOf('', 'text/csv')).toBeNull();
  });

  it('report the rate limit in both forms', async () => {
    const server = await openServer(published().copy, { rateLimit: 2 });
    const answers = [await server.get('/brands'), await server.get('/brands'), await server.get('/brands')];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
    for (const { headers } of answers) {
      expect(headers.get('ratelimit-policy')).toBe('"key";q=2;w=60');
      const [, remaining, seconds] = /^"key";r=(\d+);t=(\d+)$/.exec(headers.get('ratelimit') ?? '') ?? [];
      expect(remaining).toBe(headers.get('x-ratelimit-remaining'));
      expect(Number(seconds)).toBeGreaterThan(0);
      expect(Number(seconds)).toBeLessThanOrEqual(60);
    }
    expect(answers[2]?.headers.get('ratelimit')).toContain(`;t=${answers[2]?.headers.get('retry-after')}`);
    const unlimited = await openServer(published().copy, { rateLimit: 'off' });
    expect((await unlimited.get('/brands')).headers.get('ratelimit')).toBeNull();
  });

  it('link to the next page of a list, with all other parameters', async () => {
    const server = await openServer(published().copy);
    const ids: string[] = [];
    let url: string | null =
      `${server.baseUrl}/brands/${published().brandId}/responses?limit=7&from=2026-01-01&to=2026-12-31`;
    while (url !== null) {
      const response: Response = await fetch(url, { headers: { 'x-api-key': server.key } });
      const { data, nextCursor } = (await response.json()) as { data: { id: string }[]; nextCursor: string | null };
      ids.push(...data.map(({ id }) => id));
      const link = response.headers.get('link');
      expect(link === null).toBe(nextCursor === null);
      const target = /^<([^>]+)>; rel="next"$/.exec(link ?? '')?.[1];
      url = target === undefined ? null : new URL(target, url).href;
      if (url !== null) expect(new URL(url).searchParams.get('limit')).toBe('7');
    }
    expect(ids.length).toBeGreaterThan(14);
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe('an ETag', () => {
  it('survives a new replica with the same data', async () => {
    const copy = join(await temporaryFolder(), 'analytics.duckdb');
    await copyFile(published().copy, copy);
    const server = await openServer(copy);
    const path = `/brands/${published().brandId}/metrics`;
    const before = (await server.get(path)).headers.get('etag') ?? '';
    const replica = await server.service.newest();
    await copyFile(published().copy, `${copy}.new`);
    const { rename } = await import('node:fs/promises');
    await rename(`${copy}.new`, copy);
    expect((await server.get(path, { headers: { 'if-none-match': before } })).status).toBe(304);
    expect(await server.service.newest()).not.toBe(replica);
  });
});
