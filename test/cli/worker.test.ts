import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, type TestContext, test } from 'vitest';
import type { RunnerState } from '../../src/scheduler/runner.ts';
import { type FleetOptions, type Started, startFleet } from '../cluster/fleet.ts';
import { expectJson } from '../support/json-outputs.ts';
import { startPostgres, type TestPostgres } from '../support/postgres.ts';
import { expectRefusal, runCli, until } from './helpers.ts';

let postgres: TestPostgres | string = 'it was not started';

beforeAll(async () => {
  postgres = await startPostgres();
  if (typeof postgres === 'string') process.stderr.write(`\nWorkers of a queue are NOT TESTED here: ${postgres}\n\n`);
});
afterAll(async () => {
  if (typeof postgres !== 'string') await postgres.close();
});

const urlOf = ({ skip }: TestContext): string =>
  typeof postgres === 'string' ? skip(`there is no PostgreSQL: ${postgres}`) : postgres.url();

const now = Date.now();
const small = { brands: 1, prompts: 2, days: 4, responsesPerDay: 20, rateLimit: 10_000, clock: () => now } as const;

async function open(options: Partial<FleetOptions> & Pick<FleetOptions, 'workspaces'>) {
  const fleet = await startFleet({ sandboxOf: (index) => ({ ...small, seed: index + 1 }), ...options });
  onTestFinished(() => fleet.close());
  return fleet;
}

test('a worker without a queue runs the overdue jobs of every valid workspace', async () => {
  const jobs = { nightly: { steps: ['sync'] }, hourly: { enabled: false } };
  const fleet = await open({ workspaces: 2, settings: { jobs } });
  const owed = { version: 1, jobs: { nightly: { schedule: '15 2 * * * UTC', through: '2026-01-01T00:00:00.000Z' } } };
  await mkdir(join(fleet.folder, 'data', 'w02'), { recursive: true });
  await writeFile(join(fleet.folder, 'data', 'w02', 'jobs.json'), JSON.stringify({ ...owed, runs: [] }));
  const worker = fleet.start('worker', '--once', '--json', '--name', 'only');
  expect(await worker.ended, worker.lines.join('\n')).toBe(0);
  expect(JSON.parse(worker.stdout.join(''))).toEqual({ worker: 'only', tasks: { done: 1 } });
  expect(await fleet.compare('w02')).toBeGreaterThan(100);
  const book = JSON.parse(await readFile(join(fleet.folder, 'data', 'w02', 'jobs.json'), 'utf8'));
  expect(book.runs).toEqual([expect.objectContaining({ job: 'nightly', status: 'done' })]);
  const status = JSON.parse(await fleet.run('cluster', 'status', '--json'));
  expect(status).toMatchObject({ runner: 'process', queue: null, budgets: [], lag: { workspaces: 2, overdue: 1 } });
  // The nightly job of w01 has never completed.
  expect(status.lag.worst[0]).toMatchObject({
    workspace: 'w01',
    lastWholeRun: null,
    overdue: expect.arrayContaining(['nightly']),
  });
  expect(status.lag.worst.map((lag: { workspace: string }) => lag.workspace)).toEqual(['w01', 'w02']);
  const surroundings = { cwd: fleet.folder };
  expectRefusal(await runCli(['cluster', 'enqueue', 'nightly'], surroundings), 'config_invalid', false);
  expectRefusal(await runCli(['worker', '--name', 'a b'], surroundings), 'usage', false);
  expectRefusal(await runCli(['worker', '--concurrency', '0', '--json'], surroundings), 'usage', true);
  expectRefusal(await runCli(['cluster'], surroundings), 'usage', false);
});

test('workers share a queue: a stopped worker returns its tasks, and another one resumes them', async (context) => {
  const databaseUrl = urlOf(context);
  const sandboxOf = (index: number) => ({ ...small, seed: index + 1, latencyMs: 40 });
  const jobs = { nightly: { steps: ['sync'] } };
  const fleet = await open({ workspaces: 3, databaseUrl, sandboxOf, settings: { jobs } });
  const first = fleet.start('worker', '--name', 'first', '--concurrency', '2');
  expect(expectJson('cluster enqueue', await fleet.run('cluster', 'enqueue', 'nightly', '--json'))).toEqual({
    job: 'nightly',
    workspaces: 3,
    enqueued: 3,
    waiting: 0,
  });
  const sent = () => [...fleet.sandboxes.values()].reduce((sum, { requests }) => sum + requests.length, 0);
  await until('two workspaces are being synced', () => sent() > 10);
  expect(JSON.parse(await fleet.run('cluster', 'enqueue', 'nightly', '--workspace', 'w03', '--json'))).toMatchObject({
    enqueued: 0,
    waiting: 1,
  });
  const status = await fleet.run('cluster', 'status', '--json');
  const { queue } = expectJson<{ queue: RunnerState }>('cluster status', status);
  expect(queue).toMatchObject({
    counts: { active: 2, waiting: 1, failed: 0 },
    schedules: 12,
    workers: [{ name: 'first', pid: first.process.pid, tasks: 2 }],
  });
  expect(queue.leases.map(({ workspace, worker, job }) => `${workspace} ${job} ${worker}`).sort()).toEqual([
    'w01 nightly first',
    'w02 nightly first',
  ]);
  first.process.kill('SIGTERM');
  expect(await first.ended, first.lines.join('\n')).toBe(0);
  const second = fleet.start('worker', '--once', '--json', '--name', 'second');
  expect(await second.ended, second.lines.join('\n')).toBe(0);
  expect(JSON.parse(second.stdout.join(''))).toEqual({ worker: 'second', tasks: { done: 3 } });
  for (const name of fleet.sandboxes.keys()) expect(await fleet.compare(name)).toBeGreaterThan(100);
  const after = JSON.parse(await fleet.run('cluster', 'status', '--json'));
  expect(after.queue).toMatchObject({ counts: { active: 0, waiting: 0, failed: 0 }, workers: [], leases: [] });
  expect(after.budgets).toHaveLength(3);
  expect(after.budgets[0]).toMatchObject({ limit: 10_000, lastMinute: expect.any(Number) });
  expect(after.lag.worst.every(({ lastWholeRun }: { lastWholeRun: string | null }) => lastWholeRun !== null)).toBe(
    true,
  );
  const doctor = fleet.start('doctor', '--all', '--offline', '--json');
  await doctor.ended;
  expect(JSON.parse(doctor.stdout[0] ?? '').checks).toContainEqual(
    expect.objectContaining({
      check: 'queue',
      status: 'ok',
      message: expect.stringMatching(/CLUSTER_DATABASE_URL answers/),
    }),
  );
  const text = await fleet.run('cluster', 'status');
  const logs = [...first.lines, ...second.lines, text, JSON.stringify(after), ...doctor.stdout].join('\n');
  expect(logs).not.toMatch(/gsk_cluster|p@ss|p%40ss/);
});

