import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { readConfig } from '../../src/cli/context.ts';
import { withTerminal } from '../../src/cli/output/terminal.ts';
import { parseArguments } from '../../src/cli/program/program.ts';
import { ownWorkspace } from '../../src/cli/serve-owner.ts';
import { readJobRuns } from '../../src/scheduler/job-log.ts';
import { temporaryFolder } from '../support/folders.ts';
import { disabledJobs } from '../support/jobs.ts';
import { openCli, until } from './helpers.ts';
import { serveThrough } from './serving.ts';

it('runs a job when it is due, stops it with the server, and catches up after the next start', async () => {
  const workspace = await openCli({ days: 10 });
  const { folder, env, data, sandbox } = workspace;
  const jobs = { ...disabledJobs, mine: { cron: '15 2 * * *', steps: ['sync', 'export'] } };
  await writeFile(join(folder, 'sightline.config.json'), JSON.stringify({ jobs }));
  const lines: string[] = [];
  const log = (text: string): unknown => lines.push(text);
  const own = (from: string, to: string) => serveThrough({ folder, env, from, to, log });

  sandbox.setFaults([{ kind: 'hang' }]);
  const first = await own('2026-03-14T02:10:00Z', '2026-03-14T02:20:00Z');
  await until('the job asks', () => sandbox.requests.length > 0);
  await first.close();
  sandbox.setFaults([]);
  const interrupted = { job: 'mine', status: 'interrupted', dueAt: '2026-03-14T02:15:00.000Z' };
  expect(await readJobRuns(data)).toMatchObject([
    { ...interrupted, steps: [{ exitCode: 130 }, { status: 'left out' }] },
  ]);

  const second = await own('2026-03-14T09:00:00Z', '2026-03-14T09:10:00Z');
  expect(second.owner).toBeNull();
  await until('it has made up for it', async () => (await readJobRuns(data)).length === 2);
  // The same process also runs commands for clients.
  const synced = await workspace.run('sync');
  expect(synced.code, synced.stderr).toBe(0);
  await second.close();
  const [run, ...earlier] = await readJobRuns(data);
  expect(earlier).toMatchObject([interrupted]);
  expect(run).toMatchObject({
    status: 'done',
    dueAt: '2026-03-14T02:15:00.000Z',
    steps: [{ exitCode: 0 }, { exitCode: 0 }],
  });
  const written = lines.join('').split('\n').slice(0, -1);
  const logged = written.map((line) => JSON.parse(line) as { msg: string; step?: string });
  expect(logged).toContainEqual(expect.objectContaining({ msg: 'job mine done', level: 'info' }));
  expect(logged.some(({ msg, step }) => step === 'sync' && msg.startsWith('sync complete: '))).toBe(true);
  expect(lines.join('')).not.toContain('gsk_');
});

it('takes over the workspace when its owner ends', async () => {
  const folder = await temporaryFolder();
  const lines: string[] = [];
  const own = () =>
    withTerminal({ folder, environment: {} }, async () => {
      const { signal } = new AbortController();
      // A minute passes at once, so that the check for a new owner does not wait.
      const clock: Clock = { ...systemClock, sleep: (_ms, stop) => systemClock.sleep(1, stop) };
      const context = { config: readConfig({}), clock, signal, command: 'serve' };
      const log = (text: string): unknown => lines.push(text);
      return ownWorkspace(context, {}, { runsJobs: false, parse: parseArguments, logLevel: 'info', log });
    });
  const first = await own();
  const second = await own();
  expect(second.owner).toMatchObject({ pid: process.pid, command: 'serve', serves: true });
  await first.close();
  await until('the second owns it', () => lines.some((line) => line.includes('now owns the workspace')));
  const third = await own();
  expect(third.owner).not.toBeNull();
  await Promise.all([second.close(), third.close()]);
  expect((await readdir(join(folder, 'data', 'default'))).filter((name) => name !== 'jobs.json')).toEqual([]);
});
