import { rename, writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { openMirror } from './mirror.ts';

test('where the newest copy cannot be read the one before serves on, until there is one that can', async () => {
  const { publish, copy, mirror } = await openMirror({ brands: 1, prompts: 2, days: 3, seed: 33 });
  await publish();
  const before = await mirror('/brands');
  expect(before.status).toBe(200);
  for (const damaged of ['', 'this is no database', 'x'.repeat(100_000)]) {
    await writeFile(`${copy}.aside`, damaged);
    await rename(`${copy}.aside`, copy);
    expect(await mirror('/brands')).toEqual(before);
    expect(await mirror('/brands')).toEqual(before);
  }
  await publish();
  expect(await mirror('/brands')).toEqual(before);
});

test('a copy that cannot be read, where there was none before, is as good as none', async () => {
  const { publish, copy, mirror } = await openMirror({ brands: 1, prompts: 2, days: 3, seed: 33 });
  await writeFile(copy, 'this is no database');
  expect(await mirror('/brands')).toMatchObject({ status: 503, body: { error: { code: 'no_data' } } });
  await publish();
  expect(await mirror('/brands')).toMatchObject({ status: 200 });
});
