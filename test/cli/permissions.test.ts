import { lstatSync, readdirSync, statSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { runCli, shareCli } from './helpers.ts';

/** Files and folders below a folder, including itself, for which `isWrong` returns true, as `mode path`. */
function wrongIn(folder: string, isWrong: (mode: number, isFolder: boolean) => boolean): string[] {
  const names = ['', ...(readdirSync(folder, { recursive: true }) as string[])];
  return names
    .map((name) => ({ name, stats: lstatSync(join(folder, name)) }))
    .filter(({ stats }) => !stats.isSymbolicLink() && isWrong(stats.mode & 0o777, stats.isDirectory()))
    .map(({ name, stats }) => `${(stats.mode & 0o777).toString(8)} ${name}`);
}

const isNotPrivate = (mode: number): boolean => (mode & 0o077) !== 0;

const workspace = shareCli({ prompts: 1, days: 1, isNew: true });

beforeAll(async () => {
  // In a process, in which the command line itself sets the umask.
  const small = { cron: '0 5 * * *', steps: [{ do: 'sync', only: ['brands'] }, 'export'] };
  await writeFile(join(workspace.folder, 'sightline.config.json'), JSON.stringify({ jobs: { small } }));
  const { code, stderr } = await workspace.start('jobs', 'run', 'small').finished;
  expect(code, stderr).toBe(0);
});

test('only the owner can access the files of the data folder', async () => {
  const { folder, done } = workspace;
  await done('keys', 'create', 'one');
  const all = join(folder, 'data');
  expect(readdirSync(all, { recursive: true })).toEqual(
    expect.arrayContaining(['.budgets', 'default/warehouse.duckdb', 'default/analytics.duckdb', 'default/jobs.json']),
  );
  expect(wrongIn(all, isNotPrivate)).toEqual([]);
});

test('files outside the data folder follow the umask, except a backup', async () => {
  const { folder, done } = workspace;
  const umask = process.umask();
  const isOther = (mode: number, isFolder: boolean): boolean => mode !== ((isFolder ? 0o777 : 0o666) & ~umask);
  const out = join(folder, 'out');
  await done('export', '--tables', 'brands', '--format', 'csv', '--output', out);
  await done('sql', 'select 1', '--output', join(folder, 'one.csv'));
  expect(wrongIn(out, isOther)).toEqual([]);
  expect(isOther(statSync(join(folder, 'one.csv')).mode & 0o777, false)).toBe(false);
  const backup = join(folder, 'backup.duckdb');
  expect(await done('backup', backup)).toMatchObject({ stdout: `${backup}\n` });
  expect(statSync(backup).mode & 0o777).toBe(0o600);
});

test('a group may read the data if the settings allow it, but no keys', async () => {
  const { folder, env } = workspace;
  const shared = { ...env, SIGHTLINE_PERMISSIONS: 'group', SIGHTLINE_DATA_DIR: 'shared' };
  for (const args of [
    ['sync', '--only', 'brands'],
    ['keys', 'create', 'one'],
  ]) {
    const { code, stderr } = await runCli(args, { cwd: folder, env: shared });
    expect(code, stderr).toBe(0);
  }
  const isNotShared = (mode: number, isFolder: boolean): boolean => mode !== (isFolder ? 0o750 : 0o640);
  expect(wrongIn(join(folder, 'shared', 'default'), isNotShared)).toEqual(['600 keys.json']);
  const refused = await runCli(['status'], { cwd: folder, env: { ...env, SIGHTLINE_PERMISSIONS: 'all' } });
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('allowed: private or group') });
});
