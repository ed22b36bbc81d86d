import { existsSync } from 'node:fs';
import { readFile, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BRAND_HINT, type CliWorkspace, expectRefusal, openCliFor, until } from './helpers.ts';
import { readCopy } from './tamper.ts';

let workspace: CliWorkspace & { close: () => Promise<void> };
let sent: number;

beforeAll(async () => {
  workspace = await openCliFor({ brands: 1, prompts: 2, days: 4 });
  const { code, stderr } = await workspace.run('sync');
  if (code !== 0) throw new Error(stderr);
  sent = workspace.sandbox.requests.length;
});

afterAll(() => workspace.close());

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

describe('while a sync owns the warehouse', () => {
  test('status names the owner, and status and runs show the earlier data', async () => {
    const { sandbox, start, run } = workspace;
    const before = await json<Run[]>('runs');
    sandbox.setFaults([{ kind: 'hang' }]);
    const victim = start('sync');
    await until('a request hangs', () => sandbox.requests.some(({ fault }) => fault === 'hang'));
    try {
      const status = await json<Record<string, unknown>>('status');
      expect(status).toMatchObject({ owner: { pid: victim.process.pid }, data: { lastRun: { status: 'complete' } } });
      const shown = await run('status');
      expect(shown.stdout + shown.stderr).toContain(`process ${victim.process.pid}`);
      expect(await json<Run[]>('runs')).toEqual(before);
    } finally {
      victim.process.kill('SIGKILL');
      await victim.finished;
      sandbox.setFaults([]);
    }
  });
});

describe('state', () => {
  interface State {
    readonly coverage: { readonly resource: string; readonly chain: string }[];
    readonly checkpoints: unknown[];
  }

  test('is exported to a file, reset, and imported unchanged', async () => {
    const before = await json<State>('state', 'list');
    expect(before.coverage.length).toBeGreaterThan(10);
    const file = join(workspace.folder, 'state.json');
    expect(await json('state', 'export', file)).toMatchObject({ path: file, coverage: before.coverage.length });
    expectRefusal(await workspace.run('state', 'export', file), 'usage', false);
    const rows = await readCopy(workspace, 'select count(*) from responses');
    expectRefusal(await workspace.run('state', 'reset', '--resource', 'alerts'), 'usage', false);
    expect(await json('state', 'list')).toEqual(before);
    expect(await json('state', 'reset', '--resource', 'alerts', '--yes')).toEqual({ chains: 1 });
    expect((await json<State>('state', 'list')).coverage.map(({ resource }) => resource)).not.toContain('alerts');
    await json('state', 'reset', '--yes');
    expect(await json('state', 'list')).toEqual({ coverage: [], checkpoints: [] });
    expect(await readCopy(workspace, 'select count(*) from responses')).toEqual(rows);
    expectRefusal(await workspace.run('state', 'import', file), 'usage', false);
    await json('state', 'import', file, '--yes');
    expect(await json('state', 'list')).toEqual(before);
  });

  test('rejects other files, and state of unknown brands', async () => {
    const file = join(workspace.folder, 'wrong.json');
    const exported = JSON.parse(await readFile(join(workspace.folder, 'state.json'), 'utf8')) as State & {
      brands: string[];
    };
    const give = (value: unknown) => writeFile(file, JSON.stringify(value));
    const refused = async (why: RegExp): Promise<void> => {
      const finished = await workspace.run('state', 'import', file, '--yes');
      expectRefusal(finished, 'usage', false);
      expect(finished.stderr).toMatch(why);
    };
    await give({ ...exported, version: 2 });
    await refused(/version 2; allowed: 1/);
    await give({ ...exported, coverage: [{ chain: 'x' }] });
    await refused(/coverage\.0/);
    const [first] = exported.coverage;
    await give({ ...exported, coverage: [{ ...first, resource: 'weather' }] });
    await refused(/unknown resource "weather"/);
    await give({ ...exported, brands: ['00000000-0000-4000-8000-000000000000'] });
    await refused(/has brands that workspace default does not have/);
    expect((await workspace.run('state', 'import', file, '--yes', '--force')).code).toBe(0);
    expectRefusal(await workspace.run('state', 'import', join(workspace.folder, 'none.json'), '--yes'), 'usage', false);
    expect(existsSync(join(workspace.folder, 'none.json'))).toBe(false);
  });

  test('rejects unknown subcommands and names', async () => {
    expectRefusal(await workspace.run('state'), 'usage', false);
    expectRefusal(await workspace.run('state', 'burn'), 'usage', false);
    expectRefusal(await workspace.run('state', 'reset', '--resource', 'weather', '--yes'), 'usage', false);
    expectRefusal(await workspace.run('state', 'reset', '--brand', 'nobody', '--yes'), 'usage', false, BRAND_HINT);
  });
});
