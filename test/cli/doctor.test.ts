import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { chmod, mkdir, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { tryLock } from '../../src/base/file-lock.ts';
import type { JsonValue } from '../../src/cli/json/json-outputs.ts';
import { examineSurroundings } from '../../src/operations/doctor/doctor.ts';
import { openDatabase } from '../../src/warehouse/database.ts';
import { expectJson } from '../support/json-outputs.ts';
import { runCli, serve, shareCli } from './helpers.ts';

type Result = JsonValue<'doctor'>['checks'][number];

const workspace = shareCli({ world: 'tiny' });
/** The ID of a process that has ended. */
let dead: number;
const umask = process.umask();

beforeAll(async () => {
  dead = spawnSync(process.execPath, ['-e', '0']).pid;
  process.umask(0o077);
  // Worlds have the permissions of files of tests.
  spawnSync('chmod', ['-R', 'go=', workspace.folder]);
  await workspace.done('keys', 'create', 'test');
});

afterAll(async () => {
  process.umask(umask);
});

async function doctor(...flags: string[]): Promise<{ code: number | null; checks: Result[] }> {
  const { code, stdout, stderr } = await workspace.run('doctor', '--json', ...flags);
  expect(stdout, stderr).not.toBe('');
  return { code, ...expectJson<{ checks: Result[] }>('doctor', stdout) };
}

const badOf = (checks: readonly Result[]) => checks.filter(({ status }) => status !== 'ok');

async function inDatabase(sql: string): Promise<void> {
  const database = await openDatabase(join(workspace.data, 'warehouse.duckdb'));
  await database.exclusive((session) => session.run(sql));
  await database.close();
}

describe('doctor', () => {
  test('finds no problems in a synced workspace, with one request', async () => {
    const { sandbox } = workspace;
    const sent = sandbox.requests.length;
    const { code, checks } = await doctor();
    expect(badOf(checks)).toEqual([]);
    expect(code).toBe(0);
    expect(sandbox.requests.length).toBe(sent + 1);
    const names =
      'node,configuration,data folder,disk,permissions,leftovers,budget,upstream,home,warehouse,replica,records,'
        .concat('snapshots,publishing,destinations,completeness,raw pages,keys,jobs,webhooks')
        .split(',');
    expect(new Set(checks.map(({ check }) => check))).toEqual(new Set(names));
  });

  test('repairs permissions, leftovers and the replica with --fix', async () => {
    const { data, folder, run, sandbox } = workspace;
    const sent = sandbox.requests.length;
    const keys = join(data, 'keys.json');
    await chmod(keys, 0o644);
    // Group readers of the data may not read sessions either.
    const ofServers = [join(data, 'sessions.json'), join(data, 'server.json'), join(data, '..', 'sessions.json')];
    for (const path of ofServers) {
      await writeFile(path, '{}');
      await chmod(path, 0o640);
    }
    await writeFile(join(folder, '.env'), 'OTHER=1\n', { mode: 0o640 });
    await chmod(join(folder, '.env'), 0o640);
    const waiting = `waiting-${'0'.repeat(18)}-${randomUUID()}.json`;
    const killed = JSON.stringify({ pid: dead, command: 'sightline sync', since: 'then', host: hostname() });
    for (const name of ['owner.json', 'scheduler.json', waiting]) await writeFile(join(data, name), killed);
    await writeFile(join(data, 'analytics.duckdb.new'), 'half');
    await chmod(join(data, 'analytics.duckdb.new'), 0o644);
    await mkdir(join(data, 'snapshots', `.new-${dead}`));
    await writeFile(join(data, 'analytics.duckdb'), 'damaged');
    // Left open by an earlier version.
    await chmod(join(data, 'warehouse.duckdb'), 0o644);
    for (const folder of [join(data, 'raw'), data]) await chmod(folder, 0o755);
    const found = await doctor('--offline');
    expect(found.code).toBe(1);
    expect(badOf(found.checks).map(({ check, status }) => [check, status])).toEqual([
      ['permissions', 'warning'],
      ['permissions', 'failure'],
      ...ofServers.map(() => ['permissions', 'warning']),
      ['permissions', 'warning'],
      ['leftovers', 'warning'],
      ['replica', 'failure'],
    ]);
    expect(badOf(found.checks).every(({ advice }) => advice !== null)).toBe(true);
    expect(found.checks.map(({ message }) => message)).toContain(
      `2 files and 2 folders of ${data} are accessible to other users, such as ${data} (0755)`,
    );
    for (const path of ofServers) {
      expect(found.checks).toContainEqual(
        expect.objectContaining({
          message: `${path} has permissions 0640; allowed: access for its owner only`,
          advice: `Run \`chmod 600 ${path}\`, or \`sightline doctor --fix\`.`,
        }),
      );
    }
    const fixed = await doctor('--offline', '--fix');
    expect(badOf(fixed.checks)).toEqual([]);
    expect(fixed.checks.filter((result) => result.fixed).map(({ check }) => check)).toEqual([
      'permissions',
      'permissions',
      ...ofServers.map(() => 'permissions'),
      'permissions',
      'leftovers',
      'replica',
    ]);
    for (const path of [keys, ...ofServers, join(data, 'warehouse.duckdb')])
      expect(statSync(path).mode & 0o777, path).toBe(0o600);
    for (const folder of [join(data, 'raw'), data]) expect(statSync(folder).mode & 0o777, folder).toBe(0o700);
    for (const name of ['owner.json', 'scheduler.json', waiting, 'analytics.duckdb.new', `snapshots/.new-${dead}`])
      expect(existsSync(join(data, name)), name).toBe(false);
    const past = new Date(statSync(join(data, 'warehouse.duckdb')).mtimeMs - 3_600_000);
    await utimes(join(data, 'analytics.duckdb'), past, past);
    const text = await run('doctor', '--offline', '--fix');
    expect(text).toMatchObject({ code: 0, stderr: '0 failures, 0 warnings\n' });
    expect(text.stdout).toMatch(/^fixed +replica +the replica is older than the warehouse; published again$/m);
    expect(text.stdout).toContain('--offline');
    expect(sandbox.requests.length).toBe(sent);
  });

  test('does not touch files that another process uses', async () => {
    const { data } = workspace;
    const taken = await tryLock(join(data, 'owner.json'), 'sightline sync');
    if (!('lock' in taken)) expect.fail('another process uses the workspace');
    await writeFile(join(data, '.replay.duckdb'), 'under way');
    const copy = join(data, 'analytics.duckdb');
    await rename(copy, `${copy}.away`);
    const { code, checks } = await doctor('--offline', '--fix');
    expect(badOf(checks)).toMatchObject([{ check: 'replica', status: 'warning' }]);
    expect(code).toBe(0);
    await rename(`${copy}.away`, copy);
    expect(existsSync(join(data, '.replay.duckdb'))).toBe(true);
    await rm(join(data, '.replay.duckdb'));
    await taken.lock.release();
  });

  test('finds invalid rows and damaged files of a snapshot', async () => {
    const { data } = workspace;
    await inDatabase('INSERT INTO competitors SELECT * FROM competitors LIMIT 1');
    await inDatabase('DELETE FROM responses WHERE id = (SELECT response_id FROM response_citations LIMIT 1)');
    await inDatabase(`INSERT INTO prompts_history
      SELECT * REPLACE (valid_from + INTERVAL 1 SECOND AS valid_from) FROM prompts_history LIMIT 1`);
    const latest = join(data, 'snapshots', 'latest');
    const manifest = JSON.parse(await readFile(join(latest, 'manifest.json'), 'utf8'));
    const { path } = manifest.tables[0].files[0];
    const bytes = await readFile(join(latest, path));
    bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] as number) ^ 1;
    await chmod(join(latest, path), 0o644);
    await writeFile(join(latest, path), bytes);
    const { code, checks } = await doctor('--offline');
    expect(code).toBe(1);
    const failures = checks.filter(({ status }) => status === 'failure').map(({ message }) => message);
    expect(failures.find((message) => message.includes('competitors: repeated key'))).toBeDefined();
    expect(failures.find((message) => message.includes('response_citations: no parent'))).toBeDefined();
    expect(failures.find((message) => message.includes('prompts_history: gap or overlap'))).toBeDefined();
    expect(failures.find((message) => message.includes(path) && message.includes('SHA-256'))).toBeDefined();
    // The copy is now older than the warehouse but intact, so it must not be replaced.
    const copy = await readFile(join(data, 'analytics.duckdb'));
    await rm(latest);
    const left = badOf((await doctor('--offline', '--fix')).checks);
    expect(left.map(({ check }) => check)).toContain('replica');
    expect(copy.equals(await readFile(join(data, 'analytics.duckdb')))).toBe(true);
    // A warehouse with invalid rows is not exported.
    const message = expect.stringContaining('latest is missing');
    const advised = left.filter(({ check }) => check === 'snapshots');
    expect(advised).toMatchObject([{ status: 'failure', message, advice: 'Repair the warehouse first.' }]);
  });

  /** Examines a folder without data, with other variables. */
  async function examined(changes: Record<string, string>): Promise<{ code: number | null; checks: Result[] }> {
    const surroundings = { cwd: workspace.folder, env: { ...workspace.env, ...changes } };
    const { code, stdout, stderr } = await runCli(['doctor', '--json', '--data-dir', 'none'], surroundings);
    expect(stdout + stderr).not.toContain('gsk_wrong');
    return { code, ...JSON.parse(stdout) };
  }

  test('reports problems of upstream and of the settings', async () => {
    const refused = await examined({ SIGHTLINE_API_KEY: 'gsk_wrong_000000000000' });
    expect(refused.code).toBe(1);
    expect(badOf(refused.checks)).toMatchObject([
      { check: 'data folder', status: 'warning' },
      { check: 'upstream', status: 'failure', message: expect.stringContaining('401') },
      { check: 'warehouse', status: 'warning' },
    ]);
    const silent = await examined({ SIGHTLINE_BASE_URL: 'http://127.0.0.1:9/v1' });
    expect(silent.checks.filter(({ status }) => status === 'failure')).toMatchObject([{ check: 'upstream' }]);
    const unset = await examined({ SIGHTLINE_API_KEY: '' });
    expect(unset.checks.filter(({ status }) => status === 'failure')).toMatchObject([{ check: 'configuration' }]);
    const oauth = {
      SIGHTLINE_OAUTH_ISSUER: 'http://127.0.0.1:9',
      SIGHTLINE_OAUTH_RESOURCE: 'https://a.example/v1/mcp',
    };
    const tokens = (await examined(oauth)).checks.filter(({ check }) => check === 'oauth');
    expect(tokens.map(({ status }) => status)).toEqual(['failure', 'ok']);
    const invalid = await examined({ SIGHTLINE_BUDGET_SHARE: '7' });
    expect(invalid).toMatchObject({ code: 1 });
    expect(badOf(invalid.checks)).toMatchObject([{ check: 'configuration', status: 'failure' }]);
  });

  test('reports a workspace without a plan, and clocks that differ', async () => {
    let [status, date] = [403, new Date()];
    const upstream = await serve((_request, response) => {
      response.writeHead(status, { date: date.toUTCString(), 'content-type': 'application/json' });
      response.end(JSON.stringify({ data: [] }));
    });
    const ofUpstream = async (): Promise<Result[]> =>
      (await examined({ SIGHTLINE_BASE_URL: upstream.origin })).checks.filter(({ check }) => check === 'upstream');
    try {
      expect(await ofUpstream()).toMatchObject([{ status: 'failure', advice: expect.stringContaining('plan') }]);
      [status, date] = [200, new Date(Date.now() + 600_000)];
      expect(badOf(await ofUpstream())).toMatchObject([
        { status: 'warning', message: expect.stringContaining('behind') },
      ]);
      date = new Date(Date.now() - 600_000);
      expect(badOf(await ofUpstream())).toMatchObject([
        { status: 'warning', message: expect.stringContaining('ahead') },
      ]);
      date = new Date(Date.now() - 30_000);
      expect(badOf(await ofUpstream())).toEqual([]);
    } finally {
      await upstream.close();
    }
  });

  test('rejects an unsupported Node version', async () => {
    expect((await examineSurroundings([], undefined, '20.18.1')).map(({ status }) => status)).toEqual(['failure']);
    expect((await examineSurroundings([], undefined, '22.0.0')).map(({ status }) => status)).toEqual(['ok']);
  });
});
