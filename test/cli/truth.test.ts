import { describe, expect, test } from 'vitest';
import { openCli, until } from './helpers.ts';

const RUNS = 'select kind, trigger, status, error from sync.runs order by started_at, rowid';

describe('the record of runs', () => {
  test('distinguishes plans, syncs, verifications and jobs', async () => {
    const { run, rows } = await openCli({ brands: 1, prompts: 2, days: 4 });
    for (const command of [['plan'], ['sync'], ['verify', '--fresh']]) {
      const { code, stderr } = await run(...command);
      expect(code, stderr).toBe(0);
    }
    expect((await run('jobs', 'run', 'nightly')).code).toBe(0);
    const kinds = (await rows(RUNS)).map(({ kind, trigger }) => `${kind} by ${trigger}`);
    expect(kinds).toEqual(['look by command', 'sync by command', 'verify by command', 'sync by job nightly']);
    const { data } = JSON.parse((await run('status', '--json')).stdout);
    expect(data.lastRun).toMatchObject({ status: 'complete' });
    const listed = JSON.parse((await run('runs', '--json')).stdout);
    expect(listed.map(({ kind }: { kind: string }) => kind)).toEqual(['sync', 'verify', 'sync', 'look']);
  });

  test('has no run and no request for a mistyped brand, which is also accepted by name and prefix', async () => {
    const { run, rows, sandbox } = await openCli({ brands: 2, prompts: 1, days: 2 });
    expect((await run('sync')).code).toBe(0);
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

  test('derives the end of a killed sync, and the verdict is good after the next one', async () => {
    const cli = await openCli({ brands: 1, prompts: 2, days: 3 });
    expect((await cli.run('sync')).code).toBe(0);
    cli.sandbox.setFaults([{ kind: 'hang', match: '/responses' }]);
    const sent = cli.sandbox.requests.length;
    const killed = cli.start('sync', '--full');
    await until('a request for responses hangs', () =>
      cli.sandbox.requests.slice(sent).some(({ path }) => path.includes('/responses')),
    );
    killed.process.kill('SIGKILL');
    await killed.finished;
    const [latest] = JSON.parse((await cli.run('runs', '--json')).stdout);
    expect(latest).toMatchObject({ status: 'interrupted', error: 'the process ended unexpectedly' });
    const checked = await cli.run('status', '--check');
    expect(checked.code).toBe(3);
    expect(checked.stdout).toContain('ended unexpectedly');
    cli.sandbox.setFaults([]);
    expect((await cli.run('sync')).code).toBe(0);
    expect((await cli.run('status', '--check')).code).toBe(0);
  });
});

test('a revoked key is one finding, with the failed job below it, and --check exits with 1', async () => {
  const { run, sandbox } = await openCli({ brands: 1, prompts: 2, days: 3 });
  expect((await run('sync')).code).toBe(0);
  sandbox.setKey(sandbox.key, 'disabled');
  expect((await run('jobs', 'run', 'nightly')).code).not.toBe(0);
  const { code, stdout } = await run('status', '--json', '--check');
  expect(code).toBe(1);
  const { findings } = JSON.parse(stdout).verdict;
  expect(findings).toHaveLength(1);
  expect(findings[0]).toMatchObject({ level: 'problem', consequences: ['The job nightly failed.'] });
  expect(findings[0].sentence).toMatch(/^Upstream rejects the workspace's key \(401\)/);
});
