import { mkdir, readdir, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../src/warehouse/database.ts';
import { openReader } from '../../src/warehouse/reader.ts';
import { openReplica, publishAnalytics, REPLICA_OPTIONS } from '../../src/warehouse/replica.ts';
import { temporaryFolder } from '../support/folders.ts';

/** Sorts more than 64 MB. */
const LARGE = `SELECT count(*) FROM (SELECT lag(v) OVER (ORDER BY v) AS p, v FROM
  (SELECT hash(n)::VARCHAR || repeat('x', 60) AS v FROM range(1000000) t(n))) WHERE p > v`;

test('each reader spills into its own folder, which is removed when the reader closes', async () => {
  const folder = await temporaryFolder();
  const live = await openDatabase(join(folder, 'warehouse.duckdb'));
  onTestFinished(() => live.close());
  const path = join(folder, 'analytics.duckdb');
  await publishAnalytics(live, path);
  const [one, other] = [await openReader(path), await openReader(path)];
  const replica = await openReplica(path, { ...REPLICA_OPTIONS, memoryLimitMb: 64 });
  const asked = "SELECT current_setting('temp_directory')";
  const folders = [
    ...(await one.query(asked)).rows,
    ...(await other.query(asked)).rows,
    ...(await replica.work((query) => query(asked))),
  ].map(([name]) => String(name));
  expect(new Set(folders).size).toBe(3);
  for (const name of folders) expect(name.startsWith(`${path}.`)).toBe(true);
  expect(await replica.work((query) => query(LARGE))).toEqual([[0]]);
  one.close();
  other.close();
  await replica.close();
  expect((await readdir(folder)).filter((name) => name.startsWith('analytics'))).toEqual(['analytics.duckdb']);
});

test('the spill folder of a killed reader is removed a day later, when the replica is published', async () => {
  const folder = await temporaryFolder();
  const live = await openDatabase(join(folder, 'warehouse.duckdb'));
  onTestFinished(() => live.close());
  const path = join(folder, 'analytics.duckdb');
  for (const name of ['analytics.duckdb.spill-old', 'analytics.duckdb.spill-new', 'analytics.duckdb.notes'])
    await mkdir(join(folder, name, 'within'), { recursive: true });
  const longAgo = new Date(Date.now() - 25 * 3_600_000);
  await utimes(join(folder, 'analytics.duckdb.spill-old'), longAgo, longAgo);
  await utimes(join(folder, 'analytics.duckdb.notes'), longAgo, longAgo);
  await publishAnalytics(live, path);
  const left = (await readdir(folder)).filter((name) => name.startsWith('analytics.duckdb.'));
  expect(left.sort()).toEqual(['analytics.duckdb.notes', 'analytics.duckdb.spill-new']);
});
