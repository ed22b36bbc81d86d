import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises';
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

test('an incremental export that is killed after it published its files is repeated by the next one', async () => {
  const { data, folder, run, start, sandbox } = await openCli({ prompts: 2, days: 2 });
  const output = join(folder, 'changes');
  const args = ['export', '--since', 'last', '--output', output, '--json'];
  const positionOf = (text: string) => JSON.parse(text).changes.until.position;
  expect(await run('sync')).toMatchObject({ code: 0 });
  expect(positionOf((await run(...args)).stdout)).toBe(1);
  sandbox.advance({ days: 0, lateAnswers: 5 });
  expect(await run('sync')).toMatchObject({ code: 0 });
  const listing = join(output, 'export.json');
  const before = await readFile(listing, 'utf8');
  const [name = ''] = await readdir(join(data, 'positions'));
  const positions = join(data, 'positions', name);
  const victim = start(...args);
  // The write of the new position blocks, because nothing reads from the pipe.
  execFileSync('mkfifo', [join(positions, `position.json.${victim.process.pid}`)]);
  await until('the files are published', async () => {
    const left = (await readdir(folder)).filter((entry) => entry.startsWith('.changes'));
    return left.length === 0 && (await readFile(listing, 'utf8')) !== before;
  });
  victim.process.kill('SIGKILL');
  expect(await victim.finished).toMatchObject({ code: null, signal: 'SIGKILL' });
  expect(JSON.parse(await readFile(join(positions, 'position.json'), 'utf8'))).toMatchObject({ number: 1 });
  const published = hashes(output);

  const repeated = await run(...args);
  expect(repeated.code, repeated.stderr).toBe(0);
  expect(JSON.parse(repeated.stdout).changes).toMatchObject({ since: { position: 1 }, until: { position: 2 } });
  const tables = (all: Record<string, string>) => Object.entries(all).filter(([path]) => path.endsWith('.parquet'));
  expect(tables(hashes(output))).toEqual(tables(published));
  expect((await readdir(positions)).filter((entry) => !/^(position\.json|.*\.parquet)$/.test(entry))).toEqual([]);
  const last = JSON.parse((await run(...args)).stdout);
  expect(last.tables.every(({ rows }: { rows: number }) => rows === 0)).toBe(true);
});
