import { getEventListeners } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { raiseFence } from '../../../src/publish/lake/fence.ts';
import { createStorePublisher } from '../../../src/publish/lake/store-publisher.ts';
import type { Publisher } from '../../../src/publish/snapshot/publisher.ts';
import type { ObjectStore } from '../../../src/publish/storage/object-store.ts';
import { openS3Store } from '../../../src/publish/storage/s3-store.ts';
import { checkConditions } from '../../../src/publish/storage/store-conditions.ts';
import { hashFile } from '../../../src/warehouse/file/hash-file.ts';
import { skippingClock } from '../../support/clocks.ts';
import { temporaryFolder } from '../../support/folders.ts';
import { type Fault, S3_KEY, type S3Server, type S3ServerOptions, startS3Server } from '../../support/s3-server.ts';
import { openStore, stage, targetOf } from '../lake/publishing-places.ts';

const HOUR_MS = 3_600_000;
const KEEP_NONE = { daily: 0, weekly: 0, monthly: 0 };

let server: S3Server;
let folders = 0;
let folder = '';
beforeAll(async () => {
  server = await startS3Server();
});
afterAll(() => server.close());
beforeEach(() => {
  folder = `folder-${folders++}`;
  server.fault = () => null;
  server.now = () => Date.now();
  server.asked.length = 0;
});

const base = (): string => `of/tests/${folder}/`;
/** Keys of the store below the folder of the test. */
const keys = (): string[] =>
  [...server.objects.keys()].filter((key) => key.startsWith(base())).map((key) => key.slice(base().length));
const sentFiles = (): string[] =>
  server.asked.filter(({ method, key }) => method === 'PUT' && key.startsWith(`${base()}files/`)).map(({ key }) => key);
const pointerOf = (): {
  id: string;
  manifest: string;
  snapshots: { id: string; manifest: string }[];
  leaving: unknown[];
} => JSON.parse(server.objects.get(`${base()}latest.json`)?.body.toString() ?? 'null');

/** Opens the folder of the test for its duration. */
async function storeOf(partBytes?: number): Promise<ObjectStore> {
  const store = await openStore(targetOf(server.endpoint, server.bucket), folder, partBytes);
  onTestFinished(() => store.close());
  return store;
}

async function publisherTo(at: S3Server = server, now = () => Date.now()): Promise<Publisher> {
  const store = await openStore(targetOf(at.endpoint, at.bucket), folder);
  onTestFinished(() => store.close());
  const { signal } = new AbortController();
  return createStorePublisher(store, { clock: skippingClock(now), signal }) as Publisher;
}

async function publish(publisher: Publisher, generation: number, contents: readonly string[]) {
  const placed = await publisher.put(await stage(await temporaryFolder(), generation, contents));
  return { placed, pointed: await publisher.point(placed) };
}

