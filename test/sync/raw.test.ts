import { chmodSync, existsSync } from 'node:fs';
import { mkdir, open, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { type Member, readMember, walkMembers } from '../../src/sync/raw/raw-format.ts';
import { listRawFiles, openRawLog, type RawLimits, retainRawFiles } from '../../src/sync/raw/raw-log.ts';
import { toRawRecord } from '../../src/sync/raw/raw-record.ts';
import { temporaryFolder } from '../support/folders.ts';
import { testWith } from '../support/needs.ts';
import { openWorkspace } from '../support/workspace.ts';
import { daysKept, KEEP_ALL, keepPages, readRawFiles, replayAll } from './kept.ts';

const few = { brands: 1, prompts: 2, days: 3, seed: 51 } as const;
const body = (length: number): Buffer => Buffer.alloc(length, 'x{"ä": "\n"}');

test('reads records with the names of earlier versions, and says which field of another is invalid', () => {
  const run = {
    runId: '0199a1b2-0000-7000-8000-000000000001',
    passId: '0199a1b2-0000-7000-8000-000000000002',
    date: 0,
  };
  const origin = { kind: 'look', trigger: 'command' };
  expect(toRawRecord({ ...run, kind: 'begin', options: '', origin })).toMatchObject({ origin: { kind: 'plan' } });
  const part = {
    resource: 'topics',
    from: null,
    to: null,
    member: null,
    fixed: {},
    path: '/topics',
    query: {},
    next: null,
  };
  const page = { ...run, ...part, kind: 'page', page: 1 };
  expect(toRawRecord({ ...page, chain: 'topics brand=1' })).toMatchObject({ slice: 'topics brand=1' });
  expect(() => toRawRecord(page)).toThrow(/not a valid record \(slice: /);
});

describe('raw files', () => {
  test('return all appended records in order, byte for byte, also through gunzip', async () => {
    const folder = join(await temporaryFolder(), 'raw');
    const log = await openRawLog(folder, KEEP_ALL);
    const sizes = [0, 1, 100, 300_000, 7];
    const places = await Promise.all(
      sizes.map((size, index) => log.append('2026-03-15', `record ${index} ü`, { index }, body(size))),
    );
    await log.close();
    const [file] = await readRawFiles(folder);
    expect(places.map(({ position }) => position)).toEqual(
      [...places.map(({ position }) => position)].sort((a, b) => a - b),
    );
    const handle = await open(file?.path as string);
    const members: Member[] = [];
    for await (const member of walkMembers(handle)) members.push(member as Member);
    expect(members.map(({ position, bytes }) => ({ position, bytes }))).toEqual(
      places.map(({ position, bytes }) => ({ position, bytes })),
    );
    for (const [index, member] of members.entries()) {
      const read = await readMember(handle, member);
      expect(read.header).toEqual({ index });
      expect(read.body.equals(body(sizes[index] as number))).toBe(true);
    }
    await handle.close();
    expect(gunzipSync(file?.bytes as Buffer).toString()).toContain('{"index":4}\n');
  });

  test('are read after damaged records and up to a truncated one', async () => {
    const folder = join(await temporaryFolder(), 'raw');
    const log = await openRawLog(folder, KEEP_ALL);
    const places = [];
    for (const index of [0, 1, 2, 3])
      places.push(await log.append('2026-03-15', `record ${index}`, { index }, body(999)));
    await log.close();
    const [file] = await readRawFiles(folder);
    const path = file?.path as string;
    const bytes = file?.bytes as Buffer;
    bytes.fill(0x55, (places[1]?.position ?? 0) + 2, (places[1]?.position ?? 0) + 30);
    await writeFile(path, bytes);
    await truncate(path, bytes.length - 5);
    const handle = await open(path);
    const seen: string[] = [];
    for await (const found of walkMembers(handle)) {
      seen.push('comment' in found ? found.comment : `gap at ${found.position}, cut off: ${found.isCutOff}`);
    }
    await handle.close();
    expect(seen).toEqual([
      'record 0',
      `gap at ${places[1]?.position}, cut off: false`,
      'record 2',
      `gap at ${places[3]?.position}, cut off: true`,
    ]);
  });

  test('are removed oldest first when they are too old or too large', async () => {
    const folder = join(await temporaryFolder(), 'raw');
    for (const day of ['2026-01-31', '2026-02-01', '2026-03-01', '2026-03-02']) {
      const log = await openRawLog(folder, KEEP_ALL);
      await log.append(day, 'record', {}, Buffer.from(Array.from({ length: 400_000 }, () => Math.random() * 256)));
      await log.close();
    }
    const retain = async (limits: RawLimits) => (await retainRawFiles(folder, limits, { today: '2026-03-02' })).kept;
    expect(await retain({ days: 0, megabytes: 1 })).toHaveLength(4);
    expect(await retain({ days: 30, megabytes: 100 })).toHaveLength(3);
    expect(await daysKept(folder)).toEqual(['2026-02-01', '2026-03-01', '2026-03-02']);
    expect(await retain({ days: 30, megabytes: 1 })).toHaveLength(2);
    expect(await daysKept(folder)).toEqual(['2026-03-01', '2026-03-02']);
    const log = await openRawLog(folder, KEEP_ALL);
    await log.append('2026-03-03', 'record', {}, null);
    await log.close();
    expect((await listRawFiles(folder)).map(({ number }) => number)).toEqual([3, 4, 5]);
  });
});

describe('a sync', () => {
  test('archives every page that it commits, without the API key', async () => {
    const workspace = await openWorkspace(few);
    const { folder, sync } = await keepPages(workspace);
    const only = ['responses', 'alerts', 'article'];
    expect(await sync({ only })).toMatchObject({ status: 'complete', warnings: [] });
    const [counts] = await workspace.query(`SELECT
      (SELECT CAST(count(*) AS INTEGER) FROM sync.requests WHERE status = 200 AND rows IS NOT NULL) AS answered,
      (SELECT CAST(count(*) AS INTEGER) FROM sync.raw_pages) AS kept,
      (SELECT CAST(count(DISTINCT (file, position)) AS INTEGER) FROM sync.raw_pages) AS places`);
    expect(counts?.['kept']).toBe(counts?.['answered']);
    expect(counts?.['places']).toBe(counts?.['kept']);
    for (const { bytes } of await readRawFiles(folder)) {
      const text = gunzipSync(bytes).toString();
      expect(text).not.toContain(workspace.sandbox.key);
      expect(text).not.toMatch(/gsk_|authorization|x-api-key/i);
    }
    await sync({ only, limits: { days: 0, megabytes: 2000 } });
    expect(await listRawFiles(folder)).toHaveLength(1);
  });

  test('deletes the records of pages whose file was removed', async () => {
    const workspace = await openWorkspace(few);
    const { folder, sync } = await keepPages(workspace);
    await sync({ only: ['prompts'] });
    workspace.sandbox.advance({ days: 40 });
    await sync({ only: ['alerts'] });
    expect(await listRawFiles(folder)).toHaveLength(1);
    const kept = await workspace.query('SELECT DISTINCT resource FROM sync.raw_pages ORDER BY 1');
    expect(kept.map(({ resource }) => resource)).toEqual(['alerts', 'brands']);
  });

  test('continues with a warning if the folder of raw pages cannot be created', async () => {
    const workspace = await openWorkspace(few);
    const { folder, sync } = await keepPages(workspace);
    await writeFile(folder, 'a file instead of the folder');
    const summary = await sync({ only: ['prompts'] });
    expect(summary).toMatchObject({ status: 'complete', error: null });
    expect(summary.warnings.map(({ message }) => message).join()).toMatch(/^raw pages are not archived: /);
    expect(await workspace.query('SELECT 1 FROM sync.raw_pages')).toEqual([]);
  });

  testWith(process.getuid?.() === 0 ? 'root can write into every folder' : null)(
    'continues if it may not write into the folder of raw pages',
    async () => {
      const workspace = await openWorkspace(few);
      const { folder, sync } = await keepPages(workspace);
      await mkdir(folder);
      chmodSync(folder, 0o500);
      expect(await sync({ only: ['prompts'] })).toMatchObject({
        status: 'complete',
        warnings: [{ code: 'folder_unwritable' }],
      });
    },
  );
});

describe('a replay of damaged files', () => {
  test('reports file and page, replays the rest, and deletes no rows because of missing pages', async () => {
    const workspace = await openWorkspace({ ...few, responsesPerDay: 150 });
    const { folder, sync } = await keepPages(workspace);
    await sync({ only: ['responses'] });
    await sync({ only: ['responses'] });
    const [page] = await workspace.query(`SELECT file, CAST(position AS INTEGER) AS position, slice FROM sync.raw_pages
      WHERE resource = 'responses' AND page = 2 ORDER BY received_at, file, position LIMIT 1`);
    expect(page).toBeDefined();
    const path = join(folder, String(page?.['file']));
    expect(existsSync(path)).toBe(true);
    const handle = await open(path, 'r+');
    await handle.write(Buffer.alloc(40, 0x55), 0, 40, Number(page?.['position']) + 500);
    await handle.close();
    const { damages, warehouse, pages } = await replayAll(workspace, folder);
    expect(damages).toHaveLength(1);
    expect(damages[0]).toMatchObject({ file: page?.['file'], position: page?.['position'] });
    expect(damages[0]?.page).toContain(`page 2 of ${page?.['slice']}`);
    const [all] = await workspace.query('SELECT CAST(count(*) AS INTEGER) AS n FROM sync.raw_pages');
    expect(pages).toBe(Number(all?.['n']) - 1);
    const gone = await warehouse.database.exclusive(({ all: rows }) =>
      rows('SELECT count(*) AS n FROM responses WHERE _deleted_at IS NOT NULL'),
    );
    expect(gone).toEqual([{ n: 0n }]);
  });
});
