import { readFile, rename, writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { defaultConventions } from '../../src/analytics/calibration/conventions.ts';
import { openMirror } from './mirror.ts';

const options = { world: 'tiny', conventions: defaultConventions } as const;

test('if the newest replica cannot be read, the previous one stays in use until a readable one is published', async () => {
  const { publishOnly, copy, mirror } = await openMirror(options);
  const before = await mirror('/brands');
  expect(before.status).toBe(200);
  for (const damaged of ['', 'this is no database', 'x'.repeat(100_000)]) {
    await writeFile(`${copy}.aside`, damaged);
    await rename(`${copy}.aside`, copy);
    expect(await mirror('/brands')).toEqual(before);
    expect(await mirror('/brands')).toEqual(before);
  }
  await publishOnly();
  expect(await mirror('/brands')).toEqual(before);
});

test('an unreadable replica without a predecessor gives no_data', async () => {
  const { publishOnly, copy, mirror } = await openMirror(options);
  await writeFile(copy, 'this is no database');
  expect(await mirror('/brands')).toMatchObject({ status: 503, body: { error: { code: 'no_data' } } });
  await publishOnly();
  expect(await mirror('/brands')).toMatchObject({ status: 200 });
});

test('a replica overwritten while open gives no_data until the next one is published, never 500', async () => {
  const { publishOnly, copy, mirror } = await openMirror(options);
  const before = await mirror('/brands');
  const whole = await readFile(copy);
  for (const damaged of [Buffer.from('a\n1\n'), Buffer.alloc(0), whole.subarray(0, whole.length - 262_144)]) {
    await writeFile(copy, damaged);
    for (const path of ['/brands', '/engines', '/brands']) {
      expect(await mirror(path)).toMatchObject({ status: 503, body: { error: { code: 'no_data' } } });
    }
    await publishOnly();
    expect(await mirror('/brands')).toEqual(before);
  }
});