test('a shared queue is rejected for workspaces with a local warehouse', async () => {
  const databaseUrl = 'postgres://nobody@127.0.0.1:1/nothing';
  const runner = { kind: 'postgres', urlVariable: 'CLUSTER_DATABASE_URL' };
  const fleet = await open({ workspaces: 2, databaseUrl, settings: { runner } });
  for (const command of [
    ['worker', '--once'],
    ['cluster', 'enqueue', 'nightly'],
  ]) {
    const { ended, lines } = fleet.start(...command);
    expect(await ended).toBe(2);
    const said = lines.join('\n');
    expect(said).toContain('remote of workspaces w01, w02 is "local"');
    expect(said).toContain('allowed: remote with "kind": "s3", or runner with "sharedFolder": true');
  }
  const one = fleet.start('cluster', 'enqueue', 'nightly', '--workspace', 'w02');
  expect(await one.ended).toBe(2);
  expect(one.lines.join('\n')).toContain('remote of workspace w02 is "local"');
  const doctor = fleet.start('doctor', '--all', '--offline', '--json');
  await doctor.ended;
  expect(JSON.parse(doctor.stdout[0] ?? '').checks).toContainEqual(
    expect.objectContaining({
      check: 'queue',
      status: 'failure',
      message: expect.stringContaining('remote of workspaces w01, w02 is "local"'),
    }),
  );
  // With a home in a bucket the queue is used.
  const remote = { kind: 's3', bucket: 'lake' };
  const away = await open({ workspaces: 1, databaseUrl, settings: { runner, remote } });
  const asked = away.start('cluster', 'enqueue', 'nightly', '--json');
  await asked.ended;
  expect(JSON.parse(asked.stdout.join(''))).toMatchObject({ error: { code: 'queue_unreachable' } });
});

test('workers of one queue use one data folder for local warehouses, until a worker records another one', async (context) => {
  const fleet = await open({
    workspaces: 1,
    databaseUrl: urlOf(context),
    settings: { jobs: { nightly: { steps: ['check'] } } },
  });
  const endOf = async ({ ended, lines }: Started) => ({ code: await ended, said: lines.join('\n') });
  const here = (...flags: string[]) => endOf(fleet.start('worker', '--once', ...flags));
  const there = async (...flags: string[]) => endOf(await fleet.startOn('other', 'worker', '--once', ...flags));
  // Another test has already used the queue.
  expect(await here('--move-folder')).toMatchObject({ code: 0 });
  expect(await here()).toMatchObject({ code: 0 });
  expect(await there()).toMatchObject({ code: 2, said: expect.stringContaining(`${fleet.folder}/data on `) });
  const doctor = await fleet.startOn('other', 'doctor', '--offline', '--json');
  await doctor.ended;
  expect(JSON.parse(doctor.stdout[0] ?? '').checks).toContainEqual(
    expect.objectContaining({
      check: 'queue',
      status: 'failure',
      message: expect.stringContaining('remote of workspace w01 is "local", and the queue records'),
    }),
  );
  expect(await there('--move-folder')).toMatchObject({ code: 0 });
  expect(await here()).toMatchObject({ code: 2, said: expect.stringContaining('sightline worker --move-folder') });
});

test('the error of an unreachable queue names its variable', async (context) => {
  const away = Object.assign(new URL(urlOf(context)), { port: '1' }).href;
  const fleet = await open({ workspaces: 1, databaseUrl: away });
  const status = fleet.start('cluster', 'status', '--json');
  expect(await status.ended).toBe(1);
  expect(JSON.parse(status.stdout.join(''))).toMatchObject({ error: { code: 'queue_unreachable' } });
  expect(status.lines.join('\n')).toMatch(/CLUSTER_DATABASE_URL.*ECONNREFUSED/);
  expect(status.lines.join('\n')).not.toMatch(/p@ss|p%40ss/);
});
