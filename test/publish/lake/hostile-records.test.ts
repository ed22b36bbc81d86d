import { describe, expect, onTestFinished, test } from 'vitest';
import { raiseFence } from '../../../src/publish/lake/fence.ts';
import { POINTER } from '../../../src/publish/lake/pointer.ts';
import { createStorePublisher } from '../../../src/publish/lake/store-publisher.ts';
import type { ObjectStore } from '../../../src/publish/storage/object-store.ts';
import { skippingClock } from '../../support/clocks.ts';
import { temporaryFolder } from '../../support/folders.ts';
import { startS3Server } from '../../support/s3-server.ts';
import { openStore, stage, targetOf } from './publishing-places.ts';

type Changes = Record<string, unknown>;
const FAR = '9999-12-31T00:00:00.000Z';

describe('an invalid latest.json', () => {
  const { signal } = new AbortController();
  const clock = skippingClock();

  async function openPlace() {
    const server = await startS3Server();
    const store = await openStore(targetOf(server.endpoint, server.bucket), 'lake');
    onTestFinished(() => {
      store.close();
      return server.close();
    });
    const publish = async (generation: number) => {
      const publisher = createStorePublisher(store, { clock, signal });
      return publisher.point(
        await publisher.put(await stage(await temporaryFolder(), generation, [`of ${generation}`])),
      );
    };
    expect(await publish(1)).toBe('moved');
    const readText = async (): Promise<string> => String((await store.read(POINTER))?.body);
    const read = async (): Promise<Changes> => JSON.parse(await readText());
    const change = async (changes: Changes): Promise<string> => {
      const body = JSON.stringify({ ...(await read()), ...changes });
      expect(await store.replace(POINTER, Buffer.from(body), (await store.read(POINTER))?.version ?? '')).toBe(true);
      return body;
    };
    return { store, publish, readText, read, change };
  }

  test('is rejected with the name of the field and is not replaced', async () => {
    const { publish, change, read, readText, store } = await openPlace();
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
      expect(await readText()).toBe(body);
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
