import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { PlacedSnapshot, Publisher } from '../../../src/publish/snapshot/publisher.ts';
import { startChild } from '../../support/child.ts';
import { countOf } from '../../support/counts.ts';
import { temporaryFolder } from '../../support/folders.ts';
import { describeWith } from '../../support/needs.ts';
import { type Ceph, hasCeph, startCeph } from '../../support/object-store.ts';
import { S3_KEY, type S3Server, startS3Server } from '../../support/s3-server.ts';
import { openFolderPlace, openStorePlace, type Place, stage, targetOf } from './publishing-places.ts';

const CHILD = new URL('publisher-child.ts', import.meta.url);
const KILLS = countOf(1, 8);
const PUBLISHES = countOf(6, 100);
const READERS = 2;
const FILES = [0, 1, 2, 3];
const KEEP_NONE = { daily: 0, weekly: 0, monthly: 0 };
const KEEP_ALL = { daily: 100, weekly: 100, monthly: 100 };

interface Variant {
  readonly name: string;
  /** Why this machine does not have it. */
  readonly missing?: string | null;
  open(): Promise<{ place: Place; given: readonly string[]; close: () => Promise<void> }>;
}

let folders = 0;

async function openStoreOf(name: string, endpoint: string) {
  const folder = `workspace-${folders++}`;
  const target = targetOf(endpoint, 'lake');
  return { place: await openStorePlace(name, target, folder), given: [JSON.stringify(target), folder] };
}

const variants: Variant[] = [
  {
    name: 'a folder',
    open: async () => {
      const place = await openFolderPlace();
      return { place, given: [], close: () => place.close() };
    },
  },
  {
    name: 'an object store',
    open: async () => {
      const server: S3Server = await startS3Server();
      const opened = await openStoreOf('an object store', server.endpoint);
      const close = async (): Promise<void> => {
        await opened.place.close();
        await server.close();
      };
      return { ...opened, close };
    },
  },
  {
    name: 'Ceph',
    missing: hasCeph ? null : 'Ceph, an object store that is not ours, is not installed',
    open: async () => {
      const ceph: Ceph = await startCeph();
      await makeBucket(ceph.endpoint);
      const opened = await openStoreOf('Ceph', ceph.endpoint);
      const close = async (): Promise<void> => {
        await opened.place.close();
        await ceph.close();
      };
      return { ...opened, close };
    },
  },
];

for (const variant of variants)
  describeWith(variant.missing ?? null)(`publishing to ${variant.name}`, () => tests(variant));

