import { describe, expect, test } from 'vitest';
import { openCli, runCli } from './helpers.ts';

describe('plan', () => {
  test('estimates the requests of the next sync, with reasons', async () => {
    const { done, json } = await openCli({ world: 'tiny' });
    const planned = await json('plan');
    const told = await done('plan', '--offline');
    const synced = await json('sync');
    expect(planned.requests).toBe(synced.requests);
    expect(planned.asked).toBeGreaterThan(0);
    const responses = planned.resources.find(({ name }: { name: string }) => name === 'responses');
    expect(responses.reasons.map(({ reason }: { reason: string }) => reason)).toEqual(['recent, may still change']);
    expect(planned.skippedDays).toBeGreaterThan(0);
    expect(told.stdout).toContain('recent, may still change');
    expect(told.stderr).not.toContain('calibration');
    expect(planned.probes).toEqual([]);
    expect(told.stderr).toContain(`about ${synced.requests} requests`);
    const full = await json('plan', '--offline', '--full');
    expect(full.requests).toBeGreaterThan(planned.requests);
    const runs = await json<{ kind: string }[]>('runs');
    expect(runs.map(({ kind }) => kind)).toEqual(['sync', 'look', 'sync']);
  });

  test('lists the requests that calibration would send, with reasons, and writes nothing', async () => {
    const { folder, env, rows } = await openCli({ world: 'tiny' });
    const state = () => rows('SELECT name, source, decided_at FROM sync.calibration ORDER BY name');
    const before = await state();
    const asking = { cwd: folder, env: { ...env, SIGHTLINE_CALIBRATION_PROBES: '7' } };
    const planned = JSON.parse((await runCli(['plan', '--offline', '--json'], asking)).stdout);
    const { probes } = planned;
    expect(probes.length).toBe(7);
    expect(planned.resources.at(-1)).toMatchObject({ name: 'calibration', requests: 7 });
    const without = JSON.parse((await runCli(['plan', '--offline', '--json'], { cwd: folder, env })).stdout);
    const bounds = ({ requests, least, most }: typeof planned) => [requests, least, most];
    expect(bounds(planned)).toEqual([without.requests + 7, without.least, without.most + 7]);
    for (const { resource, query, reason, points } of probes) {
      expect(resource).toMatch(/^[a-z_]+$/);
      expect(Object.values(query).every((value) => typeof value === 'string')).toBe(true);
      expect(reason.length).toBeGreaterThan(10);
      expect(points.length).toBeGreaterThan(0);
    }
    const told = await runCli(['plan', '--offline'], asking);
    expect(told.stderr).toContain('Questions of calibration, if the sync changes data:');
    expect(told.stdout).toContain(probes[0].reason);
    expect(await state()).toEqual(before);
  });

  test('gives a first price that includes the questions of calibration', async () => {
    const { folder, env } = await openCli({ brands: 1, prompts: 3, days: 20 });
    const asking = { cwd: folder, env: { ...env, SIGHTLINE_CALIBRATION_PROBES: '20' } };
    const price = JSON.parse((await runCli(['plan', '--json'], asking)).stdout);
    const { requests } = JSON.parse((await runCli(['sync', '--json'], asking)).stdout);
    expect(requests).toBeGreaterThanOrEqual(price.least);
    expect(requests).toBeLessThanOrEqual(price.most);
    expect(Math.abs(price.requests / requests - 1)).toBeLessThan(0.1);
  });

  test('fails if upstream cannot be reached', async () => {
    const { run, sandbox } = await openCli({ world: 'tiny' });
    await sandbox.close();
    const { code, stdout, stderr } = await run('plan');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('sightline: ');
    expect(stderr).not.toContain('A sync would take');
  });
});
