import { statfsSync } from 'node:fs';
import { readdir, readlink, rm, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ownerLimits } from '../../src/operations/query.ts';
import { type Layout, layoutOf } from '../../src/snapshot/layout.ts';
import { exportSnapshot, type Snapshot } from '../../src/snapshot/snapshot-export.ts';
import { openDatabase } from '../../src/warehouse/database.ts';
import { openGuardedSql } from '../../src/warehouse/sql/guarded-sql.ts';
import { IS_ENDURANCE } from '../support/counts.ts';
import { temporaryFolder } from '../support/folders.ts';
import { smallDisk } from '../support/small-disk.ts';
import { type OddWorkspace, openOddWorkspace } from './odd-workspace.ts';
import { hashes } from './readers.ts';

const DISK_BYTES = 8 * 1024 * 1024;
const NO_DISK = 'NOT TRIED: a full disk. This user cannot mount a file system in memory';

async function take({ database, catalogue, clock }: OddWorkspace, layout: Layout): Promise<Snapshot> {
  const { signal } = new AbortController();
  return exportSnapshot(database, catalogue, layout, { compression: 'snappy', keep: null, clock, signal });
}

test('a full disk ends an export with disk_full, and the last snapshot stays unchanged', async (context) => {
  const disk = (await smallDisk(DISK_BYTES))?.folder;
  if (disk === undefined) return context.skip(NO_DISK);
  const workspace = await openOddWorkspace();
  onTestFinished(workspace.close);
  const layout = layoutOf(disk);
  const { bavail, bsize } = await statfs(disk);
  const filler = join(disk, 'filler');
  const leave = (bytes: number) => writeFile(filler, Buffer.alloc(Math.max(0, bavail * bsize - bytes)));
  await leave(2 * bsize);
  await expect(take(workspace, layout)).rejects.toMatchObject({ code: 'disk_full' });
  expect(await readdir(layout.snapshots)).toEqual([]);
  await rm(filler);

  const last = await take(workspace, layout);
  const before = hashes(last.path);
  await workspace.run("UPDATE responses SET prompt = 'edited'", "UPDATE alerts SET headline = 'edited'");
  const free = statfsSync(disk).bavail;
  const used = bavail - free;
  // Almost no free space, and then a little more each time, so that it runs out at different moments.
  let failures = 0;
  for (const spareBytes of [0, 16_384, 40_000, ...(IS_ENDURANCE ? [65_536, 120_000] : [])]) {
    await leave(spareBytes + used * bsize);
    const outcome = await take(workspace, layout).catch((thrown: unknown) => thrown);
    if (!(outcome instanceof Error)) break;
    failures += 1;
    expect(outcome).toMatchObject({
      code: 'disk_full',
      message: expect.stringMatching(
        /^the disk of .*\/snapshots has [\d.]+ MB free, and a snapshot needs about [\d.]+ MB; the last snapshot is unchanged$/,
      ),
    });
    expect((await readdir(layout.snapshots)).sort()).toEqual([last.id, 'latest']);
    expect(await readlink(layout.latest)).toBe(last.id);
    expect(hashes(last.path)).toEqual(before);
    await rm(filler);
    expect(statfsSync(disk).bavail).toBe(free);
  }
  expect(failures).toBeGreaterThan(2);
  await rm(filler, { force: true });
  const next = await take(workspace, layout);
  expect(await readlink(layout.latest)).toBe(next.id);
});

test('a query with rows that do not fit on the disk fails with disk_full', async (context) => {
  const disk = (await smallDisk(DISK_BYTES))?.folder;
  if (disk === undefined) return context.skip(NO_DISK);
  const path = join(await temporaryFolder(), 'rows.duckdb');
  await (await openDatabase(path)).close();
  const output = join(disk, 'rows.parquet');
  const guarded = await openGuardedSql(path, { audience: 'owner', limits: ownerLimits(), output });
  onTestFinished(() => guarded.close());
  const rows = 'SELECT hash(range)::VARCHAR AS text FROM range(2000000)';
  await expect(guarded.writeParquet(rows)).rejects.toMatchObject({ code: 'disk_full' });
});
