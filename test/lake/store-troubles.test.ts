import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { raiseFence } from '../../src/lake/fence.ts';
import { createStorePublisher } from '../../src/lake/store-publisher.ts';
import { openS3Store } from '../../src/storage/s3-store.ts';
import { hashFile } from '../../src/warehouse/file/hash-file.ts';
import { hurriedClock } from '../support/clocks.ts';
import { temporaryFolder } from '../support/folders.ts';
import { S3_KEY, type S3Server, startS3Server } from '../support/s3-server.ts';
import { openStore, stage, targetOf } from './publishing-places.ts';

const HOUR_MS = 3_600_000;
const KEEP_NONE = { daily: 0, weekly: 0, monthly: 0 };

let server: S3Server;
let folders = 0;
let folder = '';
beforeAll(async () => {
  Object.assign(process.env, S3_KEY);
  server = await startS3Server();
});
afterAll(() => server.close());
beforeEach(() => {
  folder = `troubled-${folders++}`;
  server.fault = () => null;
  server.now = () => Date.now();
});

async function publisherAt(now: () => number) {
  const store = await openStore(targetOf(server.endpoint, server.bucket), folder);
  onTestFinished(() => store.close());
  const { signal } = new AbortController();
  const clock = { ...hurriedClock(now), monotonic: systemClock.monotonic };
  return { store, publisher: createStorePublisher(store, { clock, signal }) };
}

/** Keys of the store below the folder of the test. */
const keys = (): string[] =>
  [...server.objects.keys()]
    .filter((key) => key.includes(`/${folder}/`))
    .map((key) => key.split(`/${folder}/`)[1] ?? '');

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
  const right = await publisherAt(() => Date.now());
  const ahead = await publisherAt(() => Date.now() + 50 * HOUR_MS);
  const publish = async (generation: number) => {
    const placed = await right.publisher.put(await stage(await temporaryFolder(), generation, [`of ${generation}`]));
    await right.publisher.point(placed);
  };
  await publish(1);
  await publish(2);
  // By the wrong clock the first snapshot was superseded long ago.
  await ahead.publisher.retain(KEEP_NONE, Date.now() + 50 * HOUR_MS).catch(() => undefined);
  const slow = await right.publisher.put(await stage(await temporaryFolder(), 3, ['of 3', 'more']));
  const later = await publisherAt(() => Date.now() + 80 * HOUR_MS);
  await expect(later.publisher.retain(KEEP_NONE, Date.now() + 80 * HOUR_MS)).rejects.toThrow(/80 hours ahead/);
  expect(JSON.parse((await right.store.read('latest.json'))?.body.toString() ?? '').sweep).toBe(null);
  expect(await right.publisher.point(slow)).toBe('moved');
  for (const { path } of slow.staged.manifest.tables[0]?.files ?? []) expect(keys()).toContain(`files/${path}`);
});

test('a rebuilt pointer names no snapshot with files that an interrupted deletion removed', async () => {
  let now = Date.now();
  server.now = () => now;
  const { publisher, store } = await publisherAt(() => now);
  const publish = async (generation: number) =>
    publisher.point(await publisher.put(await stage(await temporaryFolder(), generation, [`of ${generation}`])));
  await publish(1);
  await publish(2);
  now += 25 * HOUR_MS;
  await publisher.retain(KEEP_NONE, now);
  now += 25 * HOUR_MS;
  let deletions = 0;
  server.fault = ({ method }) => (method === 'DELETE' && deletions++ > 0 ? 'busy' : null);
  await expect(publisher.retain(KEEP_NONE, now)).rejects.toMatchObject({ code: 'publish_failed' });
  server.fault = () => null;
  await store.remove('latest.json');
  await publish(3);
  const pointer = JSON.parse((await store.read('latest.json'))?.body.toString() ?? '');
  for (const { manifest } of pointer.snapshots) {
    const { tables } = JSON.parse((await store.read(manifest))?.body.toString() ?? '');
    for (const { path } of tables[0].files) expect(keys()).toContain(path);
  }
});

test('a multipart upload succeeds even if the response to its completion is lost', async () => {
  const path = join(await temporaryFolder(), 'large');
  await writeFile(path, Buffer.alloc(6 * 1024 * 1024, 'sightline'));
  const store = await openStore(targetOf(server.endpoint, server.bucket), folder, 5 * 1024 * 1024);
  onTestFinished(() => store.close());
  let lost = 0;
  server.fault = ({ method, query }) =>
    method === 'POST' && query.has('uploadId') && lost++ === 0 ? 'cut after' : null;
  const file = { path, bytes: 6 * 1024 * 1024, sha256: await hashFile(path) };
  await store.sendFile('files/large.parquet', file);
  expect([lost > 1, keys()]).toEqual([true, ['files/large.parquet']]);
});

test('a pointer of a later format is rejected as written by a later version', async () => {
  const { publisher, store } = await publisherAt(() => Date.now());
  await store.create('latest.json', Buffer.from(JSON.stringify({ format: 2, createdAt: new Date().toISOString() })));
  await expect(publisher.latest()).rejects.toThrow(/written by a later version/);
});

test('a stale fencing token cannot move latest.json', async () => {
  const store = await openStore(targetOf(server.endpoint, server.bucket), folder);
  onTestFinished(() => store.close());
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
