import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { declarations } from '../../schemas/catalogue.ts';
import { createCatalogue } from '../../src/contract/catalogue.ts';
import { openWarehouse } from '../../src/warehouse/warehouse.ts';
import { expectConsistent, expectEqualToUpstream } from '../support/compare.ts';
import { temporaryFolder } from '../support/folders.ts';
import type { Finished } from '../support/run-command.ts';
import { type Fault, S3_KEY, type S3Server, startS3Server } from '../support/s3-server.ts';
import type { TestWorkspace } from '../support/workspace.ts';
import { type CliWorkspace, openCli, type Running, startCli, until } from './helpers.ts';

/** Number of kills; `HOME_KILLS=50` for the long proof. */
const KILLS = Number(process.env['HOME_KILLS'] ?? 3);
/** With `HOME_LONG=1` the lease expires by itself. */
const LONG = process.env['HOME_LONG'] !== undefined;
/** Requests after which a worker is killed. A complete sync sends about fifty. */
const LIFE_REQUESTS = { least: 4, most: 40 };
/** Concurrent requests, plus the request for the description, which is not a page. */
const IN_FLIGHT = 8 + 1;

const FAULTS: readonly Fault[] = ['cut before', 'cut after', 'half', 'cut after body', 'busy'];

/** Machines that share only the bucket. */
interface Machine {
  readonly folder: string;
  start(...args: string[]): Running;
  run(...args: string[]): Promise<Finished>;
}

async function startStore(): Promise<S3Server> {
  const server = await startS3Server();
  onTestFinished(() => server.close());
  return server;
}

async function machineOf(cli: CliWorkspace, server: S3Server, changes: object = {}): Promise<Machine> {
  const folder = await temporaryFolder();
  await mkdir(folder, { recursive: true });
  const bucket = { kind: 's3', bucket: server.bucket, prefix: 'all', endpoint: server.endpoint };
  // Advance upstream's clock by days.
  await writeFile(
    join(folder, 'sightline.config.json'),
    JSON.stringify({ remote: bucket, clock: 'upstream', ...changes }),
  );
  const surroundings = { cwd: folder, env: { ...cli.env, ...S3_KEY } };
  const start = (...args: string[]): Running => startCli(args, surroundings);
  return { folder, start, run: (...args) => start(...args).finished };
}

const HOME = 'all/default/home/home.json';

// Makes every holder look silent for longer than the duration of a lease.
function letClaimRunOut(server: S3Server): void {
  const found = server.objects.get(HOME);
  if (found !== undefined) server.objects.set(HOME, { ...found, modified: new Date(Date.now() - 60_000) });
}

test(`kill -9 of ${KILLS} workers: another machine resumes after the last page, and no rows are lost or duplicated`, {
  timeout: 60_000 + KILLS * 20_000,
}, async () => {
  const now = Date.now();
  const cli = await openCli({ brands: 1, prompts: 3, days: 10, responsesPerDay: 150, latencyMs: 15, clock: () => now });
  const server = await startStore();
  // One request in eleven fails, in changing ways, so that the client retries.
  server.fault = ({ method }) => {
    const count = server.asked.length;
    if (count % 11 !== 0) return null;
    const fault = FAULTS[(count / 11) % FAULTS.length] ?? null;
    return fault === 'half' && method !== 'GET' ? null : fault;
  };
  let killed = 0;
  for (let round = 1; ; round++) {
    const machine = await machineOf(cli, server);
    const { process: child, finished } = machine.start('sync', '--json');
    if (killed < KILLS) {
      // Kill after a number of requests, not after a time, so that a busy machine does not matter.
      const after = cli.sandbox.requests.length + requestsOf(round);
      const isThere = (): boolean => cli.sandbox.requests.length >= after;
      await until('enough was asked', () => isThere() || child.exitCode !== null);
      child.kill('SIGKILL');
    }
    const { code, signal, stderr, stdout } = await finished;
    letClaimRunOut(server);
    if (signal !== null) {
      killed += 1;
      continue;
    }
    expect(code, stderr + stdout).toBe(0);
    expect((await readdir(join(machine.folder, 'data', 'default'))).sort()).toContain('warehouse.duckdb');
    if (killed < KILLS) {
      cli.sandbox.world.advance({ days: 1, lateAnswers: 20, editedResponses: 10 });
      continue;
    }
    await inside(cli, machine, async (workspace) => {
      const [sum] = await workspace.query('SELECT count(*) AS kept FROM sync.requests');
      const lost = cli.sandbox.requests.length - Number(sum?.['kept']);
      expect(lost, 'requests that left nothing').toBeLessThanOrEqual(killed * IN_FLIGHT);
      await expectConsistent(workspace as TestWorkspace);
      expect(await workspace.query(ASKED_TWICE), 'pages kept and asked for again').toEqual([]);
      await expectEqualToUpstream(workspace as TestWorkspace);
    });
    break;
  }
  // At least one worker must have been killed before it ended.
  const pieces = server.asked.filter(({ method, key }) => method === 'PUT' && key.includes('/journal/'));
  expect(new Set(pieces.map(({ key }) => key.split('/')[4])).size).toBeGreaterThan(1);
});