function tests({ name, open }: Variant): void {
  let place: Place;
  let given: readonly string[];
  let close = async (): Promise<void> => undefined;
  let generation = 0;

  beforeAll(async () => {
    ({ place, given, close } = await open());
  });
  afterAll(() => close());

  const put = async (publisher: Publisher, at = ++generation, contents = FILES.map((file) => `${file} of ${at}`)) => {
    const previous = (await publisher.latest())?.id ?? null;
    return publisher.put(await stage(await temporaryFolder(), at, contents, previous));
  };
  const publish = async (publisher: Publisher): Promise<PlacedSnapshot> => {
    const placed = await put(publisher);
    expect(await publisher.point(placed)).toBe('moved');
    return placed;
  };

  test('shows a snapshot to readers only when it is complete', async () => {
    const publisher = place.publisher();
    expect([await publisher.latest(), await place.read()]).toEqual([null, null]);
    const first = await put(publisher);
    expect([await publisher.latest(), await place.read()]).toEqual([null, null]);
    expect(await publisher.point(first)).toBe('moved');
    expect(await publisher.latest()).toMatchObject({ id: first.id });
    expect(await place.read()).toEqual({ id: first.id, contents: FILES.map((file) => `${file} of ${generation}`) });
    expect(await publisher.point(first)).toBe('moved');
    const second = await publish(place.publisher());
    expect(await place.read()).toMatchObject({ id: second.id });
    expect(await place.readPlaced(first)).toMatchObject({ id: first.id });
  });

  test('never moves readers back to an older snapshot that is finished late, and keeps both', async () => {
    const late = await put(place.publisher());
    const newer = await publish(place.publisher());
    expect(await place.publisher().point(late)).toBe('superseded');
    expect(await place.read()).toMatchObject({ id: newer.id });
    expect(await place.readPlaced(late)).toMatchObject({ id: late.id });
  });

  test('shows readers one complete snapshot at any moment, and never an older one again', async () => {
    let isPublishing = true;
    const read = async (): Promise<string[]> => {
      const ids: string[] = [];
      while (isPublishing) {
        const { id, contents } = (await place.read()) ?? { id: '', contents: [] };
        expect(new Set(contents.map((content) => content.split(' of ')[1])).size).toBe(1);
        expect(contents.length).toBe(FILES.length);
        ids.push(id);
      }
      return ids;
    };
    const readers = Array.from({ length: READERS }, read);
    const work = (async () => {
      for (let count = 0; count < PUBLISHES; count++) {
        const publisher = place.publisher();
        await publish(publisher);
        if (count % 5 === 4) await publisher.retain(KEEP_NONE, Date.now());
      }
    })().finally(() => {
      isPublishing = false;
    });
    const [, ...seen] = await Promise.all([work, ...readers]);
    for (const ids of seen) {
      expect(ids.length).toBeGreaterThan(PUBLISHES / 5);
      expect([...ids].sort()).toEqual(ids);
    }
  });

  test('makes the newest of concurrent snapshots the latest, and keeps all of them', async () => {
    const at = Array.from({ length: place.publishersMax }, () => ++generation).reverse();
    const all = await Promise.all(at.map((each) => put(place.publisher(), each)));
    const results = await Promise.all(all.map((placed) => place.publisher().point(placed)));
    expect(results).toContain('moved');
    expect(await place.read()).toMatchObject({ id: all[0]?.id });
    await place.publisher().retain(KEEP_ALL, Date.now());
    for (const placed of all) expect(await place.readPlaced(placed)).toMatchObject({ id: placed.id });
  });

  test('deletes an expired snapshot only after the grace period for its readers', async () => {
    const old = await publish(place.publisher());
    const next = await publish(place.publisher());
    const publisher = place.publisher();
    const now = Date.now();
    const gone = await publisher.retain(KEEP_NONE, now + place.graceMs / 2);
    expect(await place.readPlaced(old)).toMatchObject({ id: old.id });
    for (let step = 1; step <= 3; step++)
      gone.push(...(await publisher.retain(KEEP_NONE, now + step * (place.graceMs + 60_000))));
    expect(gone).toContain(old.id);
    expect(gone).not.toContain(next.id);
    await expect(place.readPlaced(old)).rejects.toThrow();
    expect(await place.read()).toEqual(await place.readPlaced(next));
    expect(await place.read()).toMatchObject({ id: next.id });
  });

  // Kills of exports to a folder are tested in publish.test.ts.
  if (name === 'a folder') return;
  test('leaves a complete snapshot when it is killed at any moment, and the next publish succeeds', async () => {
    for (let kill = 0; kill < KILLS; kill++) {
      const child = startChild(CHILD, await temporaryFolder(), ...given, String(generation + 1));
      expect(await child.message()).not.toBeNull();
      const stands = (await place.read())?.id ?? '';
      await new Promise((resolve) => setTimeout(resolve, (kill * 37) % 150));
      await child.kill();
      const seen = await place.read();
      expect((seen?.id ?? '') >= stands).toBe(true);
      generation += 10_000;
      await publish(place.publisher());
    }
  });
}

async function makeBucket(endpoint: string): Promise<void> {
  Object.assign(process.env, S3_KEY);
  const client = new S3Client({ endpoint, region: 'us-east-1', forcePathStyle: true });
  await client.send(new CreateBucketCommand({ Bucket: 'lake' }));
  client.destroy();
}
