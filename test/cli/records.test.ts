import { utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { NOW_MS, skippingClock } from '../support/clocks.ts';
import { runCommand } from '../support/run-command.ts';
import { BRAND_HINT, expectRefusal, openCli, shareCli } from './helpers.ts';

const RUNS = 'select kind, trigger, status, error from sync.runs order by started_at, rowid';

const workspace = shareCli({ world: 'tiny' });
let sent: number;

beforeAll(async () => {
  // The sandbox counts the requests of this sync, which inserts the rows of another day.
  workspace.sandbox.world.advance({ days: 1 });
  const { code, stderr } = await workspace.run('sync', '--only', 'responses');
  if (code !== 0) throw new Error(stderr);
  sent = workspace.sandbox.requests.length;
});

async function json<T>(...args: string[]): Promise<T> {
  const { code, stdout, stderr } = await workspace.run(...args, '--json');
  expect(code, stderr).toBe(0);
  expect(stdout.split('\n')).toHaveLength(2);
  return JSON.parse(stdout) as T;
}

interface Run {
  readonly runId: string;
  readonly requests: number;
  readonly inserted: number;
  readonly resources: { readonly resource: string; readonly requests: number; readonly inserted: number }[];
}

describe('status', () => {
  test('prints the complete status of a workspace as one line of JSON', async () => {
    const status = await json<Record<string, unknown> & { data: Record<string, unknown> }>('status');
    expect(status).toMatchObject({ workspace: 'default', folder: workspace.data, owner: null, stale: false });
    // Opening a file changes its time but not the data.
    for (const name of ['warehouse.duckdb', 'analytics.duckdb']) await utimes(join(workspace.data, name), 2e9, 2e9);
    const [{ endedAt } = { endedAt: null }] = await json<{ readonly endedAt: string | null }[]>('runs');
    expect((await json<{ readonly asOf: string }>('status')).asOf).toBe(endedAt);
    expect(status['asOf']).toBe(endedAt);
    expect(status['bytes']).toMatchObject({ warehouse: expect.any(Number), copy: expect.any(Number) });
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
  });

  test('rejects a workspace without data, and reports it with --all', async () => {
    expectRefusal(await workspace.run('status', '--data-dir', 'elsewhere', '--json'), 'no_data', true);
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
    const [run] = await json<Run[]>('runs');
    expect(run).toMatchObject({ status: 'complete', requests: sent, retries: 0, failures: 0 });
    const one = await json<Run>('runs', (run as Run).runId.slice(0, 8).toUpperCase());
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

describe('state', () => {
  interface State {
    readonly coverage: { readonly resource: string; readonly chain: string }[];
    readonly checkpoints: unknown[];
  }

  test('is listed and reset, and no row is deleted', async () => {
    const before = await json<State>('state', 'list');
    expect(before.coverage.length).toBeGreaterThan(10);
    const rows = await workspace.rows('select count(*) from responses');
    expectRefusal(await workspace.run('state', 'reset', '--resource', 'alerts'), 'usage', false);
    expect(await json('state', 'list')).toEqual(before);
    expect(await json('state', 'reset', '--resource', 'alerts', '--yes')).toEqual({ chains: 1 });
    expect((await json<State>('state', 'list')).coverage.map(({ resource }) => resource)).not.toContain('alerts');
    await json('state', 'reset', '--yes');
    expect(await json('state', 'list')).toEqual({ coverage: [], checkpoints: [] });
    expect(await workspace.rows('select count(*) from responses')).toEqual(rows);
  });

  test('rejects unknown subcommands and names', async () => {
    expectRefusal(await workspace.run('state'), 'usage', false);
    expectRefusal(await workspace.run('state', 'burn'), 'usage', false);
    expectRefusal(await workspace.run('state', 'reset', '--resource', 'weather', '--yes'), 'usage', false);
    expectRefusal(await workspace.run('state', 'reset', '--brand', 'nobody', '--yes'), 'usage', false, BRAND_HINT);
  });
});

describe('the record of runs', () => {
  test('distinguishes plans, syncs, verifications and jobs', async () => {
    const { run, rows, folder } = await openCli({ world: 'tiny' });
    const jobs = { nightly: { steps: [{ do: 'sync', only: ['brands'] }] } };
    await writeFile(join(folder, 'sightline.config.json'), JSON.stringify({ jobs }));
    for (const command of [['plan'], ['verify', '--fresh']]) {
      const { code, stderr } = await run(...command);
      expect(code, stderr).toBe(0);
    }
    expect((await run('jobs', 'run', 'nightly')).code).toBe(0);
    const kinds = (await rows(RUNS)).map(({ kind, trigger }) => `${kind} by ${trigger}`);
    expect(kinds).toEqual(['sync by command', 'look by command', 'verify by command', 'sync by job nightly']);
    const { data } = JSON.parse((await run('status', '--json')).stdout);
    expect(data.lastRun).toMatchObject({ status: 'complete' });
    const listed = JSON.parse((await run('runs', '--json')).stdout);
    expect(listed.map(({ kind }: { kind: string }) => kind)).toEqual(['sync', 'verify', 'look', 'sync']);
  });

  test('has no run and no request for a mistyped brand, which is also accepted by name and prefix', async () => {
    const { run, rows, sandbox } = await openCli({ world: 'small' });
    const [{ id, name } = {}] = await rows('select id, name from brands order by rowid');
    const [before, sent] = [await rows(RUNS), sandbox.requests.length];
    const mistyped = `${String(name).slice(1)}`;
    const refused = await run('sync', '--brand', mistyped);
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toContain(`unknown brand ${JSON.stringify(mistyped)}; allowed: ${name} (`);
    expect(refused.stderr).toContain(`did you mean ${JSON.stringify(name)}?`);
    for (const command of ['plan', 'verify', 'report']) {
      expect(await run(command, '--brand', mistyped), command).toMatchObject({ code: 2 });
    }
    expect([await rows(RUNS), sandbox.requests.length]).toEqual([before, sent]);
    expect(JSON.parse((await run('status', '--json')).stdout).verdict.level).toBe('good');
    for (const given of [String(name).toUpperCase(), String(id).slice(0, 8)]) {
      const { code, stderr } = await run('sync', '--brand', given, '--only', 'prompts');
      expect(code, stderr).toBe(0);
    }
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
