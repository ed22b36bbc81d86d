import { randomBytes } from 'node:crypto';
import { copyFile, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../../support/folders.ts';
import { worldBefore } from '../served-world.ts';
import { createGate, openServer, readRaw, requestText, sendRaw } from './support.ts';

const world = worldBefore();

it('a server without data returns no_data, and serves the data as soon as they are published', async () => {
  const copy = join(await temporaryFolder(), 'analytics.duckdb');
  const server = await openServer(copy);
  expect((await fetch(`${server.origin}/livez`)).status).toBe(200);
  const errorsOf = (urls: readonly string[]) =>
    Promise.all(
      urls.map(async (url) => {
        const answer = await fetch(url, { headers: { 'x-api-key': server.key } });
        expect(answer.status).toBe(503);
        expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
        return ((await answer.json()) as { error: { code: string; message: string } }).error;
      }),
    );
  const urls = [`${server.origin}/readyz`, `${server.baseUrl}/brands`];
  for (const { code } of await errorsOf(urls)) expect(code).toBe('no_data');
  expect((await fetch(`${server.baseUrl}/openapi.json`)).status).toBe(200);
  await writeFile(copy, randomBytes(20_000));
  for (const { code, message } of await errorsOf(urls))
    expect([code, message]).toEqual(['no_data', expect.stringContaining('replica is damaged')]);
  await copyFile(world().copy, copy);
  expect((await server.get('/brands')).status).toBe(200);
  const ready = await fetch(`${server.origin}/readyz`);
  expect(ready.status).toBe(200);
  expect(await ready.json()).toMatchObject({ status: 'ready', syncStatus: 'complete' });
});

it('the OpenAPI document needs no key, is compressed, and is 304 if the client is up to date', async () => {
  const server = await openServer(world().copy);
  const answer = await fetch(`${server.baseUrl}/openapi.json`);
  expect([answer.status, answer.headers.get('content-encoding')]).toEqual([200, 'gzip']);
  const headers = { 'if-none-match': answer.headers.get('etag') ?? '' };
  expect((await fetch(`${server.baseUrl}/openapi.json`, { headers })).status).toBe(304);
});

describe('the log', () => {
  it('has one line per request with its cost and without keys', async () => {
    const server = await openServer(world().copy);
    await server.get('/brands?a=gsk_0123456789&b=gsk%5F0123456789&c=%');
    await server.get('/brands');
    await server.get('/brands');
    await server.raw('/v1/gsk_0123456789');
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
    const server = await openServer(world().copy, { logLevel: 'silent' });
    await server.get('/brands');
    expect(await server.log()).toEqual([]);
  });
});

it('the metrics have their own port, and no labels that clients can choose', async () => {
  const server = await openServer(world().copy, { metricsPort: 0, rateLimit: 3 });
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

describe('a stopping server', () => {
  it('finishes requests in progress, rejects new ones, and closes all connections', async () => {
    const { around, shut, open: release, asked } = createGate();
    shut();
    const server = await openServer(world().copy, { around });
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
    await asked(3);
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
    const { around, shut, asked } = createGate();
    shut();
    const server = await openServer(world().copy, { around, limits: { drainMs: 50 } });
    const waiting = server.get('/brands').catch(() => 'cut off');
    await asked(1);
    await server.close();
    expect(await waiting).toBe('cut off');
  });
});
