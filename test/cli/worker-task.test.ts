import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../src/base/config/config.ts';
import { withTerminal } from '../../src/cli/output/terminal.ts';
import { performTask } from '../../src/cli/worker-task.ts';
import type { Task, TaskEnd } from '../../src/jobs/runner.ts';
import { temporaryFolder } from '../support/folders.ts';
import { oneThread } from '../support/short-lived.ts';
import { openCli, until } from './helpers.ts';

const HOUR_MS = 3_600_000;
const ONLY = ['brands', 'responses', 'metrics_daily'];

test('one run covers all runs of a job that were delayed until the next was due, even after clock errors', async () => {
  const folder = await temporaryFolder();
  const file = { jobs: { nightly: { steps: ['retention'] } } };
  await writeFile(join(folder, 'sightline.config.json'), JSON.stringify(file));
  const perform = (dueMs: number | null) =>
    performIn(folder, {}, { id: 'a', workspace: 'default', job: 'nightly', dueMs, attempt: 9 });
  const now = Date.now();
  const leftOut = { kind: 'settled', status: 'left out' };
  const done = { kind: 'settled', status: 'done' };
  expect(await perform(now - 50 * HOUR_MS)).toEqual(done);
  expect(await perform(now - 26 * HOUR_MS)).toEqual(leftOut);
  expect(await perform(now - 2 * HOUR_MS)).toEqual(leftOut);
  expect(await perform(null)).toEqual(done);
  const path = join(folder, 'data', 'default', 'jobs.json');
  const log = JSON.parse(await readFile(path, 'utf8'));
  expect(log.runs).toHaveLength(2);
  log.jobs.nightly.through = new Date(now + 48 * HOUR_MS).toISOString();
  await writeFile(path, JSON.stringify(log));
  expect(await perform(now - 2 * HOUR_MS)).toEqual(done);
});

test('a worker on another machine does not repeat steps that ended before the first worker was killed', async () => {
  const { sandbox, env } = await openCli({ brands: 1, prompts: 1, days: 2 });
  const destinations = { h: { kind: 'duckdb', path: join(await temporaryFolder(), 'home.duckdb') } };
  const jobs = { nightly: { steps: [{ do: 'sync', only: ONLY }, 'verify', 'check'] } };
  const machine = async () => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, 'sightline.config.json'), JSON.stringify({ home: 'h', destinations, jobs }));
    return folder;
  };
  const taskOf = (attempt: number): Task => ({ id: 'a', workspace: 'default', job: 'nightly', dueMs: null, attempt });
  const first = await machine();
  const child = spawn(process.execPath, ['--input-type=module', '-e', PERFORM, DIST, JSON.stringify(taskOf(1))], {
    cwd: first,
    env: { PATH: process.env['PATH'], ...env, ...oneThread() },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  // The mark names the save after the first step.
  const mark = join(first, 'data', 'default', 'home.json');
  await until('the first step is saved', () => existsSync(mark));
  child.kill('SIGKILL');
  await once(child, 'close');
  const synced = sandbox.requests.length;
  const second = await machine();
  expect(await performIn(second, env, taskOf(2))).toEqual({ kind: 'settled', status: 'done' });
  const log = JSON.parse(await readFile(join(second, 'data', 'default', 'jobs.json'), 'utf8'));
  expect(log.runs).toHaveLength(1);
  expect(log.runs[0].steps).toEqual([
    expect.objectContaining({ step: 'sync', status: 'done' }),
    expect.objectContaining({ step: 'verify', status: 'done' }),
    expect.objectContaining({ step: 'check', status: 'done' }),
  ]);
  expect(log.underWay).toEqual({});
  // Verification compares stored data; only a sync sends requests.
  expect(sandbox.requests.length).toBe(synced);
});

/** Performs a task with the settings of a folder. */
function performIn(folder: string, environment: Readonly<Record<string, string>>, task: Task): Promise<TaskEnd> {
  const config = loadConfig({ flags: {}, environment, folder });
  const parts = { command: 'a test', flags: {}, find: () => ({ name: config.name, config }), log: () => undefined };
  const lease = { signal: new AbortController().signal };
  return withTerminal({ folder, variables: environment }, () => performTask(task, lease, parts));
}

const DIST = new URL('../../dist/src/', import.meta.url).href;
/** Performs a task in the current folder like a worker. */
const PERFORM = `
const [dist, task] = process.argv.slice(1);
const { loadConfig } = await import(dist + 'base/config/config.js');
const { performTask } = await import(dist + 'cli/worker-task.js');
const config = loadConfig({ flags: {}, environment: process.env, folder: process.cwd() });
const parts = { command: 'a test', flags: {}, find: () => ({ name: config.name, config }), log: () => undefined };
await performTask(JSON.parse(task), { signal: new AbortController().signal }, parts);`;
