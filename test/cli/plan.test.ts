import { describe, expect, test } from 'vitest';
import { openCli } from './helpers.ts';

describe('plan', () => {
  test('estimates the requests of the next sync, with reasons', async () => {
    const { run } = await openCli({ brands: 1, prompts: 3, days: 6 });
    expect((await run('sync', '--json')).code).toBe(0);
    const planned = JSON.parse((await run('plan', '--json')).stdout);
    const told = await run('plan', '--offline');
    const synced = JSON.parse((await run('sync', '--json')).stdout);
    expect(planned.requests).toBe(synced.requests);
    expect(planned.asked).toBeGreaterThan(0);
    const responses = planned.resources.find(({ name }: { name: string }) => name === 'responses');
    expect(responses.reasons.map(({ reason }: { reason: string }) => reason)).toEqual(['recent, may still change']);
    expect(planned.skippedDays).toBeGreaterThan(0);
    expect(told.code).toBe(0);
    expect(told.stdout).toContain('recent, may still change');
    expect(told.stderr).toContain(`about ${synced.requests} requests`);
    const full = JSON.parse((await run('plan', '--offline', '--full', '--json')).stdout);
    expect(full.requests).toBeGreaterThan(planned.requests);
  });

  test('fails if upstream cannot be reached', async () => {
    const { run, sandbox } = await openCli({ brands: 1, prompts: 2, days: 3 });
    await sandbox.close();
    const { code, stdout, stderr } = await run('plan');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('sightline: ');
    expect(stderr).not.toContain('A sync would take');
  });
});