describe('an upload to an object store', () => {
  test('contains only changed files, each once', async () => {
    const publisher = await publisherTo();
    expect((await publish(publisher, 1, ['a', 'b', 'c'])).placed.sent).toEqual({ files: 3, bytes: 3 });
    expect(sentFiles().length).toBe(3);
    expect((await publish(await publisherTo(), 2, ['a', 'B', 'c'])).placed.sent).toEqual({ files: 1, bytes: 1 });
    expect(sentFiles().length).toBe(4);
    // The store is listed only while there is no pointer yet.
    const listed = server.asked.filter(({ query }) => query.has('list-type'));
    expect(listed.length).toBe(1);
  });

  test('replaces a lost object within a week', async () => {
    let now = Date.now();
    const publisher = await publisherTo(server, () => now);
    await publish(publisher, 1, ['kept', 'lost']);
    const lost = [...server.objects].find(([key, { body }]) => key.startsWith(base()) && String(body) === 'lost')?.[0];
    server.objects.delete(lost ?? '');
    let sent = 0;
    for (let night = 2; night <= 8; night++) {
      now += 24 * HOUR_MS;
      sent += (await publish(publisher, night, ['kept', 'lost'])).placed.sent.files;
    }
    expect([sent, server.objects.has(lost ?? '')]).toEqual([1, true]);
  });

  test('continues after an interrupted run without sending files again', async () => {
    server.fault = ({ method, key }) => (method === 'PUT' && key.includes('month=2026-04') ? 'cut before' : null);
    const contents = ['d', 'e', 'f', 'g', 'h'];
    await expect(publish(await publisherTo(), 1, contents)).rejects.toMatchObject({ code: 'publish_failed' });
    expect(server.objects.has(`${base()}latest.json`)).toBe(false);
    const before = new Set([...server.objects.keys()].filter((key) => key.startsWith(`${base()}files/`)));
    server.fault = () => null;
    server.asked.length = 0;
    const { placed, pointed } = await publish(await publisherTo(), 2, contents);
    expect(pointed).toBe('moved');
    expect(placed.sent.files).toBe(contents.length - before.size);
    expect(sentFiles().filter((key) => before.has(key))).toEqual([]);
  });

  test('is verified against its SHA-256, in one request or in parts, and arrives complete', async () => {
    const root = await temporaryFolder();
    const path = join(root, 'large');
    const body = Buffer.alloc(12 * 1024 * 1024, 'sightline');
    await writeFile(path, body);
    const sha256 = await hashFile(path);
    const target = targetOf(server.endpoint, server.bucket, { encryption: 'aws:kms', kmsKeyId: 'key-1' });
    const store = await openStore(target, folder, 5 * 1024 * 1024);
    await store.sendFile('files/large.parquet', { path, bytes: body.length, sha256 });
    const stored = server.objects.get(`${base()}files/large.parquet`);
    expect(stored?.body.equals(body)).toBe(true);
    expect(stored?.headers).toMatchObject({
      'x-amz-meta-sha256': sha256,
      'x-amz-server-side-encryption': 'aws:kms',
      'x-amz-server-side-encryption-aws-kms-key-id': 'key-1',
    });
    expect(server.asked.filter(({ query }) => query.has('partNumber')).length).toBe(3);
    expect(await store.head('files/large.parquet')).toMatchObject({ bytes: body.length, sha256 });
    const wrong = store.sendFile('files/other.parquet', { path, bytes: body.length, sha256: sha256.replace(/./, 'x') });
    await expect(wrong).rejects.toMatchObject({ code: 'publish_failed', message: expect.stringContaining('SHA-256') });
  });
});

describe('the pointer latest.json', () => {
  const faults: [Fault, string][] = [
    ['busy', 'files/'],
    ['cut after body', 'files/'],
    ['cut after', 'manifests/'],
    ['cut after body', 'latest.json'],
    ['cut after', 'latest.json'],
    ['busy', 'latest.json'],
  ];
  test.each(faults)('moves once if a write fails with "%s" at %s', async (fault, where) => {
    const publisher = await publisherTo();
    await publish(publisher, 1, ['one']);
    let left = 2;
    server.fault = ({ method, key }) =>
      method === 'PUT' && key.startsWith(base() + where) && left-- > 0 ? fault : null;
    const { placed, pointed } = await publish(publisher, 2, ['two']);
    expect([pointed, pointerOf().id]).toEqual(['moved', placed.id]);
    expect(pointerOf().snapshots.map(({ id }) => id).length).toBe(2);
  });

  test('stays unchanged if the store keeps rejecting writes, and errors do not contain the key', async () => {
    const publisher = await publisherTo();
    const first = await publish(publisher, 1, ['one']);
    for (const fault of ['cut before', 'forbidden', 'cut after body'] as const) {
      server.fault = ({ method, key }) => (method === 'PUT' && key.endsWith('.json') ? fault : null);
      const failed = await publish(publisher, 2, ['two']).catch((thrown: Error) => thrown as Error);
      expect(failed).toMatchObject({ code: 'publish_failed', message: expect.stringContaining('s3://lake/of/tests/') });
      for (const secret of Object.values(S3_KEY)) expect(inspect(failed, { depth: 20 })).not.toContain(secret);
    }
    server.fault = ({ key }) => (key.endsWith('latest.json') ? 'wrong tag' : null);
    await expect(publish(publisher, 3, ['three'])).rejects.toThrow(/was moved by others during each of 30 attempts/);
    expect(pointerOf().id).toBe(first.placed.id);
  });

  test('is not overwritten if it is not a pointer of sightline', async () => {
    const store = await storeOf();
    await store.create('latest.json', Buffer.from('{"version": 2}'));
    await expect(publish(await publisherTo(), 1, ['one'])).rejects.toThrow(/is not a pointer of sightline/);
  });

  test('is rebuilt from all manifests if it was lost', async () => {
    const publisher = await publisherTo();
    for (const generation of [1, 2, 3]) await publish(publisher, generation, [`generation ${generation}`]);
    server.objects.delete(`${base()}latest.json`);
    expect((await publish(publisher, 4, ['generation 4'])).pointed).toBe('moved');
    expect(pointerOf().snapshots.length).toBe(4);
  });
});

