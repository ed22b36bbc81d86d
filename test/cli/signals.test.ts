import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openReader } from '../../src/warehouse/reader.ts';
import { type Finished, MAIN } from '../support/run-command.ts';
import { type CliWorkspace, openCli, type Running, until } from './helpers.ts';

const SCRIPT = '/usr/bin/script';
if (!existsSync(SCRIPT)) process.stderr.write(`NOT TRIED: a terminal that is closed. There is no ${SCRIPT}.\n`);

const COUNT = 'select count(*) as n from responses where _deleted_at is null';
const DAYS =
  "select strftime(created_at, '%Y-%m-%d') as day, count(*) as n from responses where _deleted_at is null group by day";
const STATUSES = 'select status from sync.runs order by started_at, rowid';

interface Stuck extends CliWorkspace {
  readonly victim: Running;
}

/** A workspace whose first sync is stopped in the middle of the responses. */
async function openStuck(): Promise<Stuck> {
  const now = Date.now();
  const workspace = await openCli({ brands: 1, prompts: 2, days: 3, responsesPerDay: 500, clock: () => now });
  const { sandbox, start } = workspace;
  const victim = start('sync', '--json');
  await until('some pages of responses are read', () => pagesAsked(workspace) >= 6);
  // Upstream stops responding, so that the signal arrives during running requests.
  sandbox.setFaults([{ kind: 'hang' }]);
  await until('requests hang', () => sandbox.requests.some(({ fault }) => fault === 'hang'));
  return { ...workspace, victim };
}

function pagesAsked({ sandbox }: CliWorkspace): number {
  return sandbox.requests.filter(({ path, fault }) => path.endsWith('/responses') && fault !== 'hang').length;
}

/** Checks that the next sync completes with all responses and does not fetch stored pages again. */
async function expectNextCompletes(workspace: CliWorkspace): Promise<void> {
  const { sandbox, run, rows } = workspace;
  sandbox.setFaults([]);
  const before = pagesAsked(workspace);
  const { code, stdout, stderr } = await run('sync', '--json');
  expect(code, stderr).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ status: 'complete', failures: [] });
  const pages = pagesAsked(workspace) - before;
  const answers = (await readUpstream(workspace)).length;
  expect(await rows(COUNT)).toEqual([{ n: answers }]);
  expect(pages, 'pages read again').toBeLessThan(Math.ceil(answers / 100));
  expect((await readdir(workspace.data)).sort()).toEqual(['analytics.duckdb', 'raw', 'warehouse.duckdb']);
}

// Counts the responses in the warehouse itself. Commands read the replica, if there is one, which has complete days only.
async function countStored({ data }: CliWorkspace): Promise<number> {
  const reader = await openReader(join(data, 'warehouse.duckdb'));
  try {
    return Number((await reader.query(COUNT)).rows[0]?.[0]);
  } finally {
    await reader.close();
  }
}

/** Returns the day of each of upstream's responses. */
async function readUpstream({ sandbox }: CliWorkspace): Promise<string[]> {
  const days: string[] = [];
  const [brand] = sandbox.world.brands;
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query = new URLSearchParams({ limit: '100', ...(cursor === '' ? {} : { cursor }) });
    const url = `${sandbox.baseUrl}/brands/${brand?.id}/responses?${query}`;
    const response = await fetch(url, { headers: { 'x-api-key': sandbox.key } });
    const page = (await response.json()) as { data: { createdAt: string }[]; nextCursor: string | null };
    days.push(...page.data.map(({ createdAt }) => createdAt.slice(0, 10)));
    cursor = page.nextCursor;
  }
  return days;
}

