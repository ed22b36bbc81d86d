import { lstatSync, readdirSync, statSync } from 'node:fs';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openCliFor, runCli } from './helpers.ts';

/** Files and folders below a folder, including itself, for which `isWrong` returns true, as `mode path`. */
function wrongIn(folder: string, isWrong: (mode: number, isFolder: boolean) => boolean): string[] {
  const names = ['', ...(readdirSync(folder, { recursive: true }) as string[])];
  return names
    .map((name) => ({ name, stats: lstatSync(join(folder, name)) }))
    .filter(({ stats }) => !stats.isSymbolicLink() && isWrong(stats.mode & 0o777, stats.isDirectory()))
    .map(({ name, stats }) => `${(stats.mode & 0o777).toString(8)} ${name}`);
}

const isNotPrivate = (mode: number): boolean => (mode & 0o077) !== 0;

let workspace: Awaited<ReturnType<typeof openCliFor>>;

beforeAll(async () => {
  workspace = await openCliFor({ prompts: 1, days: 1 });
  // In a process, in which the command line itself sets the umask.
  const small = { cron: '0 5 * * *', steps: [{ do: 'sync', only: ['brands'] }, 'export'] };
  await writeFile(join(workspace.folder, 'sightline.config.json'), JSON.stringify({ jobs: { small } }));
  const { code, stderr } = await workspace.start('jobs', 'run', 'small').finished;
  expect(code, stderr).toBe(0);
});
afterAll(() => workspace.close());

test('only the owner can access the files of the data folder', async () => {
  const { folder, run } = workspace;
  expect((await run('keys', 'create', 'one')).code).toBe(0);
  const all = join(folder, 'data');
  expect(readdirSync(all, { recursive: true })).toEqual(
    expect.arrayContaining(['.budgets', 'default/warehouse.duckdb', 'default/analytics.duckdb', 'default/jobs.json']),
  );
  expect(wrongIn(all, isNotPrivate)).toEqual([]);
});

test('files outside the data folder follow the umask, except a backup', async () => {
  const { folder, run } = workspace;
  const umask = process.umask();
  const isOther = (mode: number, isFolder: boolean): boolean => mode !== ((isFolder ? 0o777 : 0o666) & ~umask);
  const out = join(folder, 'out');
  expect((await run('export', '--tables', 'brands', '--format', 'csv', '--output', out)).code).toBe(0);
  expect((await run('sql', 'select 1', '--output', join(folder, 'one.csv'))).code).toBe(0);
  expect(wrongIn(out, isOther)).toEqual([]);
  expect(isOther(statSync(join(folder, 'one.csv')).mode & 0o777, false)).toBe(false);
  const backup = join(folder, 'backup.duckdb');
  expect((await run('backup', backup)).code).toBe(0);
  expect(statSync(backup).mode & 0o777).toBe(0o600);
});

test('doctor finds and fixes permissions that an earlier version has left open', async () => {
  const { data, run } = workspace;
  await chmod(join(data, 'warehouse.duckdb'), 0o644);
  await chmod(join(data, 'raw'), 0o755);
  await chmod(data, 0o755);
  const examine = async (...flags: string[]) => {
    const { checks } = JSON.parse((await run('doctor', '--offline', '--json', ...flags)).stdout);
    return checks.filter(({ check }: { check: string }) => check === 'permissions');
  };
  expect(await examine()).toMatchObject([
    {
      status: 'warning',
      message: `1 file and 2 folders of ${data} are accessible to other users, such as ${data} (0755)`,
    },
  ]);
  expect(wrongIn(data, isNotPrivate)).toHaveLength(3);
  expect(await examine('--fix')).toMatchObject([{ status: 'ok', fixed: true }]);
  expect(wrongIn(data, isNotPrivate)).toEqual([]);
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
