import { createHash } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { layoutOf } from '../../../src/publish/snapshot/layout.ts';
import { listSnapshots, type Manifest } from '../../../src/publish/snapshot/manifest.ts';
import { exportSnapshot } from '../../../src/publish/snapshot/snapshot-export.ts';
import { rangeOf } from '../../../src/serve/http/snapshots.ts';
import { publishAnalytics } from '../../../src/warehouse/replica.ts';
import { openWarehouse } from '../../../src/warehouse/warehouse.ts';
import { builtInCatalogue as catalogue } from '../../../src/workspace/catalogues.ts';
import { openCopy, sharedBefore, stillClock } from '../served-world.ts';
import { NO_REPLICA, openServer, startTestServer } from './support.ts';

/** A server of the snapshot of a world, and of one after a change of its alerts. */
const served = sharedBefore(async (closeLater) => {
  const { config } = await openCopy('tiny', closeLater);
  const layout = layoutOf(config.folder);
  const warehouse = await openWarehouse(layout.warehouse, catalogue, {});
  try {
    const { database } = warehouse;
    await database.exclusive(({ run }) => run("UPDATE alerts SET headline = 'edited'"));
    await publishAnalytics(database, layout.analytics);
    const { signal } = new AbortController();
    await exportSnapshot(database, catalogue, layout, { compression: 'snappy', keep: null, clock: stillClock, signal });
  } finally {
    await warehouse.close();
  }
  const [first, second] = await listSnapshots(layout.snapshots);
  if (first === undefined || second === undefined) throw new Error('two snapshots are needed');
  const server = await startTestServer(NO_REPLICA, { snapshots: layout.snapshots }, closeLater);
  const ask = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`${server.origin}${path}`, { ...init, headers: { 'x-api-key': server.key, ...init.headers } });
  return { ...server, ask, first, second, folder: layout.snapshots };
});

function fileOf({ tables }: Manifest, table: string) {
  const found = tables.find(({ name }) => name === table)?.files[0];
  if (found === undefined) throw new Error(`no file of ${table}`);
  return found;
}

async function bytesOf(response: Response): Promise<Buffer> {
  return Buffer.from(await response.arrayBuffer());
}

