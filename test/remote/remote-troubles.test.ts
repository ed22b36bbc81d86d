import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { SightlineError } from '../../src/base/errors.ts';
import { openStorePlace, rowsOf, work } from './remotes.ts';

const MADE = 'CREATE TABLE facts (id BIGINT, text VARCHAR)';
const insert = (from: number, count: number): string =>
  `INSERT INTO facts SELECT i, md5(i::VARCHAR) FROM range(${from}, ${from + count}) r(i)`;
const COUNT = 'SELECT count(*) FROM facts';
const DAY_MS = 24 * 3_600_000;

test('a journal piece with a lost response is sent again unchanged and applied once', async () => {
  const place = await openStorePlace();
  const one = await place.machine();
  const out = await one.checkOut('task');
  const working = await work(one, out);
  await working.commit(MADE, insert(0, 5));
  await out.journal?.durable();
  await working.commit(insert(10, 5));
  // All attempts of the first write lose their response, and more is committed meanwhile.
  let cuts = 5;
  place.server.fault = ({ method, key }) =>
    method === 'PUT' && key.includes('/journal/') && cuts-- > 0 ? 'cut after' : null;
  const durable = out.journal?.durable();
  while (!place.keys('journal/').some((key) => key.endsWith('1')))
    await new Promise((resolve) => setTimeout(resolve, 5));
  await working.commit(insert(20, 5));
  await durable;
  await working.commit(insert(30, 5));
  await out.journal?.durable();
  const two = await place.machine();
  const again = await two.checkOut('task');
  expect(await rowsOf(two.layout.warehouse, COUNT)).toEqual([[20]]);
  await again.release();
  await working.close();
  await out.release();
});

test('a failed check-in deletes nothing that the record still names', async () => {
  const place = await openStorePlace();
  const one = await place.machine();
  let out = await one.checkOut();
  let working = await work(one, out);
  await working.commit(MADE, insert(0, 5));
  await out.journal?.durable();
  await working.commit(insert(10, 5));
  await out.journal?.durable();
  await working.close();
  await out.release();
  // A search for leftovers is due.
  const remote = [...place.server.objects.keys()].find((key) => key.endsWith('home.json')) ?? '';
  const stored = place.server.objects.get(remote);
  if (stored === undefined) throw new Error('home.json is missing');
  const record = { ...place.record(), sweptAt: new Date(Date.now() - 2 * DAY_MS).toISOString() };
  place.server.objects.set(remote, { ...stored, body: Buffer.from(JSON.stringify(record)) });

  out = await one.checkOut();
  working = await work(one, out);
  await working.commit(insert(20, 5));
  await working.close();
  place.server.fault = ({ method, key }) => (method === 'PUT' && key.endsWith('home.json') ? 'forbidden' : null);
  await expect(out.checkIn()).rejects.toMatchObject({ code: 'remote_failed' });
  await out.release();
  place.server.fault = () => null;
  place.letClaimRunOut();
  const two = await place.machine();
  const again = await two.checkOut();
  expect(await rowsOf(two.layout.warehouse, COUNT)).toEqual([[10]]);
  await again.release();
});

test('after an older record was restored, a lease of the same epoch belongs to one holder only', async () => {
  const place = await openStorePlace();
  const one = await place.machine();
  const first = await one.checkOut();
  await first.release();
  const remote = [...place.server.objects.keys()].find((key) => key.endsWith('home.json')) ?? '';
  const before = place.server.objects.get(remote);
  if (before === undefined) throw new Error('home.json is missing');
  const out = await one.checkOut();
  const working = await work(one, out);
  await working.commit(MADE, insert(0, 5));
  await out.journal?.durable();
  place.server.objects.set(remote, before);
  const two = await place.machine();
  const other = await two.checkOut();
  expect(other.epoch).toBe(out.epoch);
  await working.close();
  await expect(out.checkIn()).rejects.toMatchObject({ code: 'lease_lost' });
  await out.release();
  await other.checkIn();
  expect(other.lost.aborted).toBe(false);
  await other.release();
});

test('a raw page of any length, and what is appended to it, is durable before the commit that refers to it', async () => {
  const place = await openStorePlace();
  const one = await place.machine();
  const out = await one.checkOut('task');
  const working = await work(one, out);
  await working.commit(MADE, insert(0, 5));
  await out.journal?.durable();
  await mkdir(join(one.folder, 'raw/2026-03-15'), { recursive: true });
  const long = randomBytes(9 * 1024 * 1024);
  const raw = join(one.folder, 'raw/2026-03-15/00000001.gz');
  await writeFile(raw, long);
  await working.commit(insert(10, 5));
  await out.journal?.durable();
  await writeFile(raw, 'more', { flag: 'a' });
  await working.commit(insert(20, 5));
  await out.journal?.durable();
  const two = await place.machine();
  const again = await two.checkOut('task');
  expect(await rowsOf(two.layout.warehouse, COUNT)).toEqual([[15]]);
  const found = await readFile(join(two.folder, 'raw/2026-03-15/00000001.gz'));
  expect(found.equals(Buffer.concat([long, Buffer.from('more')]))).toBe(true);
  await again.release();
  await working.close();
  await out.release();
});

test('an abort during the download of a warehouse takes effect at once and releases the lease', async () => {
  const place = await openStorePlace();
  const one = await place.machine();
  const out = await one.checkOut();
  const working = await work(one, out);
  await working.commit(MADE, insert(0, 5));
  await working.close();
  await out.checkIn();
  await out.release();
  const two = await place.machine();
  const stop = new AbortController();
  let asked = 0;
  place.server.fault = ({ method, key }) => {
    if (method !== 'GET' || !key.includes('/base/')) return null;
    asked += 1;
    stop.abort(new SightlineError('interrupted', 'enough'));
    return 'busy';
  };
  const checkOut = two.remote.checkOut({ name: 'who stops', via: null }, stop.signal);
  await expect(checkOut).rejects.toMatchObject({ code: 'interrupted' });
  expect(asked).toBe(1);
  place.server.fault = () => null;
  await (await one.checkOut()).release();
});
