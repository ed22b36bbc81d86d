import { existsSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { errorTable } from '../../src/base/errors.ts';
import { type Running, shareCli, until } from './helpers.ts';

const COUNTS = 'select (select count(*) from responses) as responses, (select count(*) from sync.runs) as runs';

const workspace = shareCli({ prompts: 2, days: 2 });

/** Starts a sync in another process, which waits for the responses. */
async function startWaiting(...args: string[]): Promise<Running> {
  const { sandbox, start } = workspace;
  sandbox.setFaults([{ kind: 'hang', match: '/responses' }]);
  const sent = sandbox.requests.length;
  const running = start('sync', ...args);
  await until('the sync waits for responses', () => sandbox.requests.slice(sent).some(({ fault }) => fault === 'hang'));
  return running;
}

async function json<T>(...args: string[]): Promise<T> {
  const { code, stdout, stderr } = await workspace.run(...args, '--json');
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout) as T;
}

describe('the first sync in another process', () => {
  let first: Running;

  beforeAll(async () => {
    first = await startWaiting();
    await until('the lists are published', () => existsSync(join(workspace.data, 'analytics.duckdb')));
  });

  test('publishes the lists, which sql reads, and sql states its progress', async () => {
    const listed = 'select (select count(*) from brands) as brands, (select count(*) from responses) as responses';
    const { stdout, stderr } = await workspace.run('sql', listed, '--json');
    expect(JSON.parse(stdout)).toEqual([{ brands: 1, responses: 0 }]);
    expect(stderr).toMatch(/^Data as of \S+ \S+ UTC; a sync is running: \d+ of about \d+ requests/);
  });

  test('is reported as interrupted after a kill, and the next sync resumes', async () => {
    const { sandbox, run, rows, data } = workspace;
    first.process.kill('SIGKILL');
    await first.finished;
    const [latest] = await json<object[]>('runs');
    expect(latest).toMatchObject({ status: 'interrupted', error: 'the process ended unexpectedly' });
    const checked = await run('status', '--check');
    expect(checked.code).toBe(3);
    expect(checked.stdout).toContain('ended unexpectedly');
    sandbox.setFaults([]);
    expect(await run('sync')).toMatchObject({ code: 0 });
    expect(await run('status', '--check')).toMatchObject({ code: 0 });
    expect(existsSync(join(data, 'owner.json'))).toBe(false);
    expect(await rows(COUNTS)).toEqual([{ responses: expect.any(Number), runs: 2 }]);
  });
});

describe('while a sync of another process owns the warehouse', () => {
  let owner: Running;
  let before: { readonly counts: unknown; readonly runs: unknown };

  beforeAll(async () => {
    before = { counts: await workspace.rows(COUNTS), runs: await json('runs') };
    owner = await startWaiting('--full');
  });

  test('sql, runs and status show the data of the last sync, and status names the owner', async () => {
    const { run, rows } = workspace;
    const { pid } = owner.process;
    expect(await rows(COUNTS)).toEqual(before.counts);
    expect(await json('runs')).toEqual(before.runs);
    expect(await json('status')).toMatchObject({ owner: { pid }, data: { lastRun: { status: 'complete' } } });
    expect((await run('status')).stdout).toContain(`process ${pid}`);
  });

  test.each(['sync', 'export'])('%s is rejected with the command and the process ID of the owner', async (command) => {
    const { code, stdout, stderr } = await workspace.run(command, '--json');
    const { exit, hint } = errorTable.warehouse_locked;
    expect(code, stderr).toBe(exit);
    const { error } = JSON.parse(stdout);
    expect(error).toMatchObject({ code: 'warehouse_locked', hint });
    expect(error.message).toContain(`\`sightline sync\` (process ${owner.process.pid}, since 20`);
    expect(error.message).toContain(join(workspace.data, 'warehouse.duckdb'));
    expect(stderr).toBe(`sightline: ${error.message}\n${error.hint}\n`);
    expect(existsSync(join(workspace.data, 'owner.json')), 'the note of the owner is left to it').toBe(true);
    expect(existsSync(join(workspace.data, 'snapshots'))).toBe(false);
  });

  test('an export of plain files and a backup are from the replica, with a note', async () => {
    const { run, folder } = workspace;
    const exported = await run('export', '--tables', 'prompts', '--output', 'files');
    expect(exported).toMatchObject({ code: 0, stderr: expect.stringContaining('A sync owns the warehouse') });
    expect(existsSync(join(folder, 'files', 'prompts.parquet'))).toBe(true);
    const { code, stdout, stderr } = await run('backup', 'beside.duckdb', '--json');
    expect(code, stderr).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ stale: true });
    expect(stderr).toContain('of the replica');
  });

  test('doctor checks the replica, and does not publish a missing one', async () => {
    const { run, data } = workspace;
    const badOf = async (): Promise<object[]> => {
      const { checks } = JSON.parse((await run('doctor', '--offline', '--fix', '--json')).stdout);
      return checks.filter(
        ({ status, check }: { status: string; check: string }) => status !== 'ok' && check !== 'disk',
      );
    };
    expect(await badOf()).toEqual([]);
    const replica = join(data, 'analytics.duckdb');
    await rename(replica, `${replica}.away`);
    expect(await badOf()).toMatchObject([{ check: 'copy', status: 'warning' }]);
    await rename(`${replica}.away`, replica);
  });

  test('an interrupted sync is recorded, and keeps the rows', async () => {
    owner.process.kill('SIGINT');
    expect(await owner.finished).toMatchObject({ code: 130 });
    const [counts] = before.counts as readonly object[];
    expect(await workspace.rows(COUNTS)).toEqual([{ ...counts, runs: 3 }]);
  });
});
