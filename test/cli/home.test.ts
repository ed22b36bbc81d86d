import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, type TestContext, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { openTarget } from '../destinations/places.ts';
import { expectConsistent, expectEqualToUpstream } from '../support/compare.ts';
import { countOf } from '../support/counts.ts';
import { temporaryFolder } from '../support/folders.ts';
import { type Finished, runCommand } from '../support/run-command.ts';
import { spreadOver, withWarehouseFile } from '../support/warehouse-file.ts';
import { copyWorld } from '../support/worlds.ts';
import { type CliWorkspace, openCli, type Running, rowsIn, startCli, until } from './helpers.ts';

const KILLS = countOf(1, 10);
/** Resources that the syncs read. */
const ONLY = ['brands', 'prompts', 'responses'];
/** Requests after which a sync is killed. One that ends before is not counted. */
const LIFE_REQUESTS = { least: 2, most: 6 };
/** A job that takes the lease, and saves. */
const KEEP = { keep: { cron: '0 5 * * *', steps: ['retention'] } };
const COUNT = 'SELECT count(*) AS n FROM responses';

/** A machine that shares only the home with the others. */
interface Machine {
  readonly folder: string;
  /** The workspace's folder in the data folder. */
  readonly data: string;
  /** Starts a command in a process. */
  start(...args: string[]): Running;
  run(...args: string[]): Promise<Finished>;
  /** Runs a command that must succeed, and returns its output. */
  done(...args: string[]): Promise<string>;
  rows(sql: string): Promise<Record<string, unknown>[]>;
  set(settings: object): Promise<void>;
}

/** Makes the clock of the commands of a test go on by some minutes. */
let minutes = 0;

async function machineOf({ env }: CliWorkspace, settings: object): Promise<Machine> {
  const folder = await temporaryFolder();
  const set = (changed: object) => writeFile(join(folder, 'sightline.config.json'), JSON.stringify(changed));
  await set(settings);
  const clock = { ...systemClock, now: () => systemClock.now() + minutes * 60_000 };
  const run = (...args: string[]) => runCommand(args, { cwd: folder, env, clock });
  const done = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await run(...args);
    expect(code, stderr + stdout).toBe(0);
    return stdout;
  };
  const rows = (sql: string) => rowsIn(folder, env, sql);
  const start = (...args: string[]) => startCli(args, { cwd: folder, env });
  return { folder, data: join(folder, 'data', 'default'), start, run, done, rows, set };
}

const inside = ({ sandbox }: CliWorkspace, { data }: Machine, look: Parameters<typeof withWarehouseFile>[2]) =>
  withWarehouseFile(join(data, 'warehouse.duckdb'), sandbox, look);

/** Returns settings whose home is a PostgreSQL database, and the variables that they need. */
async function homeInPostgres(context: TestContext) {
  const { target, extensions } = await openTarget('postgres', context);
  const url = 'url' in target ? target.url : '';
  const settings = { destinations: { h: { kind: 'postgres', urlVariable: 'HOME_URL' } }, clock: 'upstream' };
  return { settings, variables: { HOME_URL: url, SIGHTLINE_EXTENSION_DIRECTORY: extensions.path } };
}

test(`kill -9 of ${KILLS} syncs: the next one on an empty disk resumes, and no rows are lost or doubled`, async (context) => {
  onTestFinished(() => {
    minutes = 0;
  });
  const { settings, variables } = await homeInPostgres(context);
  const cli = await openCli({ world: 'tiny', latencyMs: 5 });
  Object.assign(cli.env, variables);
  const sync = ['sync', '--only', ...ONLY, '--json', '--home', 'h'];
  const first = await machineOf(cli, { ...settings, jobs: KEEP });
  await copyWorld('tiny', first.folder);
  await first.done('jobs', 'run', 'keep', '--home', 'h');
  let killed = 0;
  for (let round = 1; killed < KILLS; round++) {
    // Processes have the machine's clock.
    minutes = 0;
    cli.sandbox.world.advance({ days: 1, lateAnswers: 20, editedResponses: 10 });
    const before = cli.sandbox.requests.length;
    const { process: child, finished } = (await machineOf(cli, settings)).start(...sync);
    // Kill after a number of requests, not after a time, so that a busy machine does not matter.
    const after = before + spreadOver(round, LIFE_REQUESTS);
    await until('enough was asked', () => cli.sandbox.requests.length >= after || child.exitCode !== null);
    child.kill('SIGKILL');
    const { code, signal, stderr, stdout } = await finished;
    if (signal === null) expect(code, stderr + stdout).toBe(0);
    else {
      killed += 1;
      const refused = await (await machineOf(cli, settings)).run(...sync);
      expect([refused.code, refused.stdout]).toEqual([4, expect.stringContaining('warehouse_locked')]);
    }
    // The lease of the killed process expires.
    minutes = 7;
    const next = await machineOf(cli, settings);
    await next.done(...sync);
    await inside(cli, next, async (workspace) => {
      await expectConsistent(workspace);
      await expectEqualToUpstream(workspace, { only: ONLY });
    });
  }
});

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
