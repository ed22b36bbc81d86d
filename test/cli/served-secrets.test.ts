import { existsSync } from 'node:fs';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ownerRecordPath } from '../../src/session/owner-record.ts';
import { becomeOwner } from '../../src/session/owner-server.ts';
import { thisProcess } from '../../src/session/process-driver.ts';
import type { ForwardedCommand } from '../../src/session/socket-frames.ts';
import { temporaryFolder } from '../support/folders.ts';
import { runCommand } from '../support/run-command.ts';
import { expectRefusal, openCli, until } from './helpers.ts';

const SECRETS = {
  SIGHTLINE_API_KEY: 'gsk_0123456789_of_the_client',
  BUDGET_URL: 'postgres://agency:budget-password@db.example/budget',
  HOOK_URL: 'https://hooks.example/secret-path',
  HOOK_SECRET: 'a secret to sign messages with',
};
const CONFIG = {
  budget: { kind: 'postgres', urlVariable: 'BUDGET_URL' },
  notify: [{ urlVariable: 'HOOK_URL', secretVariable: 'HOOK_SECRET' }],
};

async function makeWorkspace(): Promise<{ cwd: string; data: string; env: Record<string, string> }> {
  const cwd = await temporaryFolder();
  const data = join(cwd, 'data', 'default');
  await mkdir(data, { recursive: true });
  await writeFile(join(cwd, 'sightline.config.json'), JSON.stringify(CONFIG));
  return { cwd, data, env: { SIGHTLINE_BASE_URL: 'http://127.0.0.1:1/v1', ...SECRETS } };
}

test('a client sends names and keyed digests of its settings to the owner, but no values', async () => {
  const { cwd, data, env } = await makeWorkspace();
  const commands: ForwardedCommand[] = [];
  const run = async (command: ForwardedCommand) => {
    commands.push(command);
    return { differs: ['SIGHTLINE_API_KEY', 'HOOK_SECRET'] };
  };
  const claim = await becomeOwner({ folder: data, command: 'serve', since: 'now', run, sessions: thisProcess });
  if (!claim.isOurs) throw new Error('another process owns the workspace');
  onTestFinished(claim.release);
  const refused = await runCommand(['sync', '--json', '--data-dir', 'data'], { cwd, env });
  expectRefusal(refused, 'config_invalid', true);
  expect(refused.stderr).toContain(
    `SIGHTLINE_API_KEY, HOOK_SECRET differ from the settings of \`sightline serve\` (process ${process.pid})`,
  );
  expect(commands[0]?.arguments).toEqual(['sync', '--json', '--data-dir', join(cwd, 'data')]);
  expect(Object.keys(commands[0]?.settings ?? {}).sort()).toEqual(
    [...Object.keys(SECRETS), 'SIGHTLINE_BASE_URL', 'sightline.config.json'].sort(),
  );
  const digests = Object.values(commands[0]?.settings ?? {});
  for (const digest of digests) expect(digest).toMatch(/^[\w-]{43}$/);
  expect(new Set(digests).size).toBe(digests.length);
  const sent = JSON.stringify(commands);
  for (const value of [...Object.values(env), ...(JSON.stringify(CONFIG).match(/kind|urlVariable/g) ?? [])])
    expect(sent).not.toContain(value);
  // A command that needs no warehouse runs in the client.
  const status = await runCommand(['status'], { cwd, env });
  expect(status.stderr).toContain('has no data');
  expect(commands).toHaveLength(2);
});

test('an owner runs commands with its own settings, and rejects clients with different settings', async () => {
  const workspace = await openCli({ prompts: 1, days: 1 });
  const { folder, data, env, sandbox } = workspace;
  const server = workspace.start('serve', '--json', '--port', '0', '--no-jobs');
  await until('the workspace is served', () => existsSync(ownerRecordPath(data)));
  const run = (given: Record<string, string>, ...args: string[]) => runCommand(args, { cwd: folder, env: given });
  // The client has neither key nor base URL.
  const forwarded = await run({}, 'sync', '--only', 'brands', '--json');
  expect(forwarded.code, forwarded.stderr).toBe(0);
  expect(JSON.parse(forwarded.stdout)).toMatchObject({ status: 'complete' });
  const asked = sandbox.requests.length;
  for (const [name, value] of [
    ['SIGHTLINE_API_KEY', 'gsk_of_another_workspace'],
    ['SIGHTLINE_BASE_URL', 'http://127.0.0.1:1/v1'],
    ['SIGHTLINE_KEY_HEADER', 'x-api-key'],
  ] as const) {
    const refused = await run({ ...env, [name]: value }, 'sync');
    expectRefusal(refused, 'config_invalid', false);
    expect(refused.stderr).toContain(
      `${name} differs from the settings of \`sightline serve\` (process ${server.process.pid})`,
    );
    expect(refused.stderr).not.toContain(value);
  }
  expect((await run({ ...env, SIGHTLINE_API_KEY: 'gsk_of_another_workspace' }, 'status')).code).toBe(0);
  await writeFile(join(folder, 'sightline.config.json'), '{"connections": 3}');
  expect((await run(env, 'sync', '--only', 'brands')).code, 'both read the same file').toBe(0);
  expect(sandbox.requests.length).toBeGreaterThan(asked);
  server.process.kill('SIGHUP');
  expect((await server.finished).code).toBe(0);
  expect(existsSync(ownerRecordPath(data))).toBe(false);
});

test('commands refuse a claim that other users may have written, before they connect', async () => {
  const { cwd, data, env } = await makeWorkspace();
  const commands: ForwardedCommand[] = [];
  const run = async (command: ForwardedCommand) => commands.push(command);
  const claim = await becomeOwner({ folder: data, command: 'serve', since: 'now', run, sessions: thisProcess });
  if (!claim.isOurs) throw new Error('another process owns the workspace');
  onTestFinished(claim.release);
  await chmod(ownerRecordPath(data), 0o644);
  for (const args of [['sync'], ['jobs', 'run', 'nightly'], ['plan', '--offline'], ['keys', 'create', 'one']]) {
    const refused = await runCommand(args, { cwd, env });
    expectRefusal(refused, 'owner_untrusted', false);
    expect(refused.stderr).toContain(`${ownerRecordPath(data)} has permissions 0644; allowed: 0600`);
  }
  expect(commands).toEqual([]);
});
