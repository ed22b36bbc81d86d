import { existsSync } from 'node:fs';
import { mkdir, readdir, readlink, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openDatabase } from '../../src/warehouse/database.ts';
import { openCli, until } from '../cli/helpers.ts';
import { hashes } from './readers.ts';

test('a killed export leaves the last snapshot in place, and the next export removes the leftovers', async () => {
  const workspace = await openCli({ prompts: 2, days: 2 });
  const snapshots = join(workspace.data, 'snapshots');
  expect(await workspace.run('sync')).toMatchObject({ code: 0 });
  const { snapshotId: first } = JSON.parse((await workspace.run('export', '--json')).stdout);
  const before = hashes(join(snapshots, first));
  // Enough rows that the export can be killed in the middle.
  const database = await openDatabase(join(workspace.data, 'warehouse.duckdb'));
  await database.exclusive((session) =>
    session.run(`INSERT INTO responses (id, prompt, created_at, _row_hash)
      SELECT uuid(), 'prompt ' || i, TIMESTAMP '2020-01-01' + INTERVAL (i) MINUTE, md5(CAST(i AS VARCHAR))
      FROM range(400000) t(i)`),
  );
  await database.close();
  const victim = workspace.start('export');
  await until('a part is being written', async () => {
    const asides = (await readdir(snapshots)).filter((name) => name.startsWith('.new-'));
    return asides.some((name) => existsSync(join(snapshots, name, 'responses')));
  });
  victim.process.kill('SIGKILL');
  expect(await victim.finished).toMatchObject({ code: null, signal: 'SIGKILL' });
  expect(await readlink(join(snapshots, 'latest'))).toBe(first);
  expect(hashes(join(snapshots, first))).toEqual(before);
  const left = (await readdir(snapshots)).filter((name) => name !== 'latest' && name !== first);
  expect(left).toEqual([`.new-${victim.process.pid}`]);

  const next = await workspace.run('export', '--json');
  expect(next.code, next.stderr).toBe(0);
  const { snapshotId: second, tables } = JSON.parse(next.stdout);
  expect((await readdir(snapshots)).sort()).toEqual([first, second, 'latest']);
  expect(await readlink(join(snapshots, 'latest'))).toBe(second);
  expect(tables.find(({ name }: { name: string }) => name === 'responses').rows).toBeGreaterThan(400_000);
  expect(existsSync(join(workspace.data, 'owner.json'))).toBe(false);

  const interrupted = workspace.start('export', '--json');
  await until('it is under way', async () => (await readdir(snapshots)).some((name) => name.startsWith('.new-')));
  interrupted.process.kill('SIGINT');
  const { code, stdout, stderr } = await interrupted.finished;
  expect(code, stderr).toBe(130);
  expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'interrupted' } });
  expect(stderr).not.toMatch(/\n\s+at /);
  expect((await readdir(snapshots)).sort()).toEqual([first, second, 'latest']);
  expect(await readlink(join(snapshots, 'latest'))).toBe(second);
});

test('an export fails with a clear error while the snapshots folder cannot be written, and works afterwards', async () => {
  const workspace = await openCli({ prompts: 1, days: 1 });
  expect(await workspace.run('sync', '--only', 'prompts')).toMatchObject({ code: 0 });
  const snapshots = join(workspace.data, 'snapshots');
  await writeFile(snapshots, 'a file');
  const { code, stderr } = await workspace.run('export');
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringMatching(
      /^sightline: cannot write to the folder .*snapshots \(E[A-Z]+\)\nSet SIGHTLINE_DATA_DIR .*\n$/,
    ),
  });
  await rm(snapshots);
  await mkdir(snapshots);
  expect(await workspace.run('export')).toMatchObject({ code: 0 });
});
