import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SightlineError } from '../../src/base/errors.ts';
import type { CheckedOut } from '../../src/remote/remote.ts';
import { countOf, IS_ENDURANCE } from '../support/counts.ts';
import { temporaryFolder } from '../support/folders.ts';
import { type Ceph, hasCeph, startCeph } from '../support/object-store.ts';
import { type Fault, S3_KEY } from '../support/s3-server.ts';
import { type HomePlace, type Machine, openLocalPlace, openPlaceAt, openStorePlace, rowsOf, work } from './remotes.ts';

/** Random histories of commits. */
const RUNS = countOf(4, 60);

// The holder is alive and may renew its lease just after it was made to run out.
async function takeOver(place: { letClaimRunOut(): void }, machine: Machine): Promise<CheckedOut> {
  for (;;) {
    place.letClaimRunOut();
    try {
      return await machine.checkOut();
    } catch (thrown) {
      if (!(thrown instanceof SightlineError) || thrown.code !== 'warehouse_locked') throw thrown;
    }
  }
}

const MADE = 'CREATE TABLE facts (id BIGINT, text VARCHAR)';
const ALL = 'SELECT count(*), sum(id), max(text) FROM facts';
const insert = (from: number, count: number): string =>
  `INSERT INTO facts SELECT i, md5(i::VARCHAR) FROM range(${from}, ${from + count}) r(i)`;

const variants: { name: string; open: () => Promise<HomePlace> }[] = [
  { name: 'a folder', open: openLocalPlace },
  { name: 'a bucket', open: openStorePlace },
];

/** Ceph takes ten seconds to start and is already used by the tests of publishing. */
const isCephTried = IS_ENDURANCE && hasCeph;
let ceph: Ceph | null = null;
beforeAll(async () => {
  if (!isCephTried) return;
  ceph = await startCeph();
  Object.assign(process.env, S3_KEY);
  const client = new S3Client({ endpoint: ceph.endpoint, region: 'us-east-1', forcePathStyle: true });
  await client.send(new CreateBucketCommand({ Bucket: 'lake' }));
  client.destroy();
});
afterAll(() => ceph?.close());
if (isCephTried) {
  let workspaces = 0;
  variants.push({
    name: 'Ceph',
    open: async () => openPlaceAt(ceph?.endpoint ?? '', `workspace-${workspaces++}`),
  });
}

describe.each(variants)('a warehouse kept in $name', ({ open }) => {
  test('is empty at first, and then gives the next holder everything that was checked in', async () => {
    const place = await open();
    const first = await place.machine();
    const copy = join(await temporaryFolder(), 'copy.duckdb');
    expect([await first.remote.state(), await first.remote.fetchCopy(copy, null)]).toEqual([null, null]);
    const out = await first.checkOut();
    const working = await work(first, out);
    await working.commit(MADE, insert(0, 500));
    await working.commit('DELETE FROM facts WHERE id % 7 = 0', 'CREATE TABLE empty (id BIGINT)');
    await out.journal?.durable();
    await working.close();
    await mkdir(join(first.folder, 'raw/2026-03-15'), { recursive: true });
    await writeFile(join(first.folder, 'raw/2026-03-15/00000001.gz'), 'a page as it came');
    await writeFile(join(first.folder, 'jobs.json'), '{"version":1}');
    await out.checkIn();
    await out.release();

    const next = await place.machine();
    const again = await next.checkOut();
    expect(await rowsOf(next.layout.warehouse, ALL)).toEqual(await rowsOf(first.layout.warehouse, ALL));
    const tables = 'SELECT table_name FROM information_schema.tables ORDER BY 1';
    expect(await rowsOf(next.layout.warehouse, tables)).toEqual([['empty'], ['facts']]);
    expect(await readFile(join(next.folder, 'raw/2026-03-15/00000001.gz'), 'utf8')).toBe('a page as it came');
    expect(await readFile(join(next.folder, 'jobs.json'), 'utf8')).toBe('{"version":1}');
    await again.checkIn();
    await again.release();
    expect(again.lost.aborted).toBe(false);
  });
});

async function begin(machine: Machine, out: CheckedOut, statements = [MADE, insert(0, 5)]) {
  const working = await work(machine, out);
  await working.commit(...statements);
  await out.journal?.durable();
  return working;
}