describe('snapshots over HTTP', () => {
  test('are listed newest first, and manifests are served as stored', async () => {
    const { ask, folder, first, second } = served();
    const listed = (await (await ask('/snapshots')).json()) as { snapshots: object[] };
    expect(listed).toMatchObject({ latest: second.id, snapshots: [{ id: second.id }, { id: first.id }] });
    const rows = second.tables.reduce((sum, table) => sum + table.rows, 0);
    expect(listed.snapshots[0]).toMatchObject({ rows, manifest: `/snapshots/${second.id}/manifest.json` });
    const latest = await ask('/snapshots/latest/manifest.json');
    expect(latest.headers.get('cache-control')).toBe('private, no-cache');
    expect(latest.headers.get('content-location')).toBe(`/snapshots/${second.id}/manifest.json`);
    expect(await latest.text()).toBe(await readFile(join(folder, second.id, 'manifest.json'), 'utf8'));
    const headers = { 'if-none-match': latest.headers.get('etag') ?? '' };
    expect((await ask('/snapshots/latest/manifest.json', { headers })).status).toBe(304);
    const own = await ask(`/snapshots/${first.id}/manifest.json`, { headers });
    expect(own.status).toBe(200);
    expect(own.headers.get('cache-control')).toContain('immutable');
  });

  test('have compressed manifests, with an ETag for each encoding', async () => {
    const { ask, folder, second } = served();
    const plain = await readFile(join(folder, second.id, 'manifest.json'), 'utf8');
    const path = '/snapshots/latest/manifest.json';
    for (const [encoding, used, tag] of [
      ['gzip', 'gzip', `"${second.id}-gzip"`],
      ['br', 'br', `"${second.id}-br"`],
      ['identity', undefined, `"${second.id}"`],
    ]) {
      const headers = { 'accept-encoding': String(encoding) };
      const answer = await ask(path, { headers });
      const { etag, vary, ...sent } = Object.fromEntries(answer.headers);
      expect([etag, vary, sent['content-encoding'], sent['content-disposition']]).toEqual([
        tag,
        'Accept-Encoding',
        used,
        undefined,
      ]);
      expect(await answer.text()).toBe(plain);
      expect((await ask(path, { headers: { ...headers, 'if-none-match': etag ?? '' } })).status).toBe(304);
    }
  });

  test('include every file of a manifest, with its SHA-256 as ETag', async () => {
    const { ask, first, second } = served();
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
    const { ask, folder, second } = served();
    const { path, bytes, sha256 } = fileOf(second, 'responses');
    const url = `/snapshots/latest/${path}`;
    const whole = await readFile(join(folder, second.id, path));
    const part = async (range: string, more: Record<string, string> = {}) => {
      const response = await ask(url, { headers: { range, ...more } });
      const body = await bytesOf(response);
      return { status: response.status, range: response.headers.get('content-range'), body };
    };
    expect(await part('bytes=0-3')).toEqual({ status: 206, range: `bytes 0-3/${bytes}`, body: Buffer.from('PAR1') });
    expect(await part('bytes=0-3', { 'if-range': `"${sha256}"` })).toMatchObject({ status: 206 });
    for (const condition of ['"another"', `W/"${sha256}"`, 'Sat, 21 Nov 2026 00:00:00 GMT']) {
      expect(await part('bytes=0-3', { 'if-range': condition })).toMatchObject({ status: 200, range: null });
    }
    expect(await part('lines=1-2')).toEqual({ status: 200, range: null, body: whole });
    const refused = await part(`bytes=${bytes}-`);
    expect(refused).toMatchObject({ status: 416, range: `bytes */${bytes}` });
    expect(JSON.parse(refused.body.toString())).toMatchObject({ error: { code: 'range_not_satisfiable' } });
    const head = await ask(url, { method: 'HEAD', headers: { range: 'bytes=0-3' } });
    expect([head.status, head.headers.get('content-length')]).toEqual([200, String(bytes)]);
    expect((await ask(url, { headers: { 'if-none-match': `"${sha256}"`, range: 'bytes=0-3' } })).status).toBe(304);
  });

  test('require a key, count against its limit, and allow only GET and HEAD', async () => {
    const { origin, ask, folder, second } = served();
    const { path } = fileOf(second, 'responses');
    const paths = [
      '/snapshots',
      '/snapshots/latest/manifest.json',
      `/snapshots/latest/${path}`,
      '/snapshots/a/b/c/d/e',
    ];
    for (const path of paths) {
      const bare = await fetch(`${origin}${path}`);
      expect([path, bare.status]).toEqual([path, 401]);
      await bare.body?.cancel();
    }
    const posted = await ask('/snapshots', { method: 'POST' });
    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    const narrow = await openServer(NO_REPLICA, { snapshots: folder, rateLimit: 1 });
    for (const status of [200, 429]) expect((await narrow.raw('/snapshots')).status).toBe(status);
  });

  test('do not include files that no manifest lists', async () => {
    const { raw, first, second } = served();
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
      const { status, body } = await raw(target);
      expect([target, status, JSON.parse(body).error.code]).toEqual([target, 404, 'not_found']);
    }
  });

  test('are an empty list without snapshots', async () => {
    const { raw } = await openServer(NO_REPLICA, { snapshots: '/nowhere/snapshots' });
    expect(JSON.parse((await raw('/snapshots')).body)).toEqual({ latest: null, snapshots: [] });
    expect((await raw('/snapshots/latest/manifest.json')).status).toBe(404);
  });

  // The last test with the older snapshot, which it deletes.
  test('disappear when they are deleted', async () => {
    const { ask, first, folder } = served();
    const urls = [`/snapshots/${first.id}/${fileOf(first, 'alerts').path}`, `/snapshots/${first.id}/manifest.json`];
    for (const url of urls) expect((await ask(url)).status, url).toBe(200);
    await rm(join(folder, first.id), { recursive: true });
    for (const url of urls) expect((await ask(url)).status, url).toBe(404);
  });
});

test.each([
  [undefined, null],
  ['bytes=2-5', { start: 2, end: 5 }],
  ['BYTES=9-', { start: 9, end: 9 }],
  ['bytes=2-20', { start: 2, end: 9 }],
  ['bytes=-8', { start: 2, end: 9 }],
  ['bytes=-20', { start: 0, end: 9 }],
  ['bytes=10-', 'unsatisfiable'],
  ['bytes=-0', 'unsatisfiable'],
  ['bytes=99999999999999999999-', 'unsatisfiable'],
  ['bytes=0-1,4-5', null],
  ['bytes=3-2', null],
  ['bytes=-', null],
  ['bytes=a-b', null],
])('the Range header %s of 10 bytes is %j, according to RFC 9110', (header, range) => {
  expect(rangeOf(header, 10)).toEqual(range);
});

test('an empty file has no range', () => {
  expect(rangeOf('bytes=0-', 0)).toBe('unsatisfiable');
});
