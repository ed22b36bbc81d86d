import { copyFile, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { expectConsistent, expectEqualToUpstream } from '../support/compare.ts';
import { IS_ENDURANCE } from '../support/counts.ts';
import { temporaryFolder } from '../support/folders.ts';
import { type Finished, runCommand } from '../support/run-command.ts';
import { type Fault, S3_KEY, type S3Server, startS3Server } from '../support/s3-server.ts';
import { FETCHED_TWICE, spreadOver, withWarehouseFile } from '../support/warehouse-file.ts';
import { copyWorld, originalOf } from '../support/worlds.ts';
import { type CliWorkspace, openCli, type Running, rowsIn, startCli, until } from './helpers.ts';

const KILLS = 10;
/** Resources that the syncs read. */
const ONLY = ['brands', 'prompts', 'responses'];
/** Requests after which a worker is killed. A complete sync sends about fifteen. */
const LIFE_REQUESTS = { least: 4, most: 14 };
/** Concurrent requests, plus the request for the description, which is not a page. */
const IN_FLIGHT = 8 + 1;
/** Longer than a lease. */
const LEASE_ENDED_MS = 23_000;

const FAULTS: readonly Fault[] = ['cut before', 'cut after', 'half', 'cut after body', 'busy'];
const HOME = 'all/default/home/home.json';
const COUNT = 'SELECT count(*) AS n FROM responses';

/** A machine that shares only the bucket with the others. */
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

async function startStore(): Promise<S3Server> {
  const server = await startS3Server();
  onTestFinished(() => server.close());
  Object.assign(process.env, S3_KEY);
  return server;
}

function bucketOf({ bucket, endpoint }: S3Server, prefix: string) {
  return { kind: 's3', bucket, prefix, endpoint };
}

async function machineOf({ env }: CliWorkspace, settings: object): Promise<Machine> {
  const folder = await temporaryFolder();
  const set = (changed: object) => writeFile(join(folder, 'sightline.config.json'), JSON.stringify(changed));
  await set(settings);
  // Leases are renewed in real time.
  const run = (...args: string[]) => runCommand(args, { cwd: folder, env, clock: systemClock });
  const done = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await run(...args);
    expect(code, stderr + stdout).toBe(0);
    return stdout;
  };
  const rows = (sql: string) => rowsIn(folder, env, sql);
  const start = (...args: string[]) => startCli(args, { cwd: folder, env: { ...env, ...S3_KEY } });
  return { folder, data: join(folder, 'data', 'default'), start, run, done, rows, set };
}

const inside = ({ sandbox }: CliWorkspace, { data }: Machine, look: Parameters<typeof withWarehouseFile>[2]) =>
  withWarehouseFile(join(data, 'warehouse.duckdb'), sandbox, look);

// Makes every holder look silent for longer than the duration of a lease.
function letLeaseRunOut(server: S3Server): void {
  const found = server.objects.get(HOME);
  if (found !== undefined) server.objects.set(HOME, { ...found, modified: new Date(Date.now() - 60_000) });
}

