import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import type { RunnerState } from '../../src/jobs/runner.ts';
import { type Fleet, type FleetOptions, startFleet } from '../cluster/fleet.ts';
import { createEmptyWarehouse } from '../support/empty-warehouse.ts';
import { expectJson } from '../support/json-outputs.ts';
import { type Finished, runCommand } from '../support/run-command.ts';
import { postgresFor } from '../support/test-postgres.ts';
import { expectRefusal, until } from './helpers.ts';

const now = Date.now();
/** Resources that the workers sync. */
const ONLY = ['brands', 'prompts', 'responses'];
const small = { brands: 1, prompts: 1, days: 2, responsesPerDay: 8, rateLimit: 10_000, clock: () => now } as const;

async function open(options: Partial<FleetOptions> & Pick<FleetOptions, 'workspaces'>) {
  const fleet = await startFleet({ sandboxOf: (index) => ({ ...small, seed: index + 1 }), ...options });
  onTestFinished(() => fleet.close());
  for (const name of fleet.sandboxes.keys()) {
    const data = join(fleet.folder, 'data', name);
    await mkdir(data, { recursive: true, mode: 0o700 });
    await createEmptyWarehouse(join(data, 'warehouse.duckdb'), { hasMarts: true });
  }
  return { ...fleet, here: commandsIn(fleet, fleet.folder) };
}

/** Runs commands with the settings of a fleet in a folder, which is a machine of its own. */
function commandsIn({ environment: env }: Fleet, cwd: string): (...args: string[]) => Promise<Finished> {
  return (...args) => runCommand(args, { cwd, env, clock: systemClock });
}

const checksOf = ({ stdout }: Finished): unknown => JSON.parse(stdout.split('\n')[0] ?? '').checks;
const queueCheck = (status: string, message: unknown) => expect.objectContaining({ check: 'queue', status, message });

test('a worker without a queue runs the overdue jobs of every valid workspace', async () => {
  const jobs = { nightly: { steps: [{ do: 'sync', only: ['prompts'] }] }, hourly: { enabled: false } };
  const { folder, here } = await open({ workspaces: 2, settings: { jobs } });
  const owed = { version: 1, jobs: { nightly: { schedule: '15 2 * * * UTC', through: '2026-01-01T00:00:00.000Z' } } };
  await writeFile(join(folder, 'data', 'w02', 'jobs.json'), JSON.stringify({ ...owed, runs: [] }));
  const worker = await here('worker', '--once', '--json', '--name', 'only');
  expect(worker.code, worker.stderr).toBe(0);
  expect(expectJson('worker', worker.stdout)).toEqual({ worker: 'only', tasks: { done: 1 } });
  const log = JSON.parse(await readFile(join(folder, 'data', 'w02', 'jobs.json'), 'utf8'));
  expect(log.runs).toEqual([expect.objectContaining({ job: 'nightly', status: 'done' })]);
  const status = JSON.parse((await here('cluster', 'status', '--json')).stdout);
  expect(status).toMatchObject({ runner: 'process', queue: null, budgets: [], lag: { workspaces: 2, overdue: 1 } });
  // The nightly job of w01 has never completed.
  expect(status.lag.worst).toMatchObject([
    { workspace: 'w01', lastWholeRun: null, overdue: expect.arrayContaining(['nightly']) },
    { workspace: 'w02' },
  ]);
  expectRefusal(await here('cluster', 'enqueue', 'nightly'), 'config_invalid', false);
  expectRefusal(await here('worker', '--name', 'a b'), 'usage', false);
  expectRefusal(await here('worker', '--concurrency', '0', '--json'), 'usage', true);
  expectRefusal(await here('cluster'), 'usage', false);
});