describe('retention in an object store', () => {
  test('deletes only objects that no manifest names, a day later, and nothing if a manifest is unreadable', async () => {
    const publisher = await publisherTo();
    await publish(publisher, 1, ['stays', 'goes']);
    await publish(publisher, 2, ['stays', 'new']);
    const store = await storeOf();
    await store.create('files/orphan.parquet', Buffer.from('of a run that was killed'));
    await store.create('files/notes.txt', Buffer.from('not ours'));
    const now = Date.now();
    expect(await publisher.retain(KEEP_NONE, now + 25 * HOUR_MS)).toEqual([]);
    expect(pointerOf()).toMatchObject({ snapshots: [{}], leaving: [{}] });
    const { manifest } = pointerOf();
    const kept = server.objects.get(base() + manifest);
    server.objects.delete(base() + manifest);
    await expect(publisher.retain(KEEP_NONE, now + 50 * HOUR_MS)).rejects.toThrow(/nothing is deleted/);
    expect(server.asked.filter(({ method, key }) => method === 'DELETE' && !key.includes('trials/'))).toEqual([]);
    if (kept !== undefined) server.objects.set(base() + manifest, kept);
    // The failed deletion reserved the sweep, so the next one starts after that time.
    expect((await publisher.retain(KEEP_NONE, now + 51 * HOUR_MS)).length).toBe(1);
    const left = [...server.objects].filter(([key]) => key.startsWith(`${base()}files/`));
    expect(left.map(([, { body }]) => body.toString()).sort()).toEqual(['new', 'not ours', 'stays']);
  });

  test('deletes nothing that a slow publisher has uploaded or reuses', async () => {
    let now = Date.now();
    server.now = () => now;
    const publisher = await publisherTo(server, () => now);
    await publish(publisher, 1, ['old', 'same']);
    const slow = await publisher.put(await stage(await temporaryFolder(), 9, ['old', 'same', 'slow']));
    await publish(publisher, 2, ['other']);
    for (let step = 0; step < 3; step++) {
      now += 25 * HOUR_MS;
      await publisher.retain(KEEP_NONE, now);
    }
    expect(await publisher.point(slow)).toBe('moved');
    const store = await storeOf();
    const manifest = JSON.parse((await store.read(pointerOf().manifest))?.body.toString() ?? '');
    for (const { path, sha256 } of manifest.tables[0].files) expect(await store.head(path)).toMatchObject({ sha256 });
  });
});

