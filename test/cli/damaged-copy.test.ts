import { readFile, rm, stat, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { checkOpens } from '../../src/warehouse/file/read-only.ts';
import { sampleOf } from '../support/counts.ts';
import { expectRefusal, shareCli } from './helpers.ts';

const workspace = shareCli({ world: 'tiny' });
let copy: string;
let whole: Buffer;

beforeAll(async () => {
  copy = join(workspace.data, 'analytics.duckdb');
  whole = await readFile(copy);
});

/** Damages the copy without changing its modification time. */
async function damage(how: 'cut off' | 'overwritten' | 'emptied'): Promise<void> {
  const { mtime } = await stat(copy);
  if (how === 'cut off') await truncate(copy, whole.length - 262_144);
  else await writeFile(copy, how === 'emptied' ? '' : 'a\n1\n');
  await utimes(copy, mtime, mtime);
}

const count = 'select count(*) as n from prompts';

test.each(sampleOf(['cut off', 'overwritten', 'emptied'] as const, 1, 2))(
  'sql reads the warehouse if the copy is %s, and export publishes the copy again',
  async (how) => {
    await damage(how);
    expect(await workspace.rows(count)).toEqual([{ n: 3 }]);
    expect(await workspace.run('status')).toMatchObject({ code: 0 });
    await expect(checkOpens(copy)).rejects.toMatchObject({ code: 'warehouse_invalid' });
    expect(await workspace.run('export')).toMatchObject({ code: 0 });
    await checkOpens(copy);
    expect(await workspace.rows(count)).toEqual([{ n: 3 }]);
  },
);

test('a damaged copy without a warehouse is no data', async () => {
  await rm(join(workspace.data, 'warehouse.duckdb'));
  await damage('overwritten');
  expectRefusal(await workspace.run('sql', count, '--json'), 'no_data', true);
});
