import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { printPlan } from '../../src/cli/commands/start/plan-command.ts';
import { withTerminal } from '../../src/cli/output/terminal.ts';
import { questionsToAsk } from '../../src/metrics/calibration/questions.ts';
import { expectJson } from '../support/json-outputs.ts';
import { openWorkspace } from '../support/workspace.ts';
import { worldClock } from '../support/worlds.ts';
import { openCli, runCli } from './helpers.ts';

/** Returns the text of a plan, as the command prints it without --json. */
async function textOf(plan: Parameters<typeof printPlan>[0]): Promise<{ stdout: string; stderr: string }> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  await withTerminal({ stdout, stderr }, async () => printPlan(plan));
  return { stdout: String(stdout.read()), stderr: String(stderr.read()) };
}

test('plan estimates the requests of the next sync, lists those of calibration with reasons, and writes nothing', async () => {
  const { folder, env, json, done, rows } = await openCli({ world: 'tiny' });
  const state = () => rows('SELECT name, source, decided_at FROM sync.calibration ORDER BY name');
  const before = await state();
  const asking = { cwd: folder, env: { ...env, SIGHTLINE_CALIBRATION_PROBES: '3' }, clock: worldClock() };
  const plan = expectJson('plan', (await runCli(['plan', '--json'], asking)).stdout);
  const { probes, ...planned } = plan;
  expect(probes.length).toBe(3);
  for (const { resource, query, reason } of probes) {
    expect(resource).toMatch(/^[a-z_]+$/);
    expect(Object.values(query).every((value) => typeof value === 'string')).toBe(true);
    expect(reason.length).toBeGreaterThan(10);
  }
  expect(planned.resources.at(-1)).toMatchObject({ name: 'calibration', requests: 3 });
  expect(await state()).toEqual(before);
  const shown = await textOf(plan);
  expect(shown.stderr).toContain('If the sync changes data, 3 questions of calibration follow:');
  expect(shown.stderr).toContain(`about ${planned.requests} requests`);
  expect(shown.stderr).toContain(`${probes[0].resource} `);

  const told = await done('plan', '--offline');
  expect(told.stdout).toContain('recent, may still change');
  expect(told.stderr).toContain(`about ${planned.requests - 3} requests`);
  const full = await json('plan', '--offline', '--full');
  expect(full.requests).toBeGreaterThan(planned.requests - 3);
  expect(full.probes).toEqual([]);
  const synced = await json('sync');
  // This sync asks no questions.
  expect(planned.requests).toBe(synced.requests + 3);
  expect(planned.most - planned.least).toBeGreaterThanOrEqual(3);
  expect(planned.asked).toBeGreaterThan(0);
  const responses = planned.resources.find(({ name }: { name: string }) => name === 'responses');
  expect(responses.reasons.map(({ reason }: { reason: string }) => reason)).toEqual(['recent, may still change']);
  expect(planned.skippedDays).toBeGreaterThan(0);
  const runs = await json<{ kind: string }[]>('runs');
  expect(runs.map(({ kind }) => kind)).toEqual(['sync', 'plan', 'sync']);
});

describe('the first price', () => {
  test('includes the questions of calibration and is within 10 percent of the requests', async () => {
    const { folder, env } = await openCli();
    const asking = { cwd: folder, env: { ...env, SIGHTLINE_CALIBRATION_PROBES: '6' } };
    const price = JSON.parse((await runCli(['plan', '--json'], asking)).stdout);
    expect(price.resources.at(-1)).toMatchObject({ name: 'calibration', requests: 6 });
    const { requests } = JSON.parse((await runCli(['sync', '--json'], asking)).stdout);
    expect(requests).toBeGreaterThanOrEqual(price.least);
    expect(requests).toBeLessThanOrEqual(price.most);
    expect(Math.abs(price.requests / requests - 1)).toBeLessThan(0.1);
  });

  // Questions are asked about complete days, and today is none.
  test('of the first day includes no questions, because none is planned before a day is complete', async () => {
    const { folder, env } = await openCli({ brands: 1, prompts: 1, days: 1 });
    const asking = { cwd: folder, env: { ...env, SIGHTLINE_CALIBRATION_PROBES: '6' } };
    const price = JSON.parse((await runCli(['plan', '--json'], asking)).stdout);
    expect(price.resources.map(({ name }: { name: string }) => name)).not.toContain('calibration');
    const { catalogue, query, warehouse } = await openWorkspace({ world: 'tiny' });
    const [{ day } = {}] = await query("SELECT strftime(min(created_at), '%Y-%m-%d') AS day FROM responses");
    const askedOn = (now: string) =>
      warehouse().database.exclusive((session) =>
        questionsToAsk(session.query, { catalogue, now: Date.parse(now), max: 1 }),
      );
    expect(await askedOn(`${day}T12:00:00Z`)).toBeNull();
  });
});