describe('object stores that differ from S3', () => {
  const open = async (options: S3ServerOptions): Promise<S3Server> => {
    const other = await startS3Server(options);
    onTestFinished(() => other.close());
    return other;
  };

  test.each([{ wantsBareTags: true }, { refusesChecksums: true }])(
    'are written to in the form that they accept: %o',
    async (options) => {
      const publisher = await publisherTo(await open(options));
      expect((await publish(publisher, 1, ['one'])).pointed).toBe('moved');
      expect((await publish(publisher, 2, ['two'])).pointed).toBe('moved');
      expect(await publisher.latest()).toMatchObject({ id: expect.stringMatching(/Z$/) });
    },
  );

  test('are rejected at once if they ignore conditional writes', async () => {
    const other = await open({ ignoresConditions: true });
    await expect(publish(await publisherTo(other), 1, ['one'])).rejects.toThrow(/the store ignores If-None-Match/);
    expect([...other.objects.keys()].filter((key) => /latest|trials/.test(key))).toEqual([]);
    const store = await storeOf();
    await checkConditions(store);
  });

  test('are named in the error if they are unreachable or the bucket does not exist', async () => {
    const nowhere = await openStore(targetOf('http://127.0.0.1:1', 'lake'), folder);
    await expect(nowhere.read('latest.json')).rejects.toMatchObject({
      code: 'publish_failed',
      message: `reading s3://lake/of/tests/${folder}/latest.json failed: no response (ECONNREFUSED)`,
    });
    const other = await openStore(targetOf(server.endpoint, 'nothing'), folder);
    await expect(other.read('latest.json')).rejects.toThrow(/the bucket does not exist \(NoSuchBucket\)/);
    for (const store of [nowhere, other]) store.close();
  });
});

test('an aborted multipart upload leaves no parts', async () => {
  const path = join(await temporaryFolder(), 'large');
  await writeFile(path, Buffer.alloc(12 * 1024 * 1024, 'sightline'));
  const controller = new AbortController();
  const target = targetOf(server.endpoint, server.bucket);
  const store = await openS3Store(target, { folder, signal: controller.signal, partBytes: 5 * 1024 * 1024 });
  server.fault = ({ query }) => {
    if (query.get('partNumber') === '2') controller.abort(new Error('enough'));
    return null;
  };
  const file = { path, bytes: 12 * 1024 * 1024, sha256: await hashFile(path) };
  await expect(store.sendFile('files/large.parquet', file)).rejects.toThrow('enough');
  store.close();
  expect(server.uploads.size).toBe(0);
});

test('a machine with a clock days ahead deletes nothing that a running publish needs', async () => {
  const right = await publisherTo();
  const retainAhead = async (hours: number) => {
    const ahead = await publisherTo(server, () => Date.now() + hours * HOUR_MS);
    return ahead.retain(KEEP_NONE, Date.now() + hours * HOUR_MS);
  };
  await publish(right, 1, ['of 1']);
  await publish(right, 2, ['of 2']);
  // By the wrong clock the first snapshot was superseded long ago.
  await retainAhead(50).catch(() => undefined);
  const staged = await stage(await temporaryFolder(), 3, ['of 3', 'more']);
  const slow = await right.put(staged);
  await expect(retainAhead(80)).rejects.toThrow(/80 hours ahead/);
  expect(pointerOf()).toMatchObject({ sweep: null });
  expect(await right.point(slow)).toBe('moved');
  for (const { path } of staged.manifest.tables[0]?.files ?? []) expect(keys()).toContain(`files/${path}`);
});

test('a rebuilt pointer names no snapshot with files that an interrupted deletion removed', async () => {
  let now = Date.now();
  server.now = () => now;
  const publisher = await publisherTo(server, () => now);
  await publish(publisher, 1, ['of 1']);
  await publish(publisher, 2, ['of 2']);
  now += 25 * HOUR_MS;
  await publisher.retain(KEEP_NONE, now);
  now += 25 * HOUR_MS;
  let deletions = 0;
  server.fault = ({ method }) => (method === 'DELETE' && deletions++ > 0 ? 'busy' : null);
  await expect(publisher.retain(KEEP_NONE, now)).rejects.toMatchObject({ code: 'publish_failed' });
  server.fault = () => null;
  server.objects.delete(`${base()}latest.json`);
  await publish(publisher, 3, ['of 3']);
  for (const { manifest } of pointerOf().snapshots) {
    const { tables } = JSON.parse(server.objects.get(base() + manifest)?.body.toString() ?? '');
    for (const { path } of tables[0].files) expect(keys()).toContain(path);
  }
});