describe('a lease', () => {
  test('locks others out with a message that names the holder and the expiry, until it is released', async () => {
    const place = await openStorePlace();
    const [one, two] = [await place.machine(), await place.machine()];
    const out = await one.checkOut('queue:1');
    const message = expect.stringMatching(new RegExp(`is locked by the test in ${one.folder} until 20`));
    await expect(two.checkOut()).rejects.toMatchObject({ code: 'warehouse_locked', message });
    await expect(two.checkOut('queue:2')).rejects.toMatchObject({ code: 'warehouse_locked' });
    expect(await two.remote.state()).toMatchObject({ epoch: 1, claim: { via: 'queue:1' }, savedAt: null });
    await out.release();
    const again = await two.checkOut();
    expect(again.epoch).toBe(2);
    await again.release();
    expect(await two.remote.state()).toMatchObject({ epoch: 2, claim: null });
  });

  test.each([
    { how: 'after it has expired', via: null },
    { how: 'at once by the same task', via: 'queue:1' },
  ])('is taken over $how; the previous holder is fenced and its later writes are ignored', async ({ via }) => {
    const place = await openStorePlace();
    const [one, two] = [await place.machine(), await place.machine()];
    const paused = await one.checkOut('queue:1');
    const working = await begin(one, paused);
    await working.commit(insert(5, 5));
    await paused.journal?.durable();
    if (via === null) place.letClaimRunOut();
    const out = await two.checkOut(via);
    // The previous holder does not know yet and continues. Its pieces are ignored.
    await working.commit(insert(10, 5));
    await paused.journal?.durable();
    expect(place.keys('journal/').length).toBe(2);
    const after = await begin(two, out, [insert(100, 1)]);
    await after.close();
    await working.close();
    await expect(paused.checkIn()).rejects.toMatchObject({ code: 'lease_lost' });
    expect(paused.lost.reason).toMatchObject({ code: 'lease_lost', message: expect.stringContaining('took it over') });
    await paused.release();
    await out.checkIn();
    await out.release();
    const third = await place.machine();
    const last = await third.checkOut();
    expect(await rowsOf(third.layout.warehouse, 'SELECT sum(id), count(*) FROM facts')).toEqual([[45 + 100, 11]]);
    await last.release();
  });

  test('that cannot be renewed in time is lost, and calls that wait for the journal fail', async () => {
    const place = await openStorePlace();
    const one = await place.machine({ leaseMs: 1_500, renewMs: 200 });
    const out = await one.checkOut();
    const working = await begin(one, out);
    place.server.fault = () => 'forbidden';
    await working.commit(insert(5, 5));
    const lost = { code: 'lease_lost', message: expect.stringMatching(/epoch 1\) is lost: it was not renewed/) };
    await expect(out.journal?.durable()).rejects.toMatchObject(lost);
    await expect(out.checkIn()).rejects.toMatchObject(lost);
    await working.close();
    await out.release();
  });

  test('is renewed until it is released', async () => {
    const place = await openStorePlace();
    const one = await place.machine({ leaseMs: 1_500, renewMs: 100 });
    const out = await one.checkOut();
    const untils = new Set<unknown>();
    while (untils.size < 8) {
      untils.add((place.record()['claim'] as { until: string }).until);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(out.lost.aborted).toBe(false);
    await out.release();
  });
});

describe('the journal', () => {
  test('combines concurrent commits into fewer pieces', async () => {
    const place = await openStorePlace();
    const one = await place.machine();
    const out = await one.checkOut();
    const working = await begin(one, out);
    const before = place.keys('journal/').length;
    await Promise.all(
      Array.from({ length: 30 }, async (_, page) => {
        await working.commit(insert(page * 10, 3));
        await out.journal?.durable();
      }),
    );
    expect(place.keys('journal/').length - before).toBeLessThan(25);
    await working.close();
    await out.checkIn();
    await out.release();
    expect(place.keys('journal/')).toEqual([]);
  });

  test('ends after a large transaction or a checkpoint, and the complete file is saved instead', async () => {
    const place = await openStorePlace();
    const one = await place.machine();
    const out = await one.checkOut();
    const working = await begin(one, out);
    const bases = [place.record().base?.key];
    await working.commit(insert(1_000, 300_000));
    await out.journal?.durable();
    bases.push(place.record().base?.key);
    await working.commit(insert(1_000_000, 1));
    await working.database.exclusive((session) => session.run('CHECKPOINT'));
    await out.journal?.durable();
    bases.push(place.record().base?.key);
    expect(new Set(bases).size).toBe(3);
    await working.commit(insert(2_000_000, 1));
    await out.journal?.durable();
    expect(place.record().base?.key).toBe(bases[2]);
    const two = await place.machine();
    const again = await takeOver(place, two);
    expect(await rowsOf(two.layout.warehouse, 'SELECT count(*) FROM facts')).toEqual([[300_007]]);
    await again.release();
    await working.close();
    await out.release();
  });
});

