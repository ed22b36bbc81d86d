import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startSandboxWorkspace, type WorkspaceSandbox } from '../../schemas/fixtures/start.ts';
import type { JsonName } from '../../src/cli/json/json-outputs.ts';
import { createEmptyWarehouse } from '../support/empty-warehouse.ts';
import { temporaryFolder } from '../support/folders.ts';
import { expectJson } from '../support/json-outputs.ts';
import { runCommand } from '../support/run-command.ts';
import { expectRefusal } from './helpers.ts';

const small = { brands: 1, prompts: 2, days: 1, rateLimit: 10_000 } as const;

async function start(key: string, seed: number): Promise<WorkspaceSandbox> {
  const sandbox = await startSandboxWorkspace({ ...small, key, seed });
  onTestFinished(() => sandbox.close());
  return sandbox;
}

/** The lines of a command with --all, one for each workspace. */
function linesOf<T>(name: JsonName, stdout: string): T[] {
  return stdout
    .trim()
    .split('\n')
    .map((line) => expectJson<T>(name, line));
}

test('sync --all syncs every workspace even if one fails, and returns the most severe exit code', async () => {
  const folder = await temporaryFolder();
  const [north, south] = [await start('gsk_north_00000001', 1), await start('gsk_south_00000002', 2)];
  const workspaces = {
    north: { baseUrl: north.baseUrl, apiKeyVariable: 'NORTH_KEY' },
    again: { baseUrl: north.baseUrl, apiKeyVariable: 'NORTH_KEY' },
    south: { baseUrl: south.baseUrl, apiKeyVariable: 'SOUTH_KEY' },
    refused: { baseUrl: south.baseUrl, apiKeyVariable: 'WRONG_KEY' },
    keyless: { baseUrl: south.baseUrl, apiKeyVariable: 'NO_KEY' },
  };
  await writeFile(join(folder, 'sightline.config.json'), JSON.stringify({ workspaces }));
  for (const name of ['north', 'again', 'south', 'refused']) {
    await mkdir(join(folder, 'data', name), { recursive: true, mode: 0o700 });
    await createEmptyWarehouse(join(folder, 'data', name, 'warehouse.duckdb'), { hasMarts: true });
  }
  const env = { NORTH_KEY: north.key, SOUTH_KEY: south.key, WRONG_KEY: 'gsk_wrong_00000003' };
  const run = (...args: string[]) => runCommand(args, { cwd: folder, env });

  const { code, stdout, stderr } = await run('sync', '--all', '--json', '--only', 'prompts', 'competitors');
  expect(code, stderr).toBe(1);
  const lines = linesOf<{ workspace: string; status?: string; error?: object }>('sync --all', stdout);
  const of = (name: string) => lines.find(({ workspace }) => workspace === name);
  expect(lines.map(({ workspace }) => workspace).sort()).toEqual(Object.keys(workspaces).sort());
  for (const name of ['north', 'again', 'south']) expect(of(name), stderr).toMatchObject({ status: 'complete' });
  expect(of('refused')).toMatchObject({ status: 'failed', error: { code: 'unauthorized' } });
  expect(of('keyless')).toMatchObject({ error: { code: 'config_invalid' } });
  expect(stderr).toMatch(/5 workspaces in .*: 3 complete, 2 not synced\n$/);
  expect(stdout + stderr).not.toContain('gsk_north');
  // Workspaces with the same key and upstream are synced one after another.
  const starts = north.requests.flatMap(({ path }, index) => (path.endsWith('/brands') ? [index] : []));
  expect(starts).toEqual([0, north.requests.length / 2]);

  const files = ['--since', 'last', '--tables', 'prompts', '--output', 'out/%Y', '--format', 'csv'];
  const exported = await run('export', '--all', '--json', ...files);
  expect(exported.code, exported.stderr).toBe(1);
  const results = linesOf<{ workspace: string; path?: string; error?: object }>('export --all', exported.stdout);
  expect(results.map(({ workspace }) => workspace).sort()).toEqual(Object.keys(workspaces).sort());
  for (const { workspace, path, error } of results) {
    if (workspace === 'keyless') expect(error).toMatchObject({ code: 'no_data' });
    else expect(path).toMatch(new RegExp(`/out/\\d{4}/${workspace}$`));
  }
  expect(exported.stderr).toMatch(/5 workspaces in .*: 4 exported, 1 not exported\n$/);
  for (const args of [
    ['--brand', 'x', '--output', 'o'],
    ['--since', '20261120T021500Z', '--output', 'o'],
    ['--tables', 'brands', '--output', '-'],
  ]) {
    expectRefusal(await run('export', '--all', ...args), 'usage', false);
  }

  const status = await run('status', '--all', '--json');
  expect(status.code, status.stderr).toBe(0);
  const told = linesOf<{ workspace: string }>('status --all', status.stdout);
  expect(told.map(({ workspace }) => workspace)).toEqual(Object.keys(workspaces));
  expect(told.find(({ workspace }) => workspace === 'refused')).toMatchObject({
    data: { key: { state: 'refused', lastRefusal: { status: 401 } } },
  });

  const examined = await run('doctor', '--all', '--json');
  expect(examined.code, examined.stderr).toBe(1);
  const reports = linesOf<{ workspace: string | null; status: string; checks: object[] }>('doctor', examined.stdout);
  expect(reports.map(({ workspace }) => workspace)).toEqual([null, ...Object.keys(workspaces)]);
  expect(reports.map(({ status }) => status)).toEqual(['failure', 'ok', 'ok', 'ok', 'failure', 'warning']);
  expect(reports[1]?.checks.length).toBeGreaterThan(8);
  // The text is of the settings and of one workspace.
  for (const name of ['again', 'south', 'refused']) await rm(join(folder, 'data', name), { recursive: true });
  const shown = await run('doctor', '--all', '--offline');
  expect(shown.stdout).toMatch(/^all workspaces:\nfailure .*NO_KEY.*\n(.*\n)*north: \d+ checks passed\n/);
  expect(examined.stdout + shown.stdout).not.toContain('gsk_wrong');

  expectRefusal(await run('sync', '--all', '--workspace', 'north'), 'usage', false);
  expectRefusal(await run('sync', '--all', '--brand', 'x', '--json'), 'usage', true);
});