test('workers share a queue: a stopped worker returns its tasks, and another one resumes them', async (context) => {
  const databaseUrl = (await postgresFor(context)).url();
  const jobs = { nightly: { steps: [{ do: 'sync', only: ONLY }] } };
  const fleet = await open({ workspaces: 2, databaseUrl, settings: { jobs } });
  const { here } = fleet;
  const sandboxes = [...fleet.sandboxes.values()];
  for (const sandbox of sandboxes) sandbox.setFaults([{ kind: 'hang', match: '/responses' }]);
  const first = fleet.start('worker', '--name', 'first', '--concurrency', '1');
  const enqueued = (await here('cluster', 'enqueue', 'nightly', '--json')).stdout;
  expect(expectJson('cluster enqueue', enqueued)).toEqual({
    job: 'nightly',
    workspaces: 2,
    enqueued: 2,
    waiting: 0,
  });
  const hanging = () => sandboxes.filter(({ requests }) => requests.some(({ fault }) => fault === 'hang')).length;
  await until('a workspace is being synced', () => hanging() === 1);
  // Tasks that were enqueued together have no order.
  const isBegun = ([, { requests }]: (typeof entries)[number]): boolean =>
    requests.some(({ fault }) => fault === 'hang');
  const entries = [...fleet.sandboxes];
  const [[begun = ''] = [], [other = ''] = []] = [entries.find(isBegun), entries.find((each) => !isBegun(each))];
  const again = await here('cluster', 'enqueue', 'nightly', '--workspace', other, '--json');
  expect(JSON.parse(again.stdout)).toMatchObject({ enqueued: 0, waiting: 1 });
  const read = async (): Promise<RunnerState> => {
    const status = (await here('cluster', 'status', '--json')).stdout;
    return expectJson<{ queue: RunnerState }>('cluster status', status).queue;
  };
  // A worker writes its tasks a few seconds after it has begun them.
  await expect.poll(async () => (await read()).workers.map(({ tasks }) => tasks), { timeout: 60_000 }).toEqual([1]);
  const queue = await read();
  expect(queue).toMatchObject({
    counts: { active: 1, waiting: 1, failed: 0 },
    schedules: 8,
    workers: [{ name: 'first', pid: first.process.pid, tasks: 1 }],
  });
  expect(queue.leases.map(({ workspace, worker, job }) => `${workspace} ${job} ${worker}`).sort()).toEqual([
    `${begun} nightly first`,
  ]);
  first.process.kill('SIGTERM');
  expect(await first.ended, first.lines.join('\n')).toBe(0);
  for (const sandbox of sandboxes) sandbox.setFaults([]);
  const second = await here('worker', '--once', '--json', '--name', 'second');
  expect(second.code, second.stderr).toBe(0);
  expect(JSON.parse(second.stdout)).toEqual({ worker: 'second', tasks: { done: 2 } });
  for (const name of ['w01', 'w02']) expect(await fleet.compare(name, ONLY)).toBeGreaterThan(50);
  const after = JSON.parse((await here('cluster', 'status', '--json')).stdout);
  expect(after.queue).toMatchObject({ counts: { active: 0, waiting: 0, failed: 0 }, workers: [], leases: [] });
  expect(after.budgets).toHaveLength(2);
  expect(after.budgets[0]).toMatchObject({ limit: 10_000, lastMinute: expect.any(Number) });
  for (const { lastWholeRun } of after.lag.worst) expect(lastWholeRun).not.toBeNull();
  const doctor = await here('doctor', '--all', '--offline', '--json', '--data-dir', 'none');
  expect(checksOf(doctor)).toContainEqual(queueCheck('ok', expect.stringMatching(/CLUSTER_DATABASE_URL answers/)));
  const { stdout: text } = await here('cluster', 'status');
  const logs = [...first.lines, second.stderr, text, JSON.stringify(after), doctor.stdout].join('\n');
  expect(logs).not.toMatch(/gsk_cluster|p@ss|p%40ss/);
});

test('a shared queue is rejected for workspaces with a local warehouse, and used with a home', async () => {
  const databaseUrl = 'postgres://nobody@127.0.0.1:1/nothing';
  const runner = { kind: 'postgres', urlVariable: 'CLUSTER_DATABASE_URL' };
  const { here } = await open({ workspaces: 2, databaseUrl, settings: { runner } });
  for (const command of [
    ['worker', '--once'],
    ['cluster', 'enqueue', 'nightly', '--workspace', 'w02'],
  ])
    expect(await here(...command)).toMatchObject({ code: 2, stderr: expect.stringContaining('home is not set for w') });
  const doctor = await here('doctor', '--all', '--offline', '--json');
  expect(checksOf(doctor)).toContainEqual(queueCheck('failure', expect.stringContaining('workspaces w01, w02')));
  const destinations = { lake: { kind: 'duckdb', path: 'home.duckdb' } };
  const away = await open({ workspaces: 1, databaseUrl, settings: { runner, destinations, home: 'lake' } });
  const asked = await away.here('cluster', 'enqueue', 'nightly', '--json');
  expect(JSON.parse(asked.stdout)).toMatchObject({ error: { code: 'queue_unreachable' } });
});

test('workers of one queue use one data folder for local warehouses, until a worker records another one', async (context) => {
  const fleet = await open({
    workspaces: 1,
    databaseUrl: (await postgresFor(context)).url(),
    settings: { jobs: { nightly: { steps: ['check'] } } },
  });
  const { here } = fleet;
  const there = commandsIn(fleet, await fleet.machine('other'));
  expect(await here('worker', '--once')).toMatchObject({ code: 0 });
  expect(await there('worker', '--once')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`${fleet.folder}/data on `),
  });
  expect(checksOf(await there('doctor', '--offline', '--json'))).toContainEqual(
    queueCheck('failure', expect.stringContaining('home is not set for workspace w01, and the queue records')),
  );
  expect(await there('worker', '--once', '--move-folder')).toMatchObject({ code: 0 });
  expect(await here('worker', '--once')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('sightline worker --move-folder'),
  });
});

test('the error of an unreachable queue names its variable', async () => {
  const databaseUrl = 'postgres://tester:p%40ss@127.0.0.1:1/nothing';
  const { here } = await open({ workspaces: 1, databaseUrl });
  const { code, stdout, stderr } = await here('cluster', 'status', '--json');
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'queue_unreachable' } });
  expect(stderr).toMatch(/CLUSTER_DATABASE_URL.*ECONNREFUSED/);
  expect(stderr).not.toMatch(/p@ss|p%40ss/);
});
