import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { readConfig } from '../../src/cli/checked-config.ts';
import { keepSchedule } from '../../src/cli/commands/use/serve-command.ts';
import { withTerminal } from '../../src/cli/output/terminal.ts';
import { addDays } from '../../src/contract/time.ts';
import { readJobRuns } from '../../src/jobs/job-log.ts';
import { startChild } from '../support/child.ts';
import { expectEqualToUpstream } from '../support/compare.ts';
import { temporaryFolder } from '../support/folders.ts';
import { disabledJobs } from '../support/jobs.ts';
import { openCli, until } from './helpers.ts';
import { serveThrough } from './serving.ts';

/** Resources that the job reads. */
const ONLY = ['brands', 'prompts', 'responses'];

/** A night in which clocks change, and the UTC time of 02:30 in Berlin in it. */
const [DAY, DUE] = ['2026-03-29', '01:30'];

it('runs a job when it is due, stops it with the server, and catches up after a stop and a kill', async () => {
  let now = Date.parse(`${addDays(DAY, -5)}T12:00:00Z`);
  const workspace = await openCli({ prompts: 1, days: 3, clock: () => now });
  const { folder, env, data, sandbox } = workspace;
  const mine = { cron: '30 2 * * *', timeZone: 'Europe/Berlin', steps: [{ do: 'sync', only: ONLY }, 'retention'] };
  const settings = { clock: 'upstream', jobs: { ...disabledJobs, mine } };
  await writeFile(join(folder, 'sightline.config.json'), JSON.stringify(settings));
  const lines: string[] = [];
  const log = (text: string): unknown => lines.push(text);
  const own = (from: string, to: string) => {
    now = Date.parse(to);
    return serveThrough({ folder, env, from, to, log });
  };
  /** Lets upstream hang, and resolves when a server that starts now has sent a request. */
  const untilHanging = async <T>(start: () => Promise<T> | T): Promise<T> => {
    sandbox.setFaults([{ kind: 'hang' }]);
    const asked = sandbox.requests.length;
    const started = await start();
    await until('the job asks', () => sandbox.requests.length > asked);
    return started;
  };
  const night = [`${addDays(DAY, -1)}T20:00:00Z`, `${DAY}T02:00:00Z`] as const;

  const first = await untilHanging(() => own(...night));
  await first.close();
  const interrupted = { job: 'mine', status: 'interrupted', dueAt: `${DAY}T${DUE}:00.000Z` };
  const [run] = await readJobRuns(data);
  expect(run).toMatchObject({ ...interrupted, steps: [{ exitCode: 130 }, { status: 'left out' }] });

  // A killed run is not in the job log, so it is still due.
  const file = new URL('serving-child.ts', import.meta.url);
  const child = await untilHanging(() => startChild(file, ...night, folder, JSON.stringify(env)));
  await child.kill();
  sandbox.setFaults([]);

  const second = await own(`${DAY}T09:00:00Z`, `${DAY}T09:10:00Z`);
  expect(second.other).toBeNull();
  await until('it has made up for it', async () => (await readJobRuns(data)).length === 2);
  // Commands write while no job runs.
  await workspace.done('state', 'reset', '--resource', 'alerts', '--yes');
  await second.close();
  const [done, ...earlier] = await readJobRuns(data);
  expect(earlier).toMatchObject([interrupted]);
  expect(done).toMatchObject({
    status: 'done',
    dueAt: `${DAY}T${DUE}:00.000Z`,
    steps: [{ exitCode: 0 }, { exitCode: 0 }],
  });

  await workspace.inside((opened) => expectEqualToUpstream(opened, { only: ONLY }));
  const written = lines.join('').split('\n').slice(0, -1);
  const logged = written.map((line) => JSON.parse(line) as { msg: string; step?: string });
  expect(logged).toContainEqual(expect.objectContaining({ msg: 'job mine done', level: 'info' }));
  expect(logged.some(({ msg, step }) => step === 'sync' && msg.startsWith('sync complete: '))).toBe(true);
  expect(lines.join('')).not.toContain('gsk_');
});

it('takes over the schedule when the process that runs it ends', async () => {
  const folder = await temporaryFolder();
  const lines: string[] = [];
  const own = () =>
    withTerminal({ folder, variables: {} }, async () => {
      const { signal } = new AbortController();
      // A minute passes at once, so that the next check does not wait.
      const clock: Clock = { ...systemClock, sleep: (_ms, stop) => systemClock.sleep(1, stop) };
      const context = { config: readConfig({}), clock, signal, command: 'serve' };
      const log = (text: string): unknown => lines.push(text);
      return keepSchedule(context, {}, { runsJobs: false, logLevel: 'info', log });
    });
  const first = await own();
  const second = await own();
  expect(second.other).toMatchObject({ pid: process.pid, command: 'sightline serve' });
  await first.close();
  await until('the second runs it', () => lines.some((line) => line.includes('now runs the jobs of the workspace')));
  const third = await own();
  expect(third.other).not.toBeNull();
  await Promise.all([second.close(), third.close()]);
  expect((await readdir(join(folder, 'data', 'default'))).filter((name) => name !== 'jobs.json')).toEqual([]);
});
