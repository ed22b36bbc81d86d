import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { raiseFence } from '../../src/lake/fence.ts';
import { createStorePublisher } from '../../src/lake/store-publisher.ts';
import { toPiece } from '../../src/remote/log-segment.ts';
import { openFolderStore } from '../../src/storage/folder-store.ts';
import type { ObjectStore } from '../../src/storage/object-store.ts';
import { openStorePlace, rowsOf, work } from '../remote/remotes.ts';
import { skippingClock } from '../support/clocks.ts';
import { temporaryFolder } from '../support/folders.ts';
import { stage } from './publishing-places.ts';

type Changes = Record<string, unknown>;
const SHA = 'a'.repeat(64);
const FILE = { key: 'base/1-aaaaaaaa-bbbb', bytes: 12, sha256: SHA };
const SAVED = { ...FILE, savedAt: '2026-11-21T10:00:00.000Z' };
const FAR = '9999-12-31T00:00:00.000Z';

/** Creates a remote warehouse with one check-in. */
async function openRemote() {
  const place = await openStorePlace();
  const machine = await place.machine();
  const out = await machine.checkOut();
  const working = await work(machine, out);
  await working.commit('CREATE TABLE facts AS SELECT range AS id FROM range(100)');
  await out.journal?.durable();
  await working.close();
  await out.checkIn();
  await out.release();
  const key = [...place.server.objects.keys()].find((name) => name.endsWith('home.json')) ?? '';
  const put = (name: string, body: Buffer): void => {
    const etag = `"${createHash('md5').update(body).digest('hex')}"`;
    place.server.objects.set(name, { body, etag, modified: new Date(), headers: {} });
  };
  const change = (changes: Changes): Buffer => {
    const body = Buffer.from(JSON.stringify({ ...place.record(), ...changes }));
    put(key, body);
    return body;
  };
  return { place, key, put, change, machine };
}

describe('an invalid home.json', () => {
  test('is rejected with the name of the field, and neither local files nor the record change', async () => {
    const { place, key, change } = await openRemote();
    const good = place.record();
    const lies: [string, Changes][] = [
      ['epoch', { epoch: 2 ** 53 }],
      ['epoch', { epoch: Number.MAX_SAFE_INTEGER }],
      ['epoch', { epoch: -1 }],
      ['epoch', { epoch: 1.5 }],
      ['base.bytes', { base: { ...SAVED, bytes: -5 } }],
      ['base.bytes', { base: { ...SAVED, bytes: 2 ** 52 } }],
      ['base.sha256', { base: { ...SAVED, sha256: 'none' } }],
      ['base.key', { base: { ...SAVED, key: '../../other/home/base/1' } }],
      ['base.savedAt', { base: { ...SAVED, savedAt: 'yesterday' } }],
      ['checkedIn.key', { checkedIn: { ...SAVED, key: 'base/../../../lake/latest.json' } }],
      ['files.0.path', { files: [{ ...FILE, path: '../../.ssh/authorized_keys' }] }],
      ['files.0.path', { files: [{ ...FILE, path: '/etc/passwd' }] }],
      ['names warehouse.duckdb', { files: [{ ...FILE, path: 'warehouse.duckdb' }] }],
      ['names analytics.duckdb', { files: [{ ...FILE, path: 'analytics.duckdb' }] }],
      ['journal.0.prefix', { journal: [{ prefix: '../../', pieces: 1 }] }],
      ['journal.0.pieces', { journal: [{ prefix: 'journal/1-a/', pieces: 1e15 }] }],
      ['journal', { journal: Array.from({ length: 20_000 }, () => ({ prefix: 'journal/1-a/', pieces: 1 })) }],
      ['claim.holder', { claim: { id: 'a', holder: '\u001b[2Jgone', via: null, until: FAR } }],
      ['claim.until', { claim: { id: 'a', holder: 'a', via: null, until: 'never' } }],
      ['former.0.key', { former: [{ key: '../latest.json', since: FAR }] }],
      ['sweptAt', { sweptAt: 'never' }],
    ];
    const other = await place.machine();
    await writeFile(join(other.folder, 'analytics.duckdb'), 'own');
    for (const [field, lie] of lies) {
      const body = change({ ...good, ...lie });
      const refused = { code: 'remote_failed', message: expect.stringContaining(` ${field}`) };
      await expect(other.checkOut(), JSON.stringify(lie).slice(0, 100)).rejects.toMatchObject(refused);
      // If the record is rejected only after it was read, a lease was taken and released.
      if (!field.startsWith('names')) expect(place.server.objects.get(key)?.body).toEqual(body);
    }
    expect(await readFile(join(other.folder, 'analytics.duckdb'), 'utf8')).toBe('own');
    expect(existsSync(other.layout.warehouse)).toBe(false);
    change(good);
    place.letClaimRunOut();
    const out = await other.checkOut();
    expect(await rowsOf(other.layout.warehouse, 'SELECT count(*) FROM facts')).toEqual([[100]]);
    await out.release();
  });

  test('with the maximum epoch makes the check-out fail, and the epoch stays', async () => {
    const { change, place } = await openRemote();
    change({ epoch: 2 ** 40 });
    const machine = await place.machine();
    await expect(machine.checkOut()).rejects.toMatchObject({
      code: 'remote_failed',
      message: expect.stringMatching(/is 1099511627776; allowed: below/),
    });
    expect(place.record().epoch).toBe(2 ** 40);
  });

  test('that lists the current file as superseded does not cause its deletion', async () => {
    const { change, place } = await openRemote();
    const key = place.record().base?.key ?? '';
    change({ former: [{ key, since: '2020-01-01T00:00:00.000Z' }] });
    const machine = await place.machine();
    const out = await machine.checkOut();
    await out.checkIn();
    await out.release();
    expect(place.keys('base/')).toContain(key);
  });

  test('is rejected if the hash of its file is wrong or its journal contains a file that is not allowed', async () => {
    const { change, place, put, key } = await openRemote();
    const good = place.record();
    const other = await place.machine();
    change({ ...good, base: { ...good.base, sha256: SHA } });
    await expect(other.checkOut()).rejects.toMatchObject({ code: 'remote_failed' });
    expect(existsSync(other.layout.warehouse)).toBe(false);
    const piece = toPiece([{ path: 'analytics.duckdb', offset: 0, data: Buffer.from('not ours') }]);
    put(key.replace('home.json', 'journal/9-evil/00000001'), piece);
    change({ ...good, journal: [{ prefix: 'journal/9-evil/', pieces: 1 }] });
    await expect(other.checkOut()).rejects.toThrow(/analytics\.duckdb is not a file of a journal/);
    expect(existsSync(other.layout.analytics)).toBe(false);
  });
});

