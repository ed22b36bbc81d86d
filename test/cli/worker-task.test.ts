import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/base/config.ts';
import { withTerminal } from '../../src/cli/terminal.ts';
import { performTask } from '../../src/cli/worker-task.ts';
import type { Task } from '../../src/scheduler/runner.ts';
import { temporaryFolder } from '../support/folders.ts';

const HOUR_MS = 3_600_000;

test('of runs that were put back until the next ones were due one makes up for all, whatever wrong clocks said', async () => {
  const folder = await temporaryFolder();
  await mkdir(folder, { recursive: true });
  const file = { jobs: { nightly: { steps: ['retention'] } } };
  await writeFile(join(folder, 'sightline.config.json'), JSON.stringify(file));
  const config = loadConfig({ flags: {}, environment: {}, folder });
  const signal = new AbortController().signal;
  const lease = { signal, keep: async () => undefined };
  const perform = (dueMs: number | null) => {
    const task: Task = { id: 'a', workspace: config.name, job: 'nightly', dueMs, attempt: 9, ended: [] };
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
