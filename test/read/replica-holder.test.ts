import { readFile, rename, writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { defaultConventions } from '../../src/metrics/calibration/conventions.ts';
import { REPLICA_OPTIONS } from '../../src/warehouse/replica.ts';
import { openMirror } from './mirror.ts';

/** Opens a mirror; `publish` replaces its replica by rename, like a sync. */
async function open() {
  const { copy, mirror } = await openMirror({ world: 'tiny', conventions: defaultConventions });
  const whole = await readFile(copy);
  const publish = async (content: string | Buffer): Promise<void> => {
    await writeFile(`${copy}.aside`, content);
    await rename(`${copy}.aside`, copy);
  };
  return { copy, mirror, whole, publish };
}

test('if the newest replica cannot be read, the previous one stays in use until a readable one is published', async () => {
  const { mirror, whole, publish } = await open();
  const before = await mirror('/brands');
  expect(before.status).toBe(200);
  for (const damaged of ['', 'this is no database', 'x'.repeat(100_000)]) {
    await publish(damaged);
    expect(await mirror('/brands')).toEqual(before);
    expect(await mirror('/brands')).toEqual(before);
  }
  await publish(whole);
  expect(await mirror('/brands')).toEqual(before);
});

test('an unreadable replica without a predecessor gives no_data', async () => {
  const { copy, mirror, whole, publish } = await open();
  await writeFile(copy, 'this is no database');
  expect(await mirror('/brands')).toMatchObject({ status: 503, body: { error: { code: 'no_data' } } });
  await publish(whole);
  expect(await mirror('/brands')).toMatchObject({ status: 200 });
});

test('a replica overwritten while open gives no_data until the next one is published, never 500', async () => {
  const { copy, mirror, whole, publish } = await open();
  const before = await mirror('/brands');
  for (const damaged of [Buffer.from('a\n1\n'), Buffer.alloc(0), whole.subarray(0, whole.length - 262_144)]) {
    await writeFile(copy, damaged);
    for (const path of ['/brands', '/engines', '/brands']) {
      expect(await mirror(path)).toMatchObject({ status: 503, body: { error: { code: 'no_data' } } });
    }
    await publish(whole);
    expect(await mirror('/brands')).toEqual(before);
  }
});

test('an opened replica has no blocks of its file in memory until it is read, and its memory limit', async () => {
  const { service } = await openMirror({ world: 'tiny', conventions: defaultConventions });
  const { replica } = await service.newest();
  const [[bytes, limit] = []] = await replica.work((query) =>
    query('SELECT CAST(sum(memory_usage_bytes) AS BIGINT), current_setting($1) FROM duckdb_memory()', ['memory_limit']),
  );
  expect(bytes).toBeLessThan(1_000_000);
  expect(limit).toBe(`${((REPLICA_OPTIONS.memoryLimitMb * 1e6) / 2 ** 20).toFixed(1)} MiB`);
});

test('long tasks leave one connection to other tasks, and keep the replica open until they end', async () => {
  const { service } = await openMirror({ world: 'tiny', conventions: defaultConventions });
  const { replica, workLong } = await service.newest();
  const stop = new AbortController();
  const endless = 'SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE hash(a.range + b.range) = 1';
  const long = [1, 2, 3, 4].map(() => workLong((query) => query(endless), stop.signal));
  const last = workLong((query) => query('SELECT 1'));
  expect(await replica.work((query) => query('SELECT 2'))).toEqual([[2]]);
  expect(replica.load()).toEqual({ running: 2, waiting: 0 });
  const closed = service.close();
  stop.abort(new Error('enough'));
  expect((await Promise.allSettled(long)).map(({ status }) => status)).toEqual(Array(4).fill('rejected'));
  expect(await last).toEqual([[1]]);
  await closed;
});