test('a worker that resumes after its lease has expired neither checks in nor publishes', async () => {
  const cli = await openCli({ brands: 1, prompts: 3, days: 10, responsesPerDay: 150, latencyMs: 15 });
  const server = await startStore();
  const publish = { kind: 's3', bucket: server.bucket, prefix: 'lake', endpoint: server.endpoint };
  const [one, two] = [await machineOf(cli, server, { publish }), await machineOf(cli, server, { publish })];
  const { process: stopped, finished } = one.start('jobs', 'run', 'nightly', '--json');
  await until('pages are kept', () => server.asked.filter(({ key }) => key.includes('/journal/')).length > 3);
  stopped.kill('SIGSTOP');
  if (LONG) await delay(23_000);
  else letClaimRunOut(server);
  const other = await two.run('jobs', 'run', 'nightly', '--json');
  expect(other.code, other.stderr).toBe(0);
  const left = [HOME, 'lake/default/latest.json'].map((key) => server.objects.get(key)?.body.toString());
  const asked = cli.sandbox.requests.length;
  stopped.kill('SIGCONT');
  const { code, stdout, stderr } = await finished;
  expect([code, stdout + stderr]).toEqual([1, expect.stringContaining('lease_lost')]);
  expect(stdout + stderr).toMatch(LONG ? /is lost/ : /is lost|took it over/);
  if (LONG) expect(cli.sandbox.requests.length - asked).toBeLessThanOrEqual(IN_FLIGHT);
  // Readers see none of its data.
  expect([HOME, 'lake/default/latest.json'].map((key) => server.objects.get(key)?.body.toString())).toEqual(left);
  const rows = await two.run('sql', 'SELECT count(*) AS n FROM responses', '--json');
  const read = await (await machineOf(cli, server)).run('sql', 'SELECT count(*) AS n FROM responses', '--json');
  expect([read.code, read.stdout]).toEqual([0, rows.stdout]);
  await inside(cli, two, (workspace) => expectEqualToUpstream(workspace as TestWorkspace));
});

test('another machine reads, backs up and restores the checked-in version, and doctor shows its holder', async () => {
  const cli = await openCli();
  const server = await startStore();
  const [one, two] = [await machineOf(cli, server), await machineOf(cli, server)];
  const none = await two.run('sql', 'SELECT 1', '--json');
  expect([none.code, none.stdout]).toEqual([1, expect.stringContaining('no_data')]);
  expect((await one.run('sync')).code).toBe(0);
  const backup = join(two.folder, 'backup.duckdb');
  expect(await two.run('backup', backup)).toMatchObject({ code: 0 });
  const refused = await one.run('restore', backup, '--yes');
  expect([refused.code, refused.stderr]).toEqual([
    2,
    expect.stringMatching(/has data in its remote warehouse; --force replaces/),
  ]);
  expect((await one.run('restore', backup, '--yes', '--force')).code).toBe(0);
  expect((await two.run('verify')).code).toBe(0);
  const cluster = await two.run('cluster', 'status', '--json');
  expect(JSON.parse(cluster.stdout).homes).toMatchObject([{ workspace: 'default', epoch: 3, claim: null }]);
  const { stdout } = await one.run('doctor');
  expect(stdout).toMatch(
    /^ok +remote +s3:\/\/lake\/all\/default\/home\/ can be .*epoch 3, last checked in at 20.*; not checked out/m,
  );
  expect(stdout).toMatch(/^ok +warehouse +the last checked-in version is intact/m);
  server.fault = () => 'forbidden';
  const alone = await two.run('sql', 'SELECT count(*) AS n FROM responses', '--json');
  expect(alone.code, alone.stderr).toBe(0);
  const failed = await two.run('sync', '--json');
  expect([failed.code, failed.stdout]).toEqual([1, expect.stringContaining('remote_failed')]);
  for (const secret of Object.values(S3_KEY)) expect(failed.stdout + failed.stderr).not.toContain(secret);
});

const ASKED_TWICE = `SELECT path, query, count(*) AS times FROM sync.requests JOIN sync.runs USING (run_id)
  WHERE resource = 'responses' AND sync.requests.status = 200 GROUP BY pass_id, path, query HAVING count(*) > 1`;

function requestsOf(round: number): number {
  const share = (round * 0.618_033_988_749_894_9) % 1;
  return Math.round(LIFE_REQUESTS.least + share * (LIFE_REQUESTS.most - LIFE_REQUESTS.least));
}

type Inside = Pick<TestWorkspace, 'sandbox' | 'catalogue' | 'query'>;

async function inside(
  { sandbox }: CliWorkspace,
  { folder }: Machine,
  look: (workspace: Inside) => Promise<unknown>,
): Promise<void> {
  const catalogue = createCatalogue(declarations);
  const { database, close } = await openWarehouse(join(folder, 'data', 'default', 'warehouse.duckdb'), catalogue, {});
  try {
    await look({ sandbox, catalogue, query: (sql) => database.exclusive((session) => session.all(sql)) });
  } finally {
    await close();
  }
}
