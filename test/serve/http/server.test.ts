import { randomBytes } from 'node:crypto';
import { copyFile, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Question, Service } from '../../../src/query/service.ts';
import { temporaryFolder } from '../../support/folders.ts';
import { openServer, publishBefore, readRaw, requestText, sendRaw, type TestServer } from './support.ts';

const published = publishBefore();

async function ask(server: TestServer, target: string, headers: Record<string, string>, method = 'GET') {
  const all = { Authorization: `Bearer ${server.key}`, ...headers };
  return readRaw(await sendRaw(server.port, requestText(method, target, all)));
}

describe('a server without data', () => {
  it('returns no_data, and serves the data as soon as they are published', async () => {
    const folder = await temporaryFolder();
    const copy = join(folder, 'analytics.duckdb');
    const server = await openServer(copy);
    const { origin } = new URL(server.baseUrl);
    expect((await fetch(`${origin}/livez`)).status).toBe(200);
    for (const url of [`${origin}/readyz`, `${server.baseUrl}/brands`]) {
      const answer = await fetch(url, { headers: { 'x-api-key': server.key } });
      expect(answer.status).toBe(503);
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(await answer.json()).toMatchObject({ error: { code: 'no_data' } });
    }
    expect((await fetch(`${server.baseUrl}/openapi.json`)).status).toBe(200);
    await copyFile(published().copy, copy);
    expect((await server.get('/brands')).status).toBe(200);
    const ready = await fetch(`${origin}/readyz`);
    expect(ready.status).toBe(200);
    expect(await ready.json()).toMatchObject({ status: 'ready', syncStatus: 'complete' });
  });
});

describe('a server with a damaged replica', () => {
  it('is not ready, and /readyz and the data name the cause', async () => {
    const copy = join(await temporaryFolder(), 'analytics.duckdb');
    await writeFile(copy, randomBytes(20_000));
    const server = await openServer(copy);
    for (const url of [`${new URL(server.baseUrl).origin}/readyz`, `${server.baseUrl}/brands`]) {
      const answer = await fetch(url, { headers: { 'x-api-key': server.key } });
      expect(answer.status).toBe(503);
      const { error } = (await answer.json()) as { error: { code: string; message: string } };
      expect([error.code, error.message]).toEqual(['no_data', expect.stringContaining('replica is damaged')]);
    }
  });
});

describe('host names and origins', () => {
  it('other than loopback are rejected on loopback, unless allowed', async () => {
    const server = await openServer(published().copy, { allowedHosts: ['Sightline.internal'] });
    const statusFor = async (host: string): Promise<number> => (await ask(server, '/v1/brands', { Host: host })).status;
    for (const host of ['127.0.0.1', 'localhost:4000', 'LOCALHOST', '127.9.9.9:80', '[::1]:4000', 'localhost.']) {
      expect(await statusFor(host), host).toBe(200);
    }
    expect(await statusFor('sightline.INTERNAL:4000')).toBe(200);
    for (const host of [
      'evil.example',
      'localhost.evil.example',
      '127.0.0.1.evil.example',
      'evil.example:127',
      'evil@localhost',
      'localhost:evil',
      '1270.0.0.1',
      '0.0.0.0',
      '192.168.0.1',
    ]) {
      expect(await statusFor(host), host).toBe(403);
    }
    const open = await ask(server, '/livez', { Host: 'evil.example' });
    expect(open.status).toBe(403);
    expect(JSON.parse(open.body)).toMatchObject({ error: { code: 'forbidden' } });
  });

  it('are all accepted beyond loopback, except origins of pages that call the MCP endpoint', async () => {
    const server = await openServer(published().copy, { host: '0.0.0.0', corsOrigins: ['https://app.example.com'] });
    expect(server.baseUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/v1$/);
    expect((await ask(server, '/v1/brands', { Host: 'sightline.example.com' })).status).toBe(200);
    const statusFor = async (origin: string): Promise<number> =>
      (await ask(server, '/v1/mcp', { Host: 'sightline.example.com', Origin: origin })).status;
    for (const origin of ['https://evil.example', 'null', 'http://localhost.evil.example', 'file://', '']) {
      expect(await statusFor(origin), origin).toBe(403);
    }
    for (const origin of ['https://app.example.com', 'http://localhost:3000', 'http://[::1]:1', 'https://127.0.0.1']) {
      expect(await statusFor(origin), origin).toBe(405);
    }
    expect((await ask(server, '/v1/brands', { Origin: 'https://evil.example' })).status).toBe(200);
  });
});

