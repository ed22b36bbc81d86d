import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFile, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { rangeOf } from '../../../src/serve/http/snapshots.ts';
import { type Layout, layoutOf } from '../../../src/snapshot/layout.ts';
import { exportSnapshot, type Snapshot } from '../../../src/snapshot/snapshot-export.ts';
import { makeFolder } from '../../cli/helpers.ts';
import { type OddWorkspace, openOddWorkspace } from '../../snapshot/odd-workspace.ts';
import { openServer, readRaw, requestText, sendRaw, type TestServer } from './support.ts';

let workspace: OddWorkspace;
let folder: string;
let layout: Layout;
let first: Snapshot;
let second: Snapshot;

beforeAll(async () => {
  workspace = await openOddWorkspace();
  folder = await makeFolder();
  layout = layoutOf(folder);
  first = await take();
  await workspace.run("UPDATE alerts SET headline = 'edited'");
  second = await take();
});

afterAll(async () => {
  await workspace.close();
  await rm(folder, { recursive: true, force: true });
});

function take(): Promise<Snapshot> {
  const { database, catalogue, clock } = workspace;
  const { signal } = new AbortController();
  return exportSnapshot(database, catalogue, layout, { compression: 'snappy', keep: null, clock, signal });
}

async function open(): Promise<TestServer & { ask(path: string, init?: RequestInit): Promise<Response> }> {
  const server = await openServer(join(folder, 'none.duckdb'), { snapshots: layout.snapshots });
  const ask = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`http://127.0.0.1:${server.port}${path}`, { ...init, headers: { 'x-api-key': server.key, ...init.headers } });
  return { ...server, ask };
}

function fileOf({ tables }: Snapshot, table: string) {
  const found = tables.find(({ name }) => name === table)?.files[0];
  if (found === undefined) throw new Error(`no file of ${table}`);
  return found;
}

async function bytesOf(response: Response): Promise<Buffer> {
  return Buffer.from(await response.arrayBuffer());
}