// A single kill: test/cli/worker-task.test.ts.
if (IS_ENDURANCE) {
  test(`kill -9 of ${KILLS} workers: another machine resumes after the last page, and no rows are lost or duplicated`, async () => {
    const now = Date.now();
    const cli = await openCli({ brands: 1, prompts: 2, days: 4, responsesPerDay: 200, latencyMs: 5, clock: () => now });
    const server = await startStore();
    // One request in eleven fails, in changing ways, so that the client retries.
    server.fault = ({ method }) => {
      const count = server.asked.length;
      if (count % 11 !== 0) return null;
      const fault = FAULTS[(count / 11) % FAULTS.length] ?? null;
      return fault === 'half' && method !== 'GET' ? null : fault;
    };
    const settings = { remote: bucketOf(server, 'all'), clock: 'upstream' };
    let killed = 0;
    for (let round = 1; killed < KILLS; round++) {
      const { process: child, finished } = (await machineOf(cli, settings)).start('sync', '--only', ...ONLY, '--json');
      // Kill after a number of requests, not after a time, so that a busy machine does not matter.
      const after = cli.sandbox.requests.length + spreadOver(round, LIFE_REQUESTS);
      await until('enough was asked', () => cli.sandbox.requests.length >= after || child.exitCode !== null);
      child.kill('SIGKILL');
      const { code, signal, stderr, stdout } = await finished;
      letLeaseRunOut(server);
      if (signal !== null) killed += 1;
      else {
        expect(code, stderr + stdout).toBe(0);
        cli.sandbox.world.advance({ days: 1, lateAnswers: 20, editedResponses: 10 });
      }
    }
    const last = await machineOf(cli, settings);
    await last.done('sync', '--only', ...ONLY, '--json');
    await inside(cli, last, async (workspace) => {
      const [sum] = await workspace.query('SELECT count(*) AS kept FROM sync.requests');
      const lost = cli.sandbox.requests.length - Number(sum?.['kept']);
      expect(lost, 'requests that left nothing').toBeLessThanOrEqual(killed * IN_FLIGHT);
      await expectConsistent(workspace);
      expect(await workspace.query(FETCHED_TWICE), 'pages kept and asked for again').toEqual([]);
      await expectEqualToUpstream(workspace, { only: ONLY });
    });
    // At least one worker was killed before it ended.
    const pieces = server.asked.filter(({ method, key }) => method === 'PUT' && key.includes('/journal/'));
    expect(new Set(pieces.map(({ key }) => key.split('/')[4])).size).toBeGreaterThan(1);
  });
}

test('a worker that resumes after its lease has expired neither checks in nor publishes', async () => {
  const cli = await openCli({ brands: 1, prompts: 2, days: 4, responsesPerDay: 120 });
  const server = await startStore();
  const jobs = { night: { cron: '15 2 * * *', steps: [{ do: 'sync', only: ONLY }, 'export'] } };
  const settings = { remote: bucketOf(server, 'all'), clock: 'upstream', publish: bucketOf(server, 'lake'), jobs };
  const [one, two] = [await machineOf(cli, settings), await machineOf(cli, settings)];
  const { process: stopped, finished } = one.start('jobs', 'run', 'night', '--json');
  await until('pages are kept', () => server.asked.filter(({ key }) => key.includes('/journal/')).length > 3);
  stopped.kill('SIGSTOP');
  if (IS_ENDURANCE) await delay(LEASE_ENDED_MS);
  else letLeaseRunOut(server);
  await two.done('jobs', 'run', 'night', '--json');
  const stored = () => [HOME, 'lake/default/latest.json'].map((key) => server.objects.get(key)?.body.toString());
  const left = stored();
  const asked = cli.sandbox.requests.length;
  stopped.kill('SIGCONT');
  const { code, stdout, stderr } = await finished;
  expect([code, stdout + stderr]).toEqual([1, expect.stringContaining('lease_lost')]);
  expect(stdout + stderr).toMatch(IS_ENDURANCE ? /is lost/ : /is lost|took it over/);
  if (IS_ENDURANCE) expect(cli.sandbox.requests.length - asked).toBeLessThanOrEqual(IN_FLIGHT);
  // Readers see none of its data.
  expect(stored()).toEqual(left);
  const third = await machineOf(cli, settings);
  expect(await third.rows(COUNT)).toEqual(await two.rows(COUNT));
  await inside(cli, two, (workspace) => expectEqualToUpstream(workspace, { only: ONLY }));
});