describe('web pages', () => {
  it('of an allowed origin can send requests, read the headers, and preflight without a key', async () => {
    const server = await openServer(published().copy, { corsOrigins: ['https://app.example.com'] });
    const preflight = (origin: string) =>
      sendRaw(
        server.port,
        requestText('OPTIONS', '/v1/brands', {
          Origin: origin,
          'Access-Control-Request-Method': 'GET',
          'Access-Control-Request-Headers': 'authorization',
        }),
      ).then(readRaw);
    const allowed = await preflight('https://app.example.com');
    expect(allowed.status).toBe(204);
    expect(allowed.headers).toMatchObject({
      'access-control-allow-origin': 'https://app.example.com',
      'access-control-allow-methods': 'GET, HEAD, POST, DELETE',
      'access-control-allow-headers': 'authorization',
    });
    const answer = await ask(server, '/v1/brands', { Origin: 'https://app.example.com' });
    expect(answer.headers['access-control-allow-origin']).toBe('https://app.example.com');
    expect(answer.headers['access-control-expose-headers']).toContain('X-RateLimit-Remaining');
    expect(answer.headers['vary']).toBe('Accept, Accept-Encoding, Origin');
    const refused = readRaw(
      await sendRaw(server.port, requestText('GET', '/v1/x', { Origin: 'https://app.example.com' })),
    );
    expect(refused.status).toBe(401);
    expect(refused.headers['access-control-allow-origin']).toBe('https://app.example.com');
    for (const origin of [
      'https://evil.example',
      'https://app.example.com.evil.example',
      'http://app.example.com',
      'null',
    ]) {
      expect((await preflight(origin)).headers['access-control-allow-origin'], origin).toBeUndefined();
      expect(
        (await ask(server, '/v1/brands', { Origin: origin })).headers['access-control-allow-origin'],
      ).toBeUndefined();
    }
    const options = await ask(server, '/v1/brands', {}, 'OPTIONS');
    expect(options.status).toBe(405);
    expect(options.headers['allow']).toBe('GET, HEAD');
    expect(JSON.parse(options.body)).toMatchObject({ error: { code: 'method_not_allowed' } });
    expect(readRaw(await sendRaw(server.port, requestText('OPTIONS', '/v1/brands'))).status).toBe(401);
  });

  it('get no CORS headers if no origin is allowed', async () => {
    const server = await openServer(published().copy);
    const answer = await ask(server, '/v1/brands', { Origin: 'https://app.example.com' });
    expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
    const preflight = requestText('OPTIONS', '/v1/brands', { Origin: 'null', 'Access-Control-Request-Method': 'GET' });
    expect(readRaw(await sendRaw(server.port, preflight)).status).toBe(401);
  });
});

describe('the OpenAPI document', () => {
  it('needs no key, is compressed, and is 304 if the client is up to date', async () => {
    const server = await openServer(published().copy);
    const answer = await fetch(`${server.baseUrl}/openapi.json`);
    const document = (await answer.json()) as { openapi: string; servers: { url: string }[]; paths: object };
    expect(document.openapi).toMatch(/^3\.1\./);
    expect(document.servers[0]?.url).toBe(server.baseUrl);
    const paths = server.service.catalogue.resources.map(({ path }) => path);
    expect(Object.keys(document.paths).slice(0, paths.length)).toEqual(paths);
    expect(answer.headers.get('content-encoding')).toBe('gzip');
    const tag = answer.headers.get('etag') ?? '';
    const again = await fetch(`${server.baseUrl}/openapi.json`, { headers: { 'if-none-match': tag } });
    expect(again.status).toBe(304);
    expect((await ask(server, '/v1/openapi.json', {}, 'POST')).headers['allow']).toBe('GET, HEAD');
  });
});

describe('the log', () => {
  it('has one line per request with its cost and without keys', async () => {
    const server = await openServer(published().copy);
    await server.get('/brands?a=gsk_0123456789&b=gsk%5F0123456789&c=%');
    await server.get('/brands');
    await server.get('/brands');
    await ask(server, `/v1/${'gsk_0123456789'}`, {});
    const lines = (await server.log()).filter(({ method }) => method === 'GET');
    expect(lines.map(({ status }) => status)).toEqual([400, 200, 200, 404]);
    expect(lines.map(({ cache }) => cache)).toEqual([null, 'computed', 'kept', null]);
    for (const line of lines) {
      expect(line).toMatchObject({
        level: 'info',
        key: server.keyId,
        ms: expect.any(Number),
        bytes: expect.any(Number),
      });
      expect(line['time']).toMatch(/^\d{4}-\d\d-\d\dT/);
    }
    expect(JSON.stringify(lines)).not.toContain('0123456789');
    expect(lines[1]?.['path']).toBe('/v1/brands');
  });

  it('can be silent', async () => {
    const server = await openServer(published().copy, { logLevel: 'silent' });
    await server.get('/brands');
    expect(await server.log()).toEqual([]);
  });
});