describe('snapshots over HTTP', () => {
  test('are listed newest first, and manifests are served as stored', async () => {
    const { ask } = await open();
    const listed = (await (await ask('/snapshots')).json()) as { snapshots: object[] };
    expect(listed).toMatchObject({ latest: second.id, snapshots: [{ id: second.id }, { id: first.id }] });
    const rows = second.tables.reduce((sum, table) => sum + table.rows, 0);
    expect(listed.snapshots[0]).toMatchObject({ rows, manifest: `/snapshots/${second.id}/manifest.json` });
    const latest = await ask('/snapshots/latest/manifest.json');
    expect(latest.headers.get('cache-control')).toBe('private, no-cache');
    expect(latest.headers.get('content-location')).toBe(`/snapshots/${second.id}/manifest.json`);
    expect(await latest.text()).toBe(await readFile(join(second.path, 'manifest.json'), 'utf8'));
    const headers = { 'if-none-match': latest.headers.get('etag') ?? '' };
    expect((await ask('/snapshots/latest/manifest.json', { headers })).status).toBe(304);
    const own = await ask(`/snapshots/${first.id}/manifest.json`, { headers });
    expect(own.status).toBe(200);
    expect(own.headers.get('cache-control')).toContain('immutable');
  });

  test('have compressed manifests, with an ETag for each encoding', async () => {
    const server = await open();
    const plain = await readFile(join(second.path, 'manifest.json'));
    const path = '/snapshots/latest/manifest.json';
    for (const [encoding, unpack] of [
      ['gzip', gunzipSync],
      ['br', brotliDecompressSync],
    ] as const) {
      const headers = { 'X-Api-Key': server.key, 'Accept-Encoding': encoding };
      const socket = connect(server.port, '127.0.0.1');
      const chunks: Buffer[] = [];
      socket.on('data', (chunk) => chunks.push(chunk));
      socket.write(requestText('GET', path, headers));
      await once(socket, 'close');
      const bytes = Buffer.concat(chunks);
      const answer = readRaw(bytes.toString('latin1'));
      expect(answer.headers).toMatchObject({ 'content-encoding': encoding, vary: 'Accept-Encoding' });
      expect(answer.headers['etag']).toBe(`"${second.id}-${encoding}"`);
      expect(unpack(Buffer.from(answer.body, 'latin1')).equals(plain)).toBe(true);
      const again = requestText('GET', path, { ...headers, 'If-None-Match': answer.headers['etag'] ?? '' });
      expect(readRaw(await sendRaw(server.port, again)).status).toBe(304);
    }
    const identity = await server.ask(path, { headers: { 'accept-encoding': 'identity' } });
    expect(identity.headers.get('etag')).toBe(`"${second.id}"`);
    expect(identity.headers.get('content-encoding')).toBeNull();
    expect(identity.headers.get('content-disposition')).toBeNull();
  });

  test('include every file of a manifest, with its SHA-256 as ETag', async () => {
    const { ask } = await open();
    for (const [path, { tables }] of [
      ['latest', second],
      [first.id, first],
    ] as const) {
      for (const file of tables.flatMap(({ files }) => files)) {
        const response = await ask(`/snapshots/${path}/${file.path}`);
        expect(response.status).toBe(200);
        expect(response.headers.get('content-type')).toBe('application/vnd.apache.parquet');
        expect(response.headers.get('content-length')).toBe(String(file.bytes));
        const name = file.path.replaceAll('/', '-');
        expect(response.headers.get('content-disposition')).toBe(`attachment; filename="${name}"`);
        expect(response.headers.get('x-content-type-options')).toBe('nosniff');
        expect(response.headers.get('etag')).toBe(`"${file.sha256}"`);
        expect(response.headers.get('cache-control')).toContain('immutable');
        expect(
          createHash('sha256')
            .update(await bytesOf(response))
            .digest('hex'),
        ).toBe(file.sha256);
      }
    }
  });

  test('support range requests, and return 404 for unknown files', async () => {
    const { ask } = await open();
    const { path, bytes, sha256 } = fileOf(second, 'responses');
    const url = `/snapshots/latest/${path}`;
    const whole = await readFile(join(second.path, path));
    const part = async (range: string, more: Record<string, string> = {}) => {
      const response = await ask(url, { headers: { range, ...more } });
      const body = await bytesOf(response);
      return { status: response.status, range: response.headers.get('content-range'), body };
    };
    expect(await part('bytes=0-3')).toEqual({ status: 206, range: `bytes 0-3/${bytes}`, body: Buffer.from('PAR1') });
    const footer = { status: 206, range: `bytes ${bytes - 8}-${bytes - 1}/${bytes}`, body: whole.subarray(-8) };
    expect(await part('bytes=-8')).toEqual(footer);
    expect(await part(`bytes=${bytes - 8}-`)).toEqual(footer);
    expect(await part(`bytes=${bytes - 8}-${bytes + 100}`)).toEqual(footer);
    expect(await part('bytes=0-3', { 'if-range': `"${sha256}"` })).toMatchObject({ status: 206 });
    for (const condition of ['"another"', `W/"${sha256}"`, 'Sat, 21 Nov 2026 00:00:00 GMT']) {
      expect(await part('bytes=0-3', { 'if-range': condition })).toMatchObject({ status: 200, range: null });
    }
    for (const range of ['bytes=0-1,4-5', 'bytes=3-2', 'lines=1-2', 'bytes=-', 'bytes=a-b']) {
      expect(await part(range)).toEqual({ status: 200, range: null, body: whole });
    }
    for (const range of [`bytes=${bytes}-`, 'bytes=-0']) {
      const refused = await part(range);
      expect(refused).toMatchObject({ status: 416, range: `bytes */${bytes}` });
      expect(JSON.parse(refused.body.toString())).toMatchObject({ error: { code: 'range_not_satisfiable' } });
    }
    const head = await ask(url, { method: 'HEAD', headers: { range: 'bytes=0-3' } });
    expect([head.status, head.headers.get('content-length')]).toEqual([200, String(bytes)]);
    expect((await ask(url, { headers: { 'if-none-match': `"${sha256}"`, range: 'bytes=0-3' } })).status).toBe(304);
  });

  test('require a key, count against its limit, and allow only GET and HEAD', async () => {
    const server = await open();
    const { path } = fileOf(second, 'responses');
    const paths = [
      '/snapshots',
      '/snapshots/latest/manifest.json',
      `/snapshots/latest/${path}`,
      '/snapshots/a/b/c/d/e',
    ];
    for (const path of paths) {
      const bare = await fetch(`http://127.0.0.1:${server.port}${path}`);
      expect([path, bare.status]).toEqual([path, 401]);
      await bare.body?.cancel();
    }
    const posted = await server.ask('/snapshots', { method: 'POST' });
    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    const narrow = await openServer(join(folder, 'none.duckdb'), { snapshots: layout.snapshots, rateLimit: 1 });
    const ask = () => fetch(`http://127.0.0.1:${narrow.port}/snapshots`, { headers: { 'x-api-key': narrow.key } });
    expect([(await ask()).status, (await ask()).status]).toEqual([200, 429]);
  });

  test('do not include files that no manifest lists', async () => {
    const { port, key } = await open();
    const { path } = fileOf(first, 'alerts');
    const id = second.id;
    const targets = [
      '/snapshots/latest/../../none.duckdb',
      `/snapshots/${id}/..%2f..%2fserver-keys.json`,
      '/snapshots/..%2f..%2f/alerts/a.parquet',
      '/snapshots/%2e%2e/manifest.json',
      `/snapshots/${id}/%2e%2e/manifest.json`,
      `/snapshots/${id}/alerts/..%5c..%5cmanifest.json`,
      `/snapshots/${id}/alerts/manifest.json`,
      `/snapshots/${id}/alerts/%00.parquet`,
      '/snapshots/20000101T000000Z/manifest.json',
      // The file was replaced, so only the previous snapshot has it.
      `/snapshots/${id}/${path}`,
      `/snapshots/${id}/${path}/`,
      `/snapshots/${id}`,
    ];
    for (const target of targets) {
      const { status, body } = readRaw(await sendRaw(port, requestText('GET', target, { 'X-Api-Key': key })));
      expect([target, status, JSON.parse(body).error.code]).toEqual([target, 404, 'not_found']);
    }
  });

  test('are an empty list without snapshots, and disappear when they are deleted', async () => {
    const own = await makeFolder();
    onTestFinished(() => rm(own, { recursive: true, force: true }));
    const server = await openServer(join(own, 'none.duckdb'), { snapshots: join(own, 'snapshots') });
    const ask = (path: string) =>
      fetch(`http://127.0.0.1:${server.port}${path}`, { headers: { 'x-api-key': server.key } });
    expect(await (await ask('/snapshots')).json()).toEqual({ latest: null, snapshots: [] });
    expect((await ask('/snapshots/latest/manifest.json')).status).toBe(404);
    const { database, catalogue, clock } = workspace;
    const { signal } = new AbortController();
    const options = { compression: 'snappy', keep: null, clock, signal };
    const snapshot = await exportSnapshot(database, catalogue, layoutOf(own), options);
    const url = `/snapshots/${snapshot.id}/${fileOf(snapshot, 'alerts').path}`;
    expect((await ask(url)).status).toBe(200);
    await rm(snapshot.path, { recursive: true });
    expect((await ask(url)).status).toBe(404);
    expect((await ask(`/snapshots/${snapshot.id}/manifest.json`)).status).toBe(404);
  });
});

test('Range headers are parsed according to RFC 9110', () => {
  expect(rangeOf(undefined, 10)).toBe(null);
  expect(rangeOf('bytes=2-5', 10)).toEqual({ start: 2, end: 5 });
  expect(rangeOf('BYTES=9-', 10)).toEqual({ start: 9, end: 9 });
  expect(rangeOf('bytes=-20', 10)).toEqual({ start: 0, end: 9 });
  expect(rangeOf('bytes=10-', 10)).toBe('unsatisfiable');
  expect(rangeOf('bytes=0-', 0)).toBe('unsatisfiable');
  expect(rangeOf('bytes=99999999999999999999-', 10)).toBe('unsatisfiable');
});
