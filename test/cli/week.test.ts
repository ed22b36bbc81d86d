import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { addDays } from '../../src/contract/time.ts';
import { readJobRuns } from '../../src/scheduler/job-log.ts';
import { startChild } from '../support/child.ts';
import { disabledJobs } from '../support/jobs.ts';
import { expectAsUpstream } from './as-upstream.ts';
import { openCli, until } from './helpers.ts';
import { serveThrough } from './serving.ts';

// The UTC times of 02:30 in Berlin up to and including the day of the clock change, and after it.
const changes = [
  { day: '2026-03-29', until: '01:30', after: '00:30' },
  { day: '2026-10-25', until: '00:30', after: '01:30' },
];
/** WEEKS=1 tests complete weeks around both clock changes. */
const isWhole = process.env['WEEKS'] !== undefined;

it.each(isWhole ? changes : changes.slice(0, 1))(
  'serves through the change of clocks on $day, a crash and a missed night',
  {
    timeout: 600_000,
  },
  async ({ day, until: before, after }) => {
    let now = Date.parse(`${addDays(day, -5)}T12:00:00Z`);
    const { folder, env, data, sandbox } = await openCli({ days: 10, clock: () => now });
    const night = { cron: '30 2 * * *', timeZone: 'Europe/Berlin', steps: ['sync', 'export'] };
    await writeFile(
      join(folder, 'sightline.config.json'),
      JSON.stringify({ clock: 'upstream', jobs: { ...disabledJobs, night } }),
    );

    const ended = async (): Promise<[string | null, string][]> =>
      (await readJobRuns(data)).map(({ dueAt, status }): [string | null, string] => [dueAt, status]).reverse();
    const due = (date: string): [string, string] => [`${date}T${date > day ? after : before}:00.000Z`, 'done'];
    const expected: [string, string][] = [];
    const serve = async (from: string, to: string, date: string): Promise<void> => {
      now = Date.parse(to);
      sandbox.world.advance({ editedResponses: 1, lateAnswers: 1 });
      const owned = await serveThrough({ folder, env, from, to });
      expected.push(due(date));
      await until(`${date} is done`, async () => (await ended()).length >= expected.length);
      await owned.close();
      expect(await ended()).toEqual(expected);
    };
    const wholeNight = (date: string) => serve(`${addDays(date, -1)}T20:00:00Z`, `${date}T03:00:00Z`, date);

    for (const ago of isWhole ? [-3, -2, -1] : [-1]) await wholeNight(addDays(day, ago));

    // A killed run is not in the job log, so it is still due.
    now = Date.parse(`${day}T02:00:00Z`);
    sandbox.setFaults([{ kind: 'hang' }]);
    const sent = sandbox.requests.length;
    const times = [`${addDays(day, -1)}T20:00:00Z`, `${day}T02:00:00Z`];
    const child = startChild(new URL('serving-child.ts', import.meta.url), ...times, folder, JSON.stringify(env));
    await until('a request hangs', () => sandbox.requests.length > sent);
    await child.kill();
    sandbox.setFaults([]);
    await serve(`${day}T03:00:00Z`, `${day}T04:00:00Z`, day);

    // After a night without power the machine first catches up.
    const [missed, next] = [addDays(day, 1), addDays(day, 2)];
    await serve(`${next}T00:00:00Z`, `${next}T00:10:00Z`, missed);
    await serve(`${next}T00:10:00Z`, `${next}T03:00:00Z`, next);
    if (isWhole) await wholeNight(addDays(day, 3));
    await expectAsUpstream(data, sandbox);
  },
);
