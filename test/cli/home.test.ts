import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { temporaryFolder } from '../support/folders.ts';
import { runCommand } from '../support/run-command.ts';
import { copyWorld } from '../support/worlds.ts';
import { type CliWorkspace, openCli, rowsIn } from './helpers.ts';

/** A job that takes the lease, and saves. */
const KEEP = { keep: { cron: '0 5 * * *', steps: ['retention'] } };
const COUNT = 'SELECT count(*) AS n FROM responses';

/** A machine that shares only the home with the others. */
async function machineOf({ env }: CliWorkspace, settings: object) {
  const folder = await temporaryFolder();
  const set = (changed: object) => writeFile(join(folder, 'sightline.config.json'), JSON.stringify(changed));
  await set(settings);
  const run = (...args: string[]) => runCommand(args, { cwd: folder, env, clock: systemClock });
  const done = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await run(...args);
    expect(code, stderr + stdout).toBe(0);
    return stdout;
  };
  return { folder, run, done, rows: (sql: string) => rowsIn(folder, env, sql), set };
}

test('a workspace moves between its folder and a home, from which other machines read, back up and restore it', async () => {
  const cli = await openCli({ world: 'tiny' });
  const [one, two, three] = [await machineOf(cli, {}), await machineOf(cli, {}), await machineOf(cli, {})];
  const path = join(await temporaryFolder(), 'home.duckdb');
  const settings = { home: 'h', destinations: { h: { kind: 'duckdb', path } } };
  await copyWorld('tiny', one.folder);
  const rows = await one.rows(COUNT);
  await three.set(settings);
  const none = await three.run('sql', 'SELECT 1', '--json');
  expect([none.code, none.stdout]).toEqual([1, expect.stringContaining('no_data')]);

  // Move to the home: the data of the folder are saved and not fetched again.
  await one.set(settings);
  const asked = cli.sandbox.requests.length;
  await one.done('export');
  expect(cli.sandbox.requests.length).toBe(asked);
  expect(await three.rows(COUNT)).toEqual(rows);

  await two.set({ ...settings, jobs: KEEP });
  await two.done('jobs', 'run', 'keep');

  const backup = join(three.folder, 'backup.duckdb');
  await three.done('backup', backup);
  const refused = await one.run('restore', backup, '--yes');
  expect([refused.code, refused.stderr]).toEqual([
    2,
    expect.stringMatching(/has data in destination h; --force replaces/),
  ]);
  await one.done('restore', backup, '--yes', '--force');
  const cluster = JSON.parse(await three.done('cluster', 'status', '--json'));
  expect(cluster.homes).toMatchObject([{ workspace: 'default', lease: null }]);
  const doctor = await one.done('doctor');
  expect(doctor).toMatch(/^ok +home +destination h: position \d+, last saved at 20.*; not in use/m);
  expect(doctor).toMatch(/^ok +warehouse +the replica of the last save is intact/m);
  // The home cannot be read.
  await writeFile(path, 'not a database');
  expect(await three.rows(COUNT)).toEqual(rows);
  const failed = await three.run('sync', '--json');
  expect([failed.code, failed.stdout]).toEqual([1, expect.stringContaining('destination_failed')]);

  // Move back to the folder, which may be older than the last save of others.
  await one.set({ clock: 'upstream', jobs: KEEP });
  const old = await one.run('sync', '--json');
  expect([old.code, old.stdout]).toEqual([
    1,
    expect.stringMatching(/home_conflict.*is a copy of a workspace in destination h/),
  ]);
  await one.done('restore', backup, '--yes', '--force');
  await one.done('jobs', 'run', 'keep');
  expect(await one.rows(COUNT)).toEqual(rows);
});
