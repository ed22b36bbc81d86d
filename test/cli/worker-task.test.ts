import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../src/base/config/config.ts';
import { withTerminal } from '../../src/cli/output/terminal.ts';
import { performTask } from '../../src/cli/worker-task.ts';
import type { Task } from '../../src/scheduler/runner.ts';
import { temporaryFolder } from '../support/folders.ts';
import { S3_KEY, type S3Server, startS3Server } from '../support/s3-server.ts';
import { openCli, until } from './helpers.ts';

const HOUR_MS = 3_600_000;

test('one run covers all runs of a job that were delayed until the next was due, even after clock errors', async () => {
  const folder = await temporaryFolder();
  await mkdir(folder, { recursive: true });
  const file = { jobs: { nightly: { steps: ['retention'] } } };
  await writeFile(join(folder, 'sightline.config.json'), JSON.stringify(file));
  const config = loadConfig({ flags: {}, environment: {}, folder });
  const signal = new AbortController().signal;
  const lease = { signal };
  const perform = (dueMs: number | null) => {
    const task: Task = { id: 'a', workspace: config.name, job: 'nightly', dueMs, attempt: 9 };
    const parts = { command: 'a test', flags: {}, find: () => ({ name: config.name, config }), log: () => undefined };
    return withTerminal({ folder, environment: {} }, () => performTask(task, lease, parts));
  };
  const now = Date.now();
  const leftOut = { kind: 'settled', status: 'left out' };
  const done = { kind: 'settled', status: 'done' };
  expect(await perform(now - 50 * HOUR_MS)).toEqual(done);
  expect(await perform(now - 26 * HOUR_MS)).toEqual(leftOut);
  expect(await perform(now - 2 * HOUR_MS)).toEqual(leftOut);
  expect(await perform(null)).toEqual(done);
  const path = join(config.folder, 'jobs.json');
  const book = JSON.parse(await readFile(path, 'utf8'));
  expect(book.runs).toHaveLength(2);
  book.jobs.nightly.through = new Date(now + 48 * HOUR_MS).toISOString();
  await writeFile(path, JSON.stringify(book));
  expect(await perform(now - 2 * HOUR_MS)).toEqual(done);
});

test('a worker on another machine does not repeat steps that ended before the first worker was killed', async () => {
  const { sandbox, env } = await openCli({ brands: 1, prompts: 2, days: 3 });
  const store = await startS3Server();
  onTestFinished(() => store.close());
  const remote = { kind: 's3', bucket: store.bucket, prefix: 'all', endpoint: store.endpoint };
  const settings = { remote, jobs: { nightly: { steps: ['sync', 'verify', 'check'] } } };
  const perform = async (attempt: number) => {
    const folder = await temporaryFolder();
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'sightline.config.json'), JSON.stringify(settings));
    const task: Task = { id: 'a', workspace: 'default', job: 'nightly', dueMs: null, attempt };
    const child = spawn(process.execPath, ['--input-type=module', '-e', PERFORM, DIST, JSON.stringify(task)], {
      cwd: folder,
      env: { PATH: process.env['PATH'], ...env, ...S3_KEY },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    return { folder, child };
  };
  // The store rejects all writes after the record of the first step, so the first worker cannot finish its job.
  store.fault = () => (recordIn(store) === null ? null : 'busy');
  const first = await perform(1);
  await until('the first step is recorded', () => recordIn(store) !== null);
  first.child.kill('SIGKILL');
  await once(first.child, 'close');
  store.fault = () => null;
  const ended = JSON.parse(recordIn(store) ?? '').underWay.nightly;
  expect(ended).toEqual({ task: 'a', steps: [expect.objectContaining({ step: 'sync', status: 'done' })] });
  const synced = sandbox.requests.length;
  const second = await perform(2);
  expect(JSON.parse(await text(second.child.stdout))).toEqual({ kind: 'settled', status: 'done' });
  const book = JSON.parse(await readFile(join(second.folder, 'data', 'default', 'jobs.json'), 'utf8'));
  expect(book.runs).toHaveLength(1);
  expect(book.runs[0].steps).toEqual([
    ended.steps[0],
    expect.objectContaining({ step: 'verify', status: 'done' }),
    expect.objectContaining({ step: 'check', status: 'done' }),
  ]);
  expect(book.underWay).toEqual({});
  // Verification compares stored data; only a sync sends requests.
  expect(sandbox.requests.length).toBe(synced);
});

const DIST = new URL('../../dist/src/', import.meta.url).href;
/** Performs a task in the current folder like a worker, and prints the result. */
const PERFORM = `
const [dist, task] = process.argv.slice(1);
const { loadConfig } = await import(dist + 'base/config/config.js');
const { performTask } = await import(dist + 'cli/worker-task.js');
const config = loadConfig({ flags: {}, environment: process.env, folder: process.cwd() });
const parts = { command: 'a test', flags: {}, find: () => ({ name: config.name, config }), log: () => undefined };
const lease = { signal: new AbortController().signal };
console.log(JSON.stringify(await performTask(JSON.parse(task), lease, parts)));`;

// The job log in the remote warehouse.
function recordIn({ objects }: S3Server): string | null {
  const folder = 'all/default/home/';
  const record = objects.get(`${folder}home.json`)?.body.toString();
  const files: { path: string; key: string }[] = record === undefined ? [] : JSON.parse(record).files;
  const found = files.find(({ path }) => path === 'jobs.json');
  return found === undefined ? null : String(objects.get(folder + found.key)?.body);
}