describe('a stopped sync', () => {
  test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
    'by %s keeps its data, prints a message, and is resumed by the next sync',
    async (signal) => {
      const workspace = await openStuck();
      workspace.victim.process.kill(signal);
      const { code, stdout, stderr } = await workspace.victim.finished;
      expect(code, stderr).toBe(130);
      const summary = JSON.parse(stdout);
      expect(summary).toMatchObject({ status: 'interrupted', error: { code: 'interrupted' } });
      expect(stderr).toMatch(
        /^Stopping after the current work; press Ctrl-C again to stop at once\.\nsync interrupted: /,
      );
      expect(stderr).toContain('the next sync resumes here');
      expect(stderr).not.toMatch(/\n\s+at /);
      const kept = summary.tables.responses.inserted;
      expect(kept).toBeGreaterThanOrEqual(100);
      // Readers see only complete days: soon after midnight (UTC) that is the current day, otherwise none.
      const shown = (await workspace.rows(DAYS)) as { day: string; n: number }[];
      workspace.sandbox.setFaults([]);
      const upstream = await readUpstream(workspace);
      expect(shown).toEqual(shown.map(({ day }) => ({ day, n: upstream.filter((each) => each === day).length })));
      expect(shown.reduce((sum, { n }) => sum + n, 0)).toBeLessThan(kept);
      expect(await workspace.rows(STATUSES)).toEqual([{ status: 'interrupted' }]);
      expect(existsSync(join(workspace.data, 'owner.json'))).toBe(false);
      await expectNextCompletes(workspace);
      expect(await workspace.rows(STATUSES)).toEqual([{ status: 'interrupted' }, { status: 'complete' }]);
    },
  );

  test.runIf(existsSync(SCRIPT))(
    'by a terminal that closes keeps its data, and is resumed by the next sync',
    async () => {
      const workspace = await openCli({ brands: 1, prompts: 2, days: 3, responsesPerDay: 500 });
      const { sandbox, folder, env, data } = workspace;
      // Killing `script` closes the terminal of the sync.
      const command = `exec ${process.execPath} ${MAIN} sync`;
      const terminal = spawn(SCRIPT, ['-qec', command, '/dev/null'], {
        cwd: folder,
        env: { PATH: process.env['PATH'], HOME: folder, TERM: 'xterm', ...env },
        stdio: ['pipe', 'ignore', 'ignore'],
      });
      await until('some pages of responses are read', () => pagesAsked(workspace) >= 6);
      sandbox.setFaults([{ kind: 'hang' }]);
      await until('requests hang', () => sandbox.requests.some(({ fault }) => fault === 'hang'));
      terminal.kill('SIGKILL');
      await until('the sync has ended', () => !existsSync(join(data, 'owner.json')));
      expect(await workspace.rows(STATUSES)).toEqual([{ status: 'interrupted' }]);
      await expectNextCompletes(workspace);
    },
  );

  test('by a second signal ends at once without losing data', async () => {
    const workspace = await openStuck();
    const { process: victim, finished } = workspace.victim;
    // Both signals arrive while the process is stopped, so that it cannot end before the second one.
    victim.kill('SIGSTOP');
    victim.kill('SIGINT');
    victim.kill('SIGTERM');
    victim.kill('SIGCONT');
    const { code, stdout, stderr } = await finished;
    expect({ code, stdout }).toEqual({ code: 130, stdout: '' });
    expect(stderr).toBe('Stopping after the current work; press Ctrl-C again to stop at once.\n');
    await expectNextCompletes(workspace);
  });

  test('by kill -9 is resumed by the next sync', async () => {
    const workspace = await openStuck();
    const { process: victim, finished } = workspace.victim;
    victim.kill('SIGKILL');
    expect(await finished).toMatchObject({ code: null, signal: 'SIGKILL', stdout: '' });
    expect(await countStored(workspace)).toBeGreaterThanOrEqual(100);
    await expectNextCompletes(workspace);
    expect(await workspace.rows(STATUSES)).toEqual([{ status: 'interrupted' }, { status: 'complete' }]);
  });
});

describe('a reader that closes the pipe early', () => {
  test('ends sql without a message', async () => {
    const workspace = await openCli({ prompts: 1, days: 1 });
    expect(await workspace.run('sync', '--only', 'brands')).toMatchObject({ code: 0 });
    const query = "select range as i, repeat('x', 1000) as x from range(20000)";
    const script = `"$0" "$@" | head -1; echo "\${PIPESTATUS[0]}"`;
    const args = ['--norc', '-c', script, process.execPath, MAIN, 'sql', query, '--format', 'csv'];
    const finished = await new Promise<Omit<Finished, 'signal'>>((resolve) => {
      const child = spawn('bash', args, { cwd: workspace.folder, env: { PATH: process.env['PATH'] } });
      let stdout = '';
      let stderr = '';
      child.stdout.on('data', (chunk) => {
        stdout += chunk;
      });
      child.stderr.on('data', (chunk) => {
        stderr += chunk;
      });
      child.on('close', (code) => resolve({ code, stdout, stderr }));
    });
    expect(finished).toEqual({ code: 0, stdout: 'i,x\r\n0\n', stderr: '' });
  });
});
