import { expect, test } from 'vitest';
import { expectJson } from '../support/json-outputs.ts';
import { worldClock } from '../support/worlds.ts';
import { openCli, runCli } from './helpers.ts';

test('plan estimates the requests of the next sync, lists those of calibration with reasons, and writes nothing', async () => {
  const { folder, env, json, rows } = await openCli({ world: 'tiny' });
  const state = () => rows('SELECT name, source, decided_at FROM sync.calibration ORDER BY name');
  const before = await state();
  const asking = { cwd: folder, env: { ...env, SIGHTLINE_CALIBRATION_PROBES: '3' }, clock: worldClock() };
  const told = await runCli(['plan', '--offline'], asking);
  const printed = await runCli(['plan', '--json'], asking);
  const { probes, ...planned } = expectJson('plan', printed.stdout);
  expect(probes.length).toBe(3);
  for (const { resource, query, reason, points } of probes) {
    expect(resource).toMatch(/^[a-z_]+$/);
    expect(Object.values(query).every((value) => typeof value === 'string')).toBe(true);
    expect(reason.length).toBeGreaterThan(10);
    expect(points.length).toBeGreaterThan(0);
  }
  expect(planned.resources.at(-1)).toMatchObject({ name: 'calibration', requests: 3 });
  expect(told.stderr).toContain('Questions of calibration, if the sync changes data:');
  expect(told.stdout).toContain(probes[0].reason);
  expect(await state()).toEqual(before);

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
  expect(told).toMatchObject({ code: 0, stdout: expect.stringContaining('recent, may still change') });
  expect(told.stderr).toContain(`about ${synced.requests + 3} requests`);
  const runs = await json<{ kind: string }[]>('runs');
  expect(runs.map(({ kind }) => kind)).toEqual(['sync', 'look', 'sync']);
});

test.each([
  { prompts: 3, days: 4, most: 6 },
  // Questions are asked about complete days, and today is none.
  { prompts: 1, days: 1, most: 0 },
])(
  'the first price of $prompts prompts and $days days includes $most questions of calibration',
  async ({ prompts, days, most }) => {
    const { folder, env } = await openCli({ brands: 1, prompts, days });
    const asking = { cwd: folder, env: { ...env, SIGHTLINE_CALIBRATION_PROBES: '6' } };
    const price = JSON.parse((await runCli(['plan', '--json'], asking)).stdout);
    const questions = price.resources.find(({ name }: { name: string }) => name === 'calibration');
    expect(questions?.requests ?? 0).toBe(most);
    const { requests } = JSON.parse((await runCli(['sync', '--json'], asking)).stdout);
    expect(requests).toBeGreaterThanOrEqual(price.least);
    expect(requests).toBeLessThanOrEqual(price.most);
    expect(Math.abs(price.requests / requests - 1)).toBeLessThan(0.1);
  },
);
