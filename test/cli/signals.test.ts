import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readProgress } from '../../src/sync/progress-file.ts';
import { expectEqualToUpstream } from '../support/compare.ts';
import { sampleOf } from '../support/counts.ts';
import { testWith } from '../support/needs.ts';
import { MAIN } from '../support/run-command.ts';
import { shiftedLikeTests } from '../support/shifted.ts';
import { FETCHED_TWICE } from '../support/warehouse-file.ts';
import type { TestWorkspace } from '../support/workspace.ts';
import { openCli, shareCli, until } from './helpers.ts';

/** Starts a program with a terminal of its own. */
const SCRIPT = '/usr/bin/script';

const STOPPING = 'Stopping after the current work; press Ctrl-C again to stop at once.\n';

/** What the stopped syncs read. */
const ONLY = ['--only', 'responses'];

const STATUSES = 'select status from sync.runs order by started_at, rowid';

async function countStored({ query }: TestWorkspace): Promise<number> {
  return Number((await query('select count(*) as n from responses where _deleted_at is null'))[0]?.['n']);
}

describe('a stopped sync', () => {
  /** Opens a workspace with 10 pages of responses, and returns functions that start a sync and wait until it hangs. */
  async function open() {
    const workspace = await openCli({ brands: 1, prompts: 2, days: 4, responsesPerDay: 250 });
    const { sandbox } = workspace;
    const pages = (): number =>
      sandbox.requests.filter(({ path, fault }) => path.endsWith('/responses') && fault !== 'hang').length;
    const untilStuck = async (): Promise<void> => {
      const before = pages();
      await until('more pages of responses are read', () => pages() >= before + 2);
      const asked = sandbox.requests.length;
      // Upstream stops responding, so that the signal arrives during running requests.
      sandbox.setFaults([{ kind: 'hang' }]);
      await until('requests hang', () => sandbox.requests.slice(asked).some(({ fault }) => fault === 'hang'));
      // Progress counts rows that are committed.
      await until('a page of responses is stored', async () => {
        const progress = await readProgress(workspace.data, Date.now());
        return progress?.resources.some(({ name, rows }) => name === 'responses' && rows > 0) ?? false;
      });
    };
    /** Starts a sync that hangs after some pages of responses. */
    const startStuck = async () => {
      sandbox.setFaults([]);
      const victim = workspace.start('sync', ...ONLY, '--json');
      await untilStuck();
      return victim;
    };
    return { ...workspace, untilStuck, startStuck };
  }

  test('keeps its data, ends at once by a second signal, and is resumed by the next sync', async () => {
    const workspace = await open();
    const { sandbox, data, rows } = workspace;
    const interrupted = await workspace.startStuck();
    interrupted.process.kill('SIGINT');
    const { code, stdout, stderr } = await interrupted.finished;
    expect(code, stderr).toBe(130);
    const summary = JSON.parse(stdout);
    expect(summary).toMatchObject({ status: 'interrupted', error: { code: 'interrupted' } });
    expect(stderr.startsWith(`${STOPPING}sync interrupted: `), stderr).toBe(true);
    expect(stderr).toContain('the next sync resumes here');
    expect(stderr).not.toMatch(/\n\s+at /);
    expect(existsSync(join(data, 'owner.json'))).toBe(false);
    const kept = summary.tables.responses.inserted;
    expect(kept).toBeGreaterThanOrEqual(100);
    expect(await workspace.inside(countStored)).toBe(kept);
    const { process: victim, finished } = await workspace.startStuck();
    // Both signals arrive while the process is stopped, so that it cannot end before the second one.
    victim.kill('SIGSTOP');
    victim.kill('SIGINT');
    victim.kill('SIGTERM');
    victim.kill('SIGCONT');
    expect(await finished).toMatchObject({ code: 130, stdout: '', stderr: STOPPING });
    expect(await workspace.inside(countStored)).toBeGreaterThanOrEqual(kept + 100);
    const [latest] = await workspace.json('runs');
    expect(latest).toMatchObject({ status: 'interrupted', error: 'the process ended unexpectedly' });
    const checked = await workspace.run('status', '--check');
    expect(checked).toMatchObject({ code: 3, stdout: expect.stringContaining('ended unexpectedly') });
    expect(checked.stdout).toMatch(/^ {2}resource {5}responses .*\d slices? not finished$/m);

    sandbox.setFaults([]);
    expect(await workspace.json('sync', ...ONLY)).toMatchObject({ status: 'complete', failures: [] });
    await workspace.done('status', '--check');
    await workspace.inside((opened) => expectEqualToUpstream(opened, { only: ['responses'] }));
    expect(await rows(FETCHED_TWICE)).toEqual([]);
    const statuses = (await rows(STATUSES)).map(({ status }) => status);
    expect(statuses).toEqual(['interrupted', 'interrupted', 'complete']);
    expect((await readdir(data)).sort()).toEqual(['analytics.duckdb', 'raw', 'warehouse.duckdb']);
  });

  testWith(existsSync(SCRIPT) ? null : `there is no ${SCRIPT}, which opens a terminal`)(
    'by a terminal that closes is recorded as interrupted and keeps its data',
    async () => {
      const workspace = await open();
      const { folder, env, data } = workspace;
      // Killing `script` closes the terminal of the sync.
      const shifted = shiftedLikeTests();
      const command = [process.execPath, ...shifted.args, MAIN, 'sync', ...ONLY].map((part) => `'${part}'`).join(' ');
      const terminal = spawn(SCRIPT, ['-qec', `exec ${command}`, '/dev/null'], {
        cwd: folder,
        env: { PATH: process.env['PATH'], HOME: folder, TERM: 'xterm', ...shifted.env, ...env },
        stdio: ['pipe', 'ignore', 'ignore'],
      });
      onTestFinished(() => void terminal.kill('SIGKILL'));
      await workspace.untilStuck();
      terminal.kill('SIGKILL');
      await until('the sync has ended', () => !existsSync(join(data, 'owner.json')));
      expect(await workspace.rows(STATUSES)).toEqual([{ status: 'interrupted' }]);
      expect(await workspace.inside(countStored)).toBeGreaterThanOrEqual(100);
    },
  );
});

const reading = shareCli({ world: 'tiny' });

test('a reader that closes the pipe early ends sql without a message', async () => {
  const query = "select range as i, repeat('x', 1000) as x from range(20000)";
  const script = `"$0" "$@" | head -1; echo "\${PIPESTATUS[0]}"`;
  const args = ['--norc', '-c', script, process.execPath, MAIN, 'sql', query, '--format', 'csv'];
  const shell = spawn('bash', args, { cwd: reading.folder, env: { PATH: process.env['PATH'] } });
  expect(await Promise.all([text(shell.stdout), text(shell.stderr)])).toEqual(['i,x\r\n0\n', '']);
});

testWith(existsSync('/dev/full') ? null : 'there is no /dev/full')(
  'a command whose standard output is on a full disk ends with one sentence and exit code 1',
  async () => {
    const lines = ['status', 'sql values(1) --format csv', 'describe --json', 'help', 'completion bash'];
    for (const line of sampleOf(lines, 1, 1)) {
      const args = ['--norc', '-c', '"$0" "$@" > /dev/full', process.execPath, MAIN, ...line.split(' ')];
      const shell = spawn('bash', args, { cwd: reading.folder, env: { PATH: process.env['PATH'] } });
      const [stderr, code] = await Promise.all([text(shell.stderr), once(shell, 'close').then(([exit]) => exit)]);
      expect([stderr, code], line).toEqual(['sightline: cannot write to standard output: its disk is full\n', 1]);
    }
  },
);
