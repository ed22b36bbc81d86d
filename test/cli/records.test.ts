import { utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import type { JsonValue } from '../../src/cli/json/json-outputs.ts';
import { NOW_MS, skippingClock } from '../support/clocks.ts';
import { runCommand } from '../support/run-command.ts';
import { BRAND_HINT, expectRefusal, openCli, shareCli } from './helpers.ts';

const workspace = shareCli({ world: 'tiny' });
let sent: number;

beforeAll(async () => {
  // The sandbox counts the requests of this sync, which inserts the rows of another day.
  workspace.sandbox.world.advance({ days: 1 });
  await workspace.done('sync', '--only', 'responses');
  sent = workspace.sandbox.requests.length;
});

describe('status', () => {
  test('prints the complete status of a workspace as one line of JSON', async () => {
    const status = await workspace.json<Record<string, unknown> & { data: Record<string, unknown> }>('status');
    expect(status).toMatchObject({ workspace: 'default', folder: workspace.data, owner: null, stale: false });
    // Opening a file changes its time but not the data.
    for (const name of ['warehouse.duckdb', 'analytics.duckdb']) await utimes(join(workspace.data, name), 2e9, 2e9);
    const [{ endedAt } = { endedAt: null }] = await workspace.json<{ readonly endedAt: string | null }[]>('runs');
    expect((await workspace.json<{ readonly asOf: string }>('status')).asOf).toBe(endedAt);
    expect(status['asOf']).toBe(endedAt);
    expect(status['bytes']).toMatchObject({ warehouse: expect.any(Number), replica: expect.any(Number) });
    expect(status.data).toMatchObject({
      lastRun: { status: 'complete', requests: sent, error: null },
      quarantined: 0,
      key: { state: 'accepted', lastRefusal: null },
    });
    const { resources, brands } = status.data as {
      resources: { readonly resource: string; readonly readAt: string | null; readonly gapDays: number }[];
      brands: { readonly verifiedThrough: string | null }[];
    };
    expect(resources.length).toBeGreaterThan(10);
    for (const { resource, readAt, gapDays } of resources) {
      expect(readAt, resource).not.toBeNull();
      expect(gapDays, resource).toBe(0);
    }
    expect(brands).toMatchObject([{ verifiedThrough: null, verifiedAt: null, differingDays: 0 }]);
    const { stdout } = await workspace.done('status');
    const fresh = Number(/^ {2}fresh {8}(\d+) resources, all read since 20/m.exec(stdout)?.[1]);
    expect(fresh).toBeGreaterThan(0);
    expect(stdout.match(/^ {2}resource {5}\w+ +20/gm)?.length).toBe(resources.length - fresh);
  });

  test('--check reports a workspace without data, also with --all', async () => {
    for (const scope of [[], ['--all']]) {
      const checked = await workspace.run('status', '--data-dir', 'elsewhere', '--check', ...scope, '--json');
      expect(checked.code, checked.stderr).toBe(3);
      expect(JSON.parse(checked.stdout)).toMatchObject({ error: { code: 'no_data' } });
    }
    expectRefusal(await workspace.run('status', '--all', '--workspace', 'x'), 'usage', false);
  });
});

describe('runs', () => {
  test('lists runs with their requests, and one run by resource', async () => {
    const [run] = await workspace.json<JsonValue<'runs'>>('runs');
    expect(run).toMatchObject({ status: 'complete', requests: sent, retries: 0, failures: 0 });
    const one = await workspace.json<JsonValue<'runs id'>>('runs id', String(run?.runId).slice(0, 8).toUpperCase());
    expect(one).toMatchObject({ runId: run?.runId, requests: sent });
    const sum = (name: 'requests' | 'inserted') => one.resources.reduce((total, cost) => total + cost[name], 0);
    expect([sum('requests'), sum('inserted')]).toEqual([sent, run?.inserted]);
  });

  test('rejects an unknown run', async () => {
    expectRefusal(await workspace.run('runs', 'nonsense', '--json'), 'usage', true);
    expectRefusal(await workspace.run('runs', '00000000-0000-0000'), 'usage', false);
    expectRefusal(await workspace.run('runs', '--limit', '0'), 'usage', false);
  });
});

test('a mistyped brand leaves no run and no request', async () => {
  const { run, rows, sandbox } = workspace;
  const [{ name } = {}] = await rows('select name from brands');
  const [before, asked] = [await workspace.json('runs'), sandbox.requests.length];
  const mistyped = String(name).slice(1);
  for (const command of ['sync', 'plan']) {
    const refused = await run(command, '--brand', mistyped);
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toContain(`unknown brand ${JSON.stringify(mistyped)}; allowed: ${name} (`);
    expect(refused.stderr).toContain(`did you mean ${JSON.stringify(name)}?`);
  }
  expect([await workspace.json('runs'), sandbox.requests.length]).toEqual([before, asked]);
});

describe('state', () => {
  interface State {
    readonly resources: { readonly resource: string; readonly complete: number }[];
  }

  test('is listed and reset, and no row is deleted', async () => {
    const before = await workspace.json<State>('state list');
    expect(before.resources.length).toBeGreaterThan(10);
    expect(before.resources.find(({ resource }) => resource === 'brands')).toMatchObject({
      brandId: null,
      complete: 1,
    });
    const rows = await workspace.rows('select count(*) from responses');
    expectRefusal(await workspace.run('state', 'reset', '--resource', 'alerts'), 'usage', false);
    expect(await workspace.json('state list')).toEqual(before);
    const alerts = before.resources.filter(({ resource }) => resource === 'alerts');
    expect(alerts.length).toBe(1);
    expect(await workspace.json('state list', '--resource', 'alerts')).toEqual({ resources: alerts });
    expect(await workspace.json('state reset', '--resource', 'alerts', '--yes')).toEqual({ slices: 1 });
    const { resources } = await workspace.json<State>('state list');
    expect(resources).toEqual(before.resources.filter(({ resource }) => resource !== 'alerts'));
    await workspace.json('state reset', '--yes');
    expect(await workspace.json('state list')).toEqual({ resources: [] });
    expect(await workspace.rows('select count(*) from responses')).toEqual(rows);
  });

  test('rejects unknown subcommands and names', async () => {
    expectRefusal(await workspace.run('state'), 'usage', false);
    expectRefusal(await workspace.run('state', 'burn'), 'usage', false);
    expectRefusal(await workspace.run('state', 'reset', '--resource', 'weather', '--yes'), 'usage', false);
    expectRefusal(await workspace.run('state', 'reset', '--brand', 'nobody', '--yes'), 'usage', false, BRAND_HINT);
  });
});

test('a revoked key is one finding, with the failed job below it, and --check exits with 1', async () => {
  const { sandbox, folder: cwd, env } = await openCli({ world: 'tiny' });
  const clock = skippingClock(() => NOW_MS + 60_000);
  const run = (...args: string[]) => runCommand(args, { cwd, env, clock });
  sandbox.setKey(sandbox.key, 'disabled');
  expect((await run('jobs', 'run', 'nightly')).code).not.toBe(0);
  const { code, stdout } = await run('status', '--json', '--check');
  expect(code).toBe(1);
  const { findings } = JSON.parse(stdout).verdict;
  expect(findings).toHaveLength(1);
  expect(findings[0]).toMatchObject({ level: 'problem', consequences: ['The job nightly failed.'] });
  expect(findings[0].sentence).toMatch(/^Upstream rejects the workspace's key \(401\)/);
});
