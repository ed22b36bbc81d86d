import { existsSync, readdirSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { declaredJobs } from '../../jobs/all.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { JsonValue } from '../../src/cli/json/json-outputs.ts';
import { startCommand, startedServer } from '../serve/running-command.ts';
import { NOW_MS } from '../support/clocks.ts';
import { startOther } from '../support/file-lock.ts';
import { runCommand } from '../support/run-command.ts';
import { worldClock } from '../support/worlds.ts';
import { expectRefusal, type Running, shareCli, startedLine, until } from './helpers.ts';

const SERVE = ['serve', '--json', '--port', '0', '--no-jobs'];
const EVERY_STEP = ['sync', 'verify', 'export', 'retention', 'compact', 'check', 'report', 'brief'];

const workspace = shareCli({ world: 'tiny' });

type Run = JsonValue<'jobs run'>;

async function configure(jobs: unknown): Promise<void> {
  await writeFile(join(workspace.folder, 'sightline.config.json'), JSON.stringify({ jobs }));
}

/** Starts serve. Resolves when it listens and owns the workspace. */
async function serve(): Promise<Running> {
  const running = workspace.start(...SERVE);
  await startedLine(running);
  return running;
}

async function stop(running: Running) {
  running.process.kill('SIGTERM');
  return running.finished;
}

/** Starts a command whose requests upstream does not answer. */
async function startStuck<T>(start: (...args: readonly string[]) => T, ...args: readonly string[]): Promise<T> {
  const { sandbox } = workspace;
  const before = sandbox.requests.length;
  sandbox.setFaults([{ kind: 'hang' }]);
  const running = start(...args);
  await until('a request hangs', () => sandbox.requests.slice(before).some(({ fault }) => fault === 'hang'));
  return running;
}

/** Starts a command in this process, which waits for the workspace. */
function startClient(...args: readonly string[]) {
  const { folder: cwd, env } = workspace;
  const stop = new AbortController();
  let onStderr: (text: string) => void = () => undefined;
  const said = new Promise<string>((resolve) => {
    onStderr = resolve;
  });
  const clock = { ...systemClock, now: () => NOW_MS };
  const finished = runCommand(args, { cwd, env, clock, signal: stop.signal, onStderr });
  return { finished, said, interrupt: () => stop.abort() };
}

describe('jobs', () => {
  it('are listed, sorted by due time, and run like their commands', async () => {
    await configure({
      nightly: {
        cron: '0 1 * * *',
        timeZone: 'Europe/Berlin',
        steps: EVERY_STEP.map((step) => (step === 'sync' ? { do: step, only: ['prompts'] } : step)),
      },
      hourly: { enabled: false },
      keep: { cron: '0 5 * * *', steps: ['retention', 'check'] },
    });
    const listed = await workspace.json<{ name: string }[]>('jobs list');
    const names = declaredJobs.map(({ name }) => name);
    expect(listed.map(({ name }) => name)).toEqual([...names, 'keep']);
    expect(listed[0]).toMatchObject({ cron: '0 1 * * *', timeZone: 'Europe/Berlin', enabled: true, last: null });
    expect(listed[1]).toMatchObject({ enabled: false, next: null });
    const next = await workspace.json<{ at: string }[]>('jobs next', '--limit', '20');
    expect(next).toHaveLength(20);
    expect(next.map(({ at }) => at)).toEqual(next.map(({ at }) => at).sort());

    const each = (await workspace.run('jobs', 'next')).stdout;
    for (const name of [...names, 'keep']) expect(each.split(name).length, each).toBe(name === 'hourly' ? 1 : 2);
    expect(each).toMatch(/│ \d{4}-\d\d-\d\d \d\d:\d\d UTC │/);

    const run = await workspace.json<Run>('jobs run', 'nightly');
    expect(run).toMatchObject({ job: 'nightly', status: 'done', exitCode: 0, dueAt: null });
    expect(run.steps.map(({ step, status }) => [step, status])).toEqual(EVERY_STEP.map((step) => [step, 'done']));
    expect(run.steps.filter(({ result }) => result === null)).toEqual([]);
    expect(run.steps[0]?.result).toMatchObject({ status: 'complete' });
    expect(run.steps[1]?.result).toMatchObject({ agrees: true });
    const exported = run.steps[2]?.result as { readonly snapshotId: string } | null | undefined;
    expect(existsSync(join(workspace.data, 'snapshots', String(exported?.snapshotId)))).toBe(true);

    expect((await workspace.json('runs'))[0]).toMatchObject({ kind: 'sync', trigger: 'job nightly' });
    const said = await workspace.done('jobs', 'run', 'keep');
    for (const step of ['retention', 'check']) expect(said.stderr).toContain(`keep: ${step}\n`);
    expect(said.stderr).toContain('job keep done in ');
    expect(
      await workspace.rows('select count(*) as n from responses r anti join prompts p on r.prompt_id = p.id'),
    ).toEqual([{ n: 0 }]);
    expect((await workspace.json('jobs list'))[0].last).toMatchObject({ status: 'done' });
    const table = (await workspace.run('jobs')).stdout;
    for (const text of ['Europe/Berlin', 'off', 'done', 'never']) expect(table).toContain(text);
  });

  it('write the changes since the last run of a step, into a folder for each workspace', async () => {
    const step = { do: 'export', since: 'last', format: 'csv', tables: ['brands'], output: 'changes/%Y' };
    await configure({ changes: { cron: '0 5 * * *', steps: [step] } });
    const year = join(workspace.folder, 'changes', String(new Date(NOW_MS).getUTCFullYear()));
    for (const [folder, since] of [
      [year, null],
      [`${year}-02`, { position: 1 }],
    ] as const) {
      const { steps } = await workspace.json<Run>('jobs run', 'changes');
      expect(steps[0]?.result).toMatchObject({ path: join(folder, 'default'), changes: { since } });
      expect(existsSync(join(folder, 'default', 'brands.csv'))).toBe(true);
    }
    await configure({});
  });

  it('end with the first error, and skip the remaining steps if configured', async () => {
    await configure({
      bounded: { cron: '0 5 * * *', steps: [{ do: 'sync', full: true, allowance: { maxRequests: 3 } }, 'check'] },
      broken: { cron: '0 5 * * *', steps: ['sync', 'export'] },
    });
    const bounded = JSON.parse((await workspace.run('jobs', 'run', 'bounded', '--json')).stdout) as Run;
    expect(bounded).toMatchObject({ status: 'partial', exitCode: 3, steps: [{ exitCode: 3 }, { exitCode: 0 }] });
    expect(bounded.steps[0]?.error).toContain('3');
    const env = { ...workspace.env, SIGHTLINE_API_KEY: 'gsk_not_the_right_one' };
    const wrong = { cwd: workspace.folder, env, clock: worldClock() };
    const broken = await runCommand(['jobs', 'run', 'broken', '--json'], wrong);
    expect(broken.code).toBe(1);
    const run = JSON.parse(broken.stdout) as Run;
    expect(run.steps).toMatchObject([{ status: 'failed' }, { status: 'left out', exitCode: null, result: null }]);
    expect(run.steps[0]?.error).toMatch(/key/i);
    expect(await readFile(join(workspace.data, 'jobs.json'), 'utf8')).not.toContain('gsk_');
    const unknown = await workspace.run('jobs', 'run', 'nihgtly');
    expectRefusal(unknown, 'usage', false);
    expect(unknown.stderr).toMatch(/unknown job "nihgtly"; allowed: nightly, hourly.*; did you mean "nightly"\?/);
    const mistyped = await workspace.run('jobs', 'nxt');
    expectRefusal(mistyped, 'usage', false);
    expect(mistyped.stderr).toContain('allowed: list, next, run; did you mean "next"?');
    await configure({ nightly: { cron: '61 * * * *' } });
    const refused = await workspace.run('sync');
    expectRefusal(refused, 'config_invalid', false);
    expect(refused.stderr).toContain('jobs.nightly.cron is "61 * * * *"');
    await configure({});
  });
});

describe('a workspace that is served', () => {
  let server: Awaited<ReturnType<typeof serve>>;
  const FEW = ['sync', '--only', 'prompts'];

  it('belongs to the job or command that writes, in the order in which they came, until it ends cleanly on a signal', async () => {
    await configure({ small: { cron: '0 5 * * *', steps: ['check'] } });
    server = await serve();
    const stuck = await startStuck(workspace.start, 'jobs', 'run', 'nightly', '--json');
    const refused = await workspace.run('jobs', 'run', 'small');
    expectRefusal(refused, 'warehouse_locked', false);
    expect(refused.stderr).toContain(`\`sightline jobs run nightly\` (process ${stuck.process.pid}`);
    const waiting = startClient(...FEW);
    expect(await waiting.said).toBe('Waiting for `sightline jobs run nightly`, which is using the warehouse.\n');
    const second = workspace.start('state', 'reset', '--yes');
    expectRefusal(await workspace.run('jobs', 'run', 'small'), 'warehouse_locked', false);
    // Neither reading nor a command that needs no warehouse waits.
    const [status] = await Promise.all([workspace.json('status'), workspace.done('keys', 'list')]);
    expect(status).toMatchObject({ owner: { command: 'sightline jobs run nightly', pid: stuck.process.pid } });
    await until('both wait', () => readdirSync(workspace.data).filter((name) => /^waiting-/.test(name)).length === 2);
    const { code, stdout } = await stop(stuck);
    workspace.sandbox.setFaults([]);
    expect(code).toBe(130);
    expect(JSON.parse(stdout)).toMatchObject({ status: 'interrupted', steps: [{ exitCode: 130 }, {}, {}] });
    expect(await waiting.finished).toMatchObject({ code: 0, stderr: expect.stringContaining('\nsync complete: ') });
    const ended = await second.finished;
    const said =
      'Waiting for `sightline jobs run nightly`, which is using the warehouse; 1 command waits before this one.\n';
    expect(ended).toMatchObject({ code: 0, stderr: expect.stringContaining(said) });
    const listed = await workspace.json<{ last: object }[]>('jobs list');
    expect(listed[0]?.last).toMatchObject({ status: 'interrupted' });
    await workspace.done('jobs', 'run', 'small');
    expect((await readdir(workspace.data)).filter((name) => /^(waiting|owner)/.test(name))).toEqual([]);
  });

  it('has one process that runs its jobs', async () => {
    const second = startCommand(SERVE, { cwd: workspace.folder, env: workspace.env });
    await startedServer(second);
    expect((await second.stop()).stderr).toContain(
      `Jobs run in \`sightline serve\` (process ${server.process.pid}) until it ends.`,
    );
    const { code, stderr } = await stop(server);
    expect(code, stderr).toBe(0);
    expect(stderr).not.toContain('gsk_');
    expect(existsSync(join(workspace.data, 'scheduler.json'))).toBe(false);
    expect(await startOther()(join(workspace.data, 'warehouse.duckdb'))).toBe('opened');
  });
});