describe('the metrics', () => {
  it('have their own port, and no labels that clients can choose', async () => {
    const server = await openServer(published().copy, { metricsPort: 0, rateLimit: 3 });
    for (let times = 0; times < 3; times++) await server.get(times === 0 ? '/made-up?x=made-up' : '/brands');
    await server.get('/brands');
    await server.get('/brands', { headers: { 'x-api-key': 'gsk_wrong' } });
    const url = server.metricsUrl ?? '';
    expect(url).toMatch(/\/metrics$/);
    expect(new URL(url).port).not.toBe(String(server.port));
    const answer = await fetch(url);
    expect(answer.headers.get('content-type')).toContain('text/plain');
    const text = await answer.text();
    expect(text).toContain('sightline_http_requests_total{route="/v1/brands",status="200"} 2');
    expect(text).toContain('sightline_http_requests_total{route="other",status="404"} 1');
    expect(text).toContain('sightline_http_request_duration_seconds_count{route="/v1/brands",status="401"} 1');
    expect(text).toContain('sightline_limiter_refusals_total{by="key"} 1');
    expect(text).toContain('sightline_answers_total{source="computed"} 1');
    expect(text).toContain('sightline_answers_total{source="kept"} 1');
    expect(text).toMatch(/sightline_data_age_seconds \d/);
    expect(text).toContain('sightline_queries_running 0');
    expect(text).toContain('process_resident_memory_bytes');
    expect(text).not.toContain('made-up');
    expect((await fetch(`${url}/nothing`)).status).toBe(404);
    expect((await fetch(url, { method: 'POST' })).status).toBe(405);
    const port = Number(new URL(url).port);
    expect(readRaw(await sendRaw(port, requestText('GET', '/metrics', { Host: 'evil.example' }))).status).toBe(403);
    expect((await fetch(`${new URL(server.baseUrl).origin}/metrics`)).status).toBe(404);
  });
});

/** Delays responses until the test releases them. */
function held() {
  let release = (): void => undefined;
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const seen = { asked: 0 };
  const around = (service: Service): Service => ({
    ...service,
    ask: async (...given): Promise<Question> => {
      const question = await service.ask(...given);
      const answer: Question['answer'] = async (signal) => {
        seen.asked += 1;
        await gate;
        return question.answer(signal);
      };
      return { ...question, answer };
    },
  });
  return { seen, around, release: () => release() };
}

describe('a stopping server', () => {
  it('finishes requests in progress, rejects new ones, and closes all connections', async () => {
    const { seen, around, release } = held();
    const server = await openServer(published().copy, { around });
    const waiting = ['/brands', '/engines'].map((path) => server.get(path));
    // One idle keep-alive connection, and one that receives a request while the server stops.
    const idle = connect(server.port, '127.0.0.1');
    onTestFinished(() => void idle.destroy());
    const idleClosed = new Promise((resolve) => idle.once('close', resolve));
    idle.write(requestText('GET', '/livez', { Connection: 'keep-alive' }));
    idle.resume();
    const late = connect(server.port, '127.0.0.1');
    const chunks: Buffer[] = [];
    late.on('data', (chunk) => chunks.push(chunk));
    const lateClosed = new Promise((resolve) => late.once('close', resolve));
    const headers = { Authorization: `Bearer ${server.key}`, Connection: 'keep-alive' };
    late.write(requestText('GET', '/v1/credits', headers));
    while (seen.asked < 3) await delay(5);
    const closed = server.close();
    await idleClosed;
    await expect(fetch(`${server.baseUrl}/brands`)).rejects.toThrow();
    late.write(requestText('GET', '/readyz', headers) + requestText('GET', '/v1/brands', headers));
    await delay(50);
    release();
    for (const answer of await Promise.all(waiting)) {
      expect(answer.status).toBe(200);
      expect((await answer.json()) as object).toBeTruthy();
    }
    await lateClosed;
    const [first = '', ...rest] = Buffer.concat(chunks)
      .toString()
      .split(/(?=HTTP\/1\.1)/);
    expect(readRaw(first).status).toBe(200);
    expect(rest.length).toBeGreaterThan(0);
    for (const answer of rest) {
      expect(readRaw(answer).status).toBe(503);
      expect(readRaw(answer).headers['connection']).toBe('close');
      expect(JSON.parse(readRaw(answer).body)).toMatchObject({ error: { code: 'overloaded' } });
    }
    await closed;
  });

  it('cuts off requests after the drain timeout', async () => {
    const { seen, around } = held();
    const server = await openServer(published().copy, { around, limits: { drainMs: 50 } });
    const waiting = server.get('/brands').catch(() => 'cut off');
    while (seen.asked < 1) await delay(5);
    await server.close();
    expect(await waiting).toBe('cut off');
  });
});
