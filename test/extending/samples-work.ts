// Runs in the copy of test/extending.test.ts, which has the samples, as samples-work.test.ts.
import { Writable } from 'node:stream';
import { expect, onTestFinished, test } from 'vitest';
import { declaredJobs } from '../../jobs/all.ts';
import { loadConfig } from '../../src/base/config/config.ts';
import { settingList } from '../../src/base/config/setting-list.ts';
import { type ErrorCode, SightlineError } from '../../src/base/errors.ts';
import { performStep } from '../../src/cli/job-steps.ts';
import { withTerminal } from '../../src/cli/output/terminal.ts';
import { parseArguments } from '../../src/cli/program/program.ts';
import { MART_SCHEMA, marts } from '../../src/metrics/marts/marts.ts';
import { jobOf } from '../../src/operations/jobs/job-list.ts';
import { ensureViews } from '../../src/warehouse/views.ts';
import { openMirror } from '../read/mirror.ts';
import { expectedLists } from '../support/oracle/mart-lists.ts';
import { readHeld } from '../support/oracle/rows.ts';

test('the endpoint is synced and served, and the mart matches its oracle', async () => {
  const mirror = await openMirror();
  expect(await mirror.sync({ only: ['brands', 'alerts', 'webinars'] })).toMatchObject({
    status: 'complete',
    quarantined: 0,
  });
  const counts =
    'SELECT (SELECT count(*) FROM webinars) AS webinars, (SELECT count(*) FROM webinar_speakers) AS speakers';
  expect(await mirror.query(counts)).toEqual([{ webinars: 24n, speakers: 48n }]);

  await ensureViews(mirror.warehouse().database, MART_SCHEMA, marts());
  await mirror.publishOnly();
  const path = `/brands/${mirror.sandbox.world.brands[0]?.id}/webinars?limit=10`;
  expect(await mirror.mirror(path)).toMatchObject({
    status: 200,
    body: { data: Array(10).fill({ speakers: [{}, {}] }) },
  });

  const held = await readHeld(mirror.copy);
  onTestFinished(() => held.reader.close());
  const today = new Date(mirror.sandbox.world.now()).toISOString().slice(0, 10);
  const expected = (await expectedLists(held, today))['alert_days'] ?? [];
  expect(expected.length).toBeGreaterThan(0);
  // The name of the brand is added to every mart.
  const names = new Map(held.brands.map(({ id, name }) => [id, name]));
  const named = expected.map((row) => ({ ...row, brand_name: names.get(row['brand_id']) }));
  const found = await held.all(`${MART_SCHEMA}.alert_days`);
  expect(found).toEqual(expect.arrayContaining(named));
  expect(found.length).toBe(expected.length);
});

test('the job is listed last, because it has no position, and runs the steps that it declares', () => {
  expect(declaredJobs.at(-1)).toMatchObject({ name: 'noon', steps: [{ do: 'verify' }] });
});

test('the step can be set in the configuration and runs', async () => {
  const job = jobOf(
    { folder: '', jobs: { hello: { cron: '0 0 * * *', steps: [{ do: 'greet', loud: true }] } } },
    'hello',
  );
  const [step] = job.steps as [(typeof job.steps)[number]];
  const ended = await performStep(job.name, step, { json: true }, new AbortController());
  expect(ended).toEqual({ status: 'done', code: null, error: null, json: { greeting: 'hello, HELLO' } });
});

test('the option is parsed and changes the output of its command', async () => {
  const chunks: string[] = [];
  const stdout = new Writable({
    write: (chunk, _encoding, done) => {
      chunks.push(String(chunk));
      done();
    },
  });
  const invocation = await parseArguments(['describe', 'webinars', '--names']);
  expect(await withTerminal({ stdout }, async () => invocation?.action(AbortSignal.timeout(60_000)))).toBe(0);
  expect(chunks.join('')).toBe('webinars\n');
});

test('the setting has its default, is read from its variable, and is listed', () => {
  const read = (environment: Record<string, string>) => loadConfig({ flags: {}, environment, folder: '', file: {} });
  expect(read({})).toMatchObject({ napMinutes: 5 });
  expect(read({ SIGHTLINE_NAP_MINUTES: '7' })).toMatchObject({ napMinutes: 7 });
  expect(settingList()).toContain(
    '\nnapMinutes (SIGHTLINE_NAP_MINUTES)\n    minutes to rest\n    default: 5; allowed:',
  );
});

test('the error code has its exit code and its hint', () => {
  const error = new SightlineError('too_early' as ErrorCode, 'not yet');
  expect(error).toMatchObject({ code: 'too_early', exit: 1, hint: 'Send it again later.' });
});