test(`a takeover finds a prefix of the commits that includes all durable ones: ${RUNS} histories`, async () => {
  const step = fc.record({
    rows: fc.oneof(
      { weight: 8, arbitrary: fc.integer({ min: 1, max: 400 }) },
      { weight: 1, arbitrary: fc.constant(150_000) },
    ),
    // A page does not run a checkpoint, but other steps of a job may.
    after: fc.oneof({ weight: 8, arbitrary: fc.constant('') }, { weight: 1, arbitrary: fc.constant('CHECKPOINT') }),
    waits: fc.boolean(),
    fault: fc.option(fc.constantFrom<Fault>('busy', 'cut before', 'cut after body', 'cut after'), { freq: 6 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), fc.nat(), async (steps, cut) => {
      const place = await openStorePlace();
      const one = await place.machine();
      const out = await one.checkOut('task');
      const working = await work(one, out);
      await working.commit(MADE);
      await out.journal?.durable();
      const made = steps.slice(0, 1 + (cut % steps.length));
      let durable = 0;
      const under: Promise<void>[] = [];
      for (const [index, { rows, after, waits, fault }] of made.entries()) {
        let left = fault === null ? 0 : 1;
        place.server.fault = ({ method }) => (method === 'PUT' && left-- > 0 ? fault : null);
        await working.commit(`INSERT INTO facts SELECT ${index}, md5(i::VARCHAR) FROM range(${rows}) r(i)`);
        if (after !== '') await working.database.exclusive((session) => session.run(after));
        const kept = out.journal?.durable().then(() => {
          durable = Math.max(durable, index + 1);
        });
        if (waits) await kept;
        else if (kept !== undefined) under.push(kept.catch(() => undefined));
      }
      // From here on no write of the first machine reaches the store, as if the machine had disappeared.
      place.server.fault = ({ method, key }) => (method !== 'GET' && key.includes('/1-') ? 'cut before' : null);
      const told = durable;
      const two = await place.machine();
      const again = await two.checkOut('task');
      place.server.fault = () => null;
      const found = await rowsOf(two.layout.warehouse, 'SELECT id, count(*) FROM facts GROUP BY id ORDER BY id');
      const expected = made.map(({ rows }, index) => [index, rows]);
      expect(found).toEqual(expected.slice(0, found.length));
      expect(found.length).toBeGreaterThanOrEqual(told);
      await again.release();
      await Promise.all(under);
      await working.close();
      await out.release();
      await place.server.close();
    }),
    { numRuns: RUNS },
  );
});

describe('the objects of a remote warehouse', () => {
  test('are transferred only if they changed, resumed after a broken connection, and removed when obsolete', async () => {
    const place = await openStorePlace();
    const one = await place.machine();
    let out = await one.checkOut();
    let working = await begin(one, out);
    await working.close();
    await writeFile(join(one.folder, 'jobs.json'), 'one');
    await out.checkIn();
    await out.release();
    const [base] = place.keys('base/');
    place.server.asked.length = 0;
    out = await one.checkOut();
    await out.checkIn();
    await out.release();
    const touched = place.server.asked.filter(({ key }) => /\/(base|files)\//.test(key));
    expect([touched, place.keys('base/')]).toEqual([[], [base]]);

    let cuts = 3;
    place.server.fault = ({ method, key }) =>
      method === 'GET' && /\/(base|home\.json)/.test(key) && cuts-- > 0 ? 'half' : null;
    const two = await place.machine();
    out = await two.checkOut();
    expect(cuts).toBeLessThan(1);
    working = await begin(two, out, [insert(100, 1)]);
    await working.close();
    await writeFile(join(two.folder, 'jobs.json'), 'two');
    await out.checkIn();
    await out.release();
    // Files that readers may still be downloading stay for an hour; files that only the holder reads do not.
    expect([place.keys('base/').length, place.keys('files/').length]).toEqual([2, 1]);
    expect((await readdir(two.folder)).sort()).toEqual(['home.json', 'jobs.json', 'warehouse.duckdb']);

    const copy = join(two.folder, 'copy.duckdb');
    const fetched = await one.remote.fetchCopy(copy, base ?? null);
    expect(fetched).toMatchObject({ isNew: true });
    expect(await one.remote.fetchCopy(copy, fetched?.version ?? null)).toMatchObject({ isNew: false });
    expect(await rowsOf(copy, 'SELECT count(*) FROM facts')).toEqual([[6]]);
  });

  test('are rejected if they are damaged or invalid', async () => {
    const place = await openStorePlace();
    const one = await place.machine();
    const out = await one.checkOut();
    const working = await begin(one, out);
    await working.commit(insert(5, 5));
    await out.journal?.durable();
    await working.close();
    await out.release();
    const { objects } = place.server;
    const [piece] = [...objects].filter(([key]) => key.includes('/journal/'));
    const [key = '', stored] = piece ?? [];
    const two = await place.machine();
    const failed = { code: 'remote_failed' };
    if (stored === undefined) throw new Error('the journal has no piece');
    for (const bent of [
      stored.body.subarray(0, -1),
      Buffer.from(stored.body.toString('latin1').replace('"path":"', '"path":"../'), 'latin1'),
    ]) {
      objects.set(key, { ...stored, body: bent });
      await expect(two.checkOut()).rejects.toMatchObject(failed);
    }
    objects.set(key, stored);
    await (await two.checkOut()).release();
    const remote = [...objects.keys()].find((name) => name.endsWith('home.json')) ?? '';
    const record = objects.get(remote);
    for (const text of ['{"format":2}', 'null', 'half of', '{"format":1,"epoch":1,"claim":null}']) {
      objects.set(remote, { ...(record as NonNullable<typeof record>), body: Buffer.from(text) });
      await expect(two.checkOut()).rejects.toMatchObject(failed);
      await expect(two.remote.state()).rejects.toMatchObject(failed);
    }
  });
});