test('a check-out is rejected if the local home.json is damaged, because the folder may be a copy', async () => {
  const { place } = await openRemote();
  const machine = await place.machine();
  const out = await machine.checkOut();
  await out.checkIn();
  await out.release();
  const { size } = await stat(machine.layout.warehouse);
  await writeFile(join(machine.folder, 'home.json'), '{"location": "s3://la');
  await expect(machine.checkOut()).rejects.toMatchObject({
    code: 'remote_failed',
    message: expect.stringMatching(/is damaged/),
  });
  expect((await stat(machine.layout.warehouse)).size).toBe(size);
});

describe('an invalid latest.json', () => {
  const { signal } = new AbortController();
  const clock = skippingClock();

  async function openPlace() {
    const root = await temporaryFolder();
    const store = openFolderStore(root, { folder: 'lake', signal });
    onTestFinished(() => store.close());
    const publish = async (generation: number) => {
      const publisher = createStorePublisher(store, { clock, signal });
      return publisher.point(
        await publisher.put(await stage(await temporaryFolder(), generation, [`of ${generation}`])),
      );
    };
    expect(await publish(1)).toBe('moved');
    const pointer = join(root, 'lake/latest.json');
    const read = async (): Promise<Changes> => JSON.parse(await readFile(pointer, 'utf8'));
    const change = async (changes: Changes): Promise<string> => {
      const body = JSON.stringify({ ...(await read()), ...changes });
      await writeFile(pointer, body);
      return body;
    };
    return { store, publish, pointer, read, change };
  }

  test('is rejected with the name of the field and is not replaced', async () => {
    const { publish, change, read, pointer, store } = await openPlace();
    const good = await read();
    const entry = { id: 'a', manifest: 'manifests/a.json', createdAt: FAR, publishedAt: FAR, supersededAt: null };
    const lies: [string, Changes][] = [
      ['fence', { fence: 2 ** 53 }],
      ['fence', { fence: -1 }],
      ['manifest', { manifest: '../../../etc/passwd' }],
      ['manifest', { manifest: 'manifests/../../x.json' }],
      ['snapshots.0.manifest', { snapshots: [{ ...entry, manifest: 'files/x.parquet' }] }],
      ['snapshots.0.createdAt', { snapshots: [{ ...entry, createdAt: 'soon' }] }],
      ['leaving.0.manifest', { leaving: [{ id: 'a', since: FAR }] }],
      ['sweep.until', { sweep: { by: 'a', until: 'never' } }],
      ['id', { id: 7 }],
    ];
    for (const [field, lie] of lies) {
      const body = await change({ ...good, ...lie });
      const refused = { code: 'publish_failed', message: expect.stringContaining(`(${field}: `) };
      await expect(publish(2), field).rejects.toMatchObject(refused);
      await expect(raiseFence(store, 3, clock, signal), field).rejects.toMatchObject(refused);
      expect(await readFile(pointer, 'utf8')).toBe(body);
      await change(good);
    }
  });

  test('with data of the year 9999 does not prevent newer snapshots', async () => {
    const { publish, change, read } = await openPlace();
    await change({ createdAt: FAR });
    expect(await publish(2)).toBe('moved');
    expect((await read())['createdAt']).not.toBe(FAR);
  });

  test('with a sweep until the year 9999 does not prevent others from deleting', async () => {
    const { publish, change, read, store } = await openPlace();
    await publish(2);
    await change({ sweep: { by: 'nobody', until: FAR } });
    const keep = { daily: 0, weekly: 0, monthly: 0 };
    const publisher = createStorePublisher(store, { clock, signal });
    await publisher.retain(keep, Date.now() + 25 * 3_600_000);
    await publisher.retain(keep, Date.now() + 50 * 3_600_000).catch(() => undefined);
    expect((await read())['sweep']).toBe(null);
  });

  test.each(['../../outside', '/etc/passwd', 'files/../../outside', '', 7])(
    'with a manifest that names the file %j is treated as if it had no manifest',
    async (path) => {
      const { publish, read, store } = await openPlace();
      const key = String((await read())['manifest']);
      const manifest = JSON.parse((await store.read(key))?.body.toString() ?? '');
      manifest.tables[0].files[0].path = path;
      const { version } = (await store.read(key)) ?? { version: '' };
      await store.replace(key, Buffer.from(JSON.stringify(manifest)), version);
      const heads: string[] = [];
      const watching: ObjectStore = {
        ...store,
        head: (each) => {
          heads.push(each);
          return store.head(each);
        },
      };
      const publisher = createStorePublisher(watching, { clock, signal });
      await publisher.put(await stage(await temporaryFolder(), 2, ['of 1']));
      expect(heads.filter((each) => each === path)).toEqual([]);
      expect(await publish(3)).toBe('moved');
    },
  );
});