test('a multipart upload succeeds even if the response to its completion is lost', async () => {
  const path = join(await temporaryFolder(), 'large');
  await writeFile(path, Buffer.alloc(6 * 1024 * 1024, 'sightline'));
  const store = await storeOf(5 * 1024 * 1024);
  let lost = 0;
  server.fault = ({ method, query }) =>
    method === 'POST' && query.has('uploadId') && lost++ === 0 ? 'cut after' : null;
  const file = { path, bytes: 6 * 1024 * 1024, sha256: await hashFile(path) };
  await store.sendFile('files/large.parquet', file);
  expect([lost > 1, keys()]).toEqual([true, ['files/large.parquet']]);
});

test('a pointer of a later format is rejected as written by a later version', async () => {
  const store = await storeOf();
  await store.create('latest.json', Buffer.from(JSON.stringify({ format: 2, createdAt: new Date().toISOString() })));
  await expect((await publisherTo()).latest()).rejects.toThrow(/written by a later version/);
});

test('a stale fencing token cannot move latest.json', async () => {
  const store = await storeOf();
  const { signal } = new AbortController();
  const publisher = (epoch: number) => createStorePublisher(store, { clock: systemClock, signal, epoch });
  await raiseFence(store, 3, systemClock, signal);
  const old = publisher(3);
  const first = await old.put(await stage(await temporaryFolder(), 1, ['a']));
  expect(await old.point(first)).toBe('moved');
  const late = await old.put(await stage(await temporaryFolder(), 2, ['b']));
  await raiseFence(store, 4, systemClock, signal);
  await expect(old.point(late)).rejects.toMatchObject({
    code: 'lease_lost',
    message: expect.stringMatching(/epoch 4, here 3/),
  });
  expect(await old.latest()).toMatchObject({ id: first.id });
  const next = await publisher(4).put(await stage(await temporaryFolder(), 3, ['c']));
  expect(await publisher(4).point(next)).toBe('moved');
  await expect(raiseFence(store, 3, systemClock, signal)).rejects.toMatchObject({ code: 'lease_lost' });
});

test('an abort ends requests, and requests that have ended leave no listeners on the signal', async () => {
  const { signal, abort } = withAbort();
  const store = await openS3Store(targetOf(server.endpoint, server.bucket), { folder, signal });
  for (let count = 0; count < 30; count++) await store.head('nothing');
  expect(getEventListeners(signal, 'abort').length).toBeLessThan(5);
  abort(new Error('enough'));
  await expect(store.read('latest.json')).rejects.toThrow('enough');
  store.close();
});

test('requests go through a proxy, which is named without its password if it refuses them', async () => {
  const proxy = new URL(server.endpoint.replace('//', '//user:secret@'));
  const through = { findProxy: () => proxy };
  // The server takes requests with a whole URL, as proxies do.
  const store = await openStore(targetOf('http://store.example', server.bucket, through), folder);
  onTestFinished(() => store.close());
  const path = join(await temporaryFolder(), 'large');
  const bytes = 6 * 1024 * 1024;
  await writeFile(path, Buffer.alloc(bytes, 'x'));
  const key = 'files/a b+(ü)!';
  await store.sendFile(key, { path, bytes, sha256: await hashFile(path) });
  expect(await store.head(key)).toMatchObject({ bytes });
  const listed = [];
  for await (const { key: found } of store.list('files/')) listed.push(found);
  expect(listed).toEqual([key]);
  expect(keys()).toEqual([key]);
  const refusing = createServer().on('connect', (_request, socket) => socket.end('HTTP/1.1 403 No\r\n\r\n'));
  await new Promise<void>((resolve) => refusing.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void refusing.close());
  const { port } = refusing.address() as AddressInfo;
  const findProxy = (): URL => new URL(`http://user:secret@127.0.0.1:${port}`);
  const refused = await openStore(targetOf('https://store.example', server.bucket, { findProxy }), folder);
  onTestFinished(() => refused.close());
  await expect(refused.head(key)).rejects.toMatchObject({
    code: 'unreachable',
    message: `the proxy http://127.0.0.1:${port} refuses the connection with status 403`,
  });
});

function withAbort() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: (reason: Error) => controller.abort(reason) };
}
