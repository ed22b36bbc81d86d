import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { runCommand } from '../support/run-command.ts';
import { type CliWorkspace, openCli, type Running, shareCli, until } from './helpers.ts';

const COUNTS = 'select (select count(*) from responses) as responses, (select count(*) from sync.runs) as runs';

/** Starts a sync and resolves when it waits for the responses. */
async function startWaiting<T>({ sandbox }: CliWorkspace, start: () => T): Promise<T> {
  sandbox.setFaults([{ kind: 'hang', match: '/responses' }]);
  const sent = sandbox.requests.length;
  const running = start();
  await until('the sync waits for responses', () => sandbox.requests.slice(sent).some(({ fault }) => fault === 'hang'));
  return running;
}

test('a running first sync publishes the lists, which sql reads, and sql prints the progress of the sync', async () => {
  const workspace = await openCli({ prompts: 1, days: 1 });
  const { folder: cwd, env, data } = workspace;
  const stop = new AbortController();
  const first = startWaiting(workspace, () =>
    runCommand(['sync'], { cwd, env, clock: systemClock, signal: stop.signal }),
  );
  await until('the lists are published', () => existsSync(join(data, 'analytics.duckdb')));
  const listed = 'select (select count(*) from brands) as brands, (select count(*) from responses) as responses';
  const { stdout, stderr } = await workspace.done('sql', listed, '--json');
  expect(JSON.parse(stdout)).toEqual([{ brands: 1, responses: 0 }]);
  expect(stderr).toMatch(/^Data as of \S+ \S+ UTC; a sync is running: \d+ of about \d+ requests/);
  stop.abort();
  expect(await first).toMatchObject({ code: 130 });
});

describe('while a sync of another process owns the warehouse', () => {
  const workspace = shareCli({ world: 'tiny' });
  let owner: Running;
  let before: { readonly counts: unknown; readonly runs: unknown };

  beforeAll(async () => {
    before = { counts: await workspace.rows(COUNTS), runs: await workspace.json('runs') };
    owner = await startWaiting(workspace, () => workspace.start('sync', '--full'));
  });

  test('sql, runs and status show the data of the last sync, and status names the owner', async () => {
    const { done, json, rows } = workspace;
    const { pid } = owner.process;
    expect(await rows(COUNTS)).toEqual(before.counts);
    expect(await json('runs')).toEqual(before.runs);
    expect(await json('status')).toMatchObject({ owner: { pid }, data: { lastRun: { status: 'complete' } } });
    expect((await done('status')).stdout).toContain(`process ${pid}`);
  });

  test('an export of plain files and a backup are from the replica, with a note', async () => {
    const { done, folder } = workspace;
    const exported = await done('export', '--tables', 'prompts', '--output', 'files');
    expect(exported.stderr).toContain('A sync owns the warehouse');
    expect(existsSync(join(folder, 'files', 'prompts.parquet'))).toBe(true);
    const { stdout, stderr } = await done('backup', 'beside.duckdb', '--json');
    expect(JSON.parse(stdout)).toMatchObject({ stale: true });
    expect(stderr).toContain('of the replica');
  });
});