test('a workspace moves between its folder and a bucket, from which other machines read, back up and restore it', async () => {
  const cli = await openCli({ world: 'tiny' });
  const server = await startStore();
  const [one, two, three] = [await machineOf(cli, {}), await machineOf(cli, {}), await machineOf(cli, {})];
  const remote = bucketOf(server, 'homes');
  const jobs = { keep: { cron: '0 5 * * *', steps: ['retention'] } };
  /** Checks the workspace out and in. */
  const visit = ({ done }: Machine) => done('jobs', 'run', 'keep');
  await copyWorld('tiny', one.folder);
  await mkdir(two.data, { recursive: true });
  await copyFile(join(await originalOf('small'), 'data/default/warehouse.duckdb'), join(two.data, 'warehouse.duckdb'));
  const rows = await one.rows(COUNT);
  const raw = await readdir(join(one.data, 'raw'));
  await three.set({ remote });
  const none = await three.run('sql', 'SELECT 1', '--json');
  expect([none.code, none.stdout]).toEqual([1, expect.stringContaining('no_data')]);

  // Move to the bucket: the data of the folder are uploaded and not fetched again.
  await one.set({ remote, jobs, publish: bucketOf(server, 'lake') });
  const asked = cli.sandbox.requests.length;
  await one.done('export');
  expect(cli.sandbox.requests.length).toBe(asked);
  expect(await readdir(join(one.data, 'raw'))).toEqual(raw);
  expect(await three.rows(COUNT)).toEqual(rows);

  // Another machine has different data, which the bucket's data must not replace.
  await two.set({ remote, jobs });
  const different = await two.run('jobs', 'run', 'keep', '--json');
  expect([different.code, different.stdout]).toEqual([1, expect.stringMatching(/is not a copy of s3:\/\/lake\/homes/)]);
  await rm(join(two.data, 'warehouse.duckdb'));
  await visit(two);
  await visit(one);

  const backup = join(three.folder, 'backup.duckdb');
  await three.done('backup', backup);
  const refused = await one.run('restore', backup, '--yes');
  expect([refused.code, refused.stderr]).toEqual([
    2,
    expect.stringMatching(/has data in its remote warehouse; --force replaces/),
  ]);
  await one.done('restore', backup, '--yes', '--force');
  const cluster = JSON.parse(await three.done('cluster', 'status', '--json'));
  expect(cluster.homes).toMatchObject([{ workspace: 'default', epoch: 5, claim: null }]);
  const doctor = await one.done('doctor');
  expect(doctor).toMatch(
    /^ok +remote +s3:\/\/lake\/homes\/default\/home\/ can be .*epoch 5, last checked in at 20.*; not checked out/m,
  );
  expect(doctor).toMatch(/^ok +warehouse +the last checked-in version is intact/m);
  server.fault = () => 'forbidden';
  expect(await three.rows(COUNT)).toEqual(rows);
  const failed = await three.run('sync', '--json');
  expect([failed.code, failed.stdout]).toEqual([1, expect.stringContaining('remote_failed')]);
  for (const secret of Object.values(S3_KEY)) expect(failed.stdout + failed.stderr).not.toContain(secret);
  server.fault = () => null;

  // The bucket is emptied.
  for (const key of server.objects.keys()) if (key.startsWith('homes/')) server.objects.delete(key);
  const emptied = await one.run('sync', '--json');
  expect([emptied.code, emptied.stdout]).toEqual([1, expect.stringMatching(/remote_failed.*is empty.*home\.json/)]);
  await rm(join(one.data, 'home.json'));
  // Epochs start again, although higher ones were recorded with the published snapshots.
  await one.done('export');
  expect(await one.rows(COUNT)).toEqual(rows);

  // Move back to the folder, which may be older than the last check-in of others.
  await one.set({ clock: 'upstream' });
  const old = await one.run('sync', '--json');
  expect([old.code, old.stdout]).toEqual([1, expect.stringMatching(/remote_failed.*is a copy of s3:\/\/lake\/homes/)]);
  await one.done('restore', backup, '--yes', '--force');
  await one.done('sync', '--only', 'brands');
  expect(await one.rows(COUNT)).toEqual(rows);
});
