import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { folderIdOf, ownerRecordPath, readOwnerRecord } from '../../src/session/owner-record.ts';
import { becomeOwner } from '../../src/session/owner-server.ts';
import { thisProcess } from '../../src/session/process-driver.ts';
import type { ForwardedCommand } from '../../src/session/socket-frames.ts';
import { expectRefusal, makeFolder, openCli, runCli, until } from './helpers.ts';

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
  const cwd = await makeFolder();
  onTestFinished(() => rm(cwd, { recursive: true, force: true }));
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
  const refused = await runCli(['sync', '--json', '--data-dir', 'data'], { cwd, env });
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
  const status = await runCli(['status'], { cwd, env });
  expect(status.stderr).toContain('has no data');
  expect(commands).toHaveLength(2);
});

test('an owner runs commands with its own settings, and rejects clients with different settings', async () => {
  const workspace = await openCli({ prompts: 1, days: 1 });
  const { folder, data, env, sandbox } = workspace;
  const server = workspace.start('serve', '--json', '--port', '0', '--no-jobs');
  await until('the workspace is served', () => existsSync(ownerRecordPath(data)));
  const run = (given: Record<string, string>, ...args: string[]) => runCli(args, { cwd: folder, env: given });
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

const LISTENER = `
  const { createServer } = require('node:net');
  const { writeFileSync, statSync } = require('node:fs');
  const [folder, version, folderId] = process.argv.slice(1);
  const socket = folder + '/owner.sock';
  const claim = { id: 'x', pid: process.pid, command: 'serve', since: 'now', version, socket, folderId, secret: 's'.repeat(43) };
  createServer((client) => {
    client.on('error', () => undefined).on('data', (chunk) => console.log('received ' + chunk));
    console.log('connected');
  }).listen(socket, () => {
    writeFileSync(folder + '/serving.json', JSON.stringify(claim), { mode: 0o600 });
    console.log('ready');
  });
`;
const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;
if (!isRoot)
  process.stderr.write('NOT TRIED: an attack on the socket as another user. Only root can start a process as one.\n');

test.runIf(isRoot)('a client does not connect to a listener of another user', async () => {
  const { cwd, data, env } = await makeWorkspace();
  for (const folder of [cwd, join(cwd, 'data')]) await chmod(folder, 0o755);
  await chmod(data, 0o777);
  const { version } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  const listener = spawn(process.execPath, ['-e', LISTENER, data, version, await folderIdOf(data)], {
    uid: NOBODY,
    gid: NOBODY,
    env: {},
    cwd: '/',
  });
  onTestFinished(() => void listener.kill('SIGKILL'));
  const lines: string[] = [];
  createInterface({ input: listener.stdout }).on('line', (line) => lines.push(line));
  await until('the listener is ready', () => lines.includes('ready'));
  const attempts: readonly [mode: number, args: readonly string[]][] = [
    [0o777, ['sync']],
    [0o777, ['jobs', 'run', 'nightly']],
    [0o755, ['sync']],
    [0o755, ['plan', '--offline']],
    [0o755, ['keys', 'create', 'one']],
  ];
  for (const [mode, args] of attempts) {
    await chmod(data, mode);
    const refused = await runCli(args, { cwd, env });
    expectRefusal(refused, 'owner_untrusted', false);
    expect(refused.stderr).toContain(`${ownerRecordPath(data)} belongs to user ${NOBODY}; allowed: user 0`);
  }
  expect(lines).toEqual(['ready']);
});

test.runIf(isRoot)("another user can neither connect to an owner's socket nor read its claim", async () => {
  const { cwd, data } = await makeWorkspace();
  for (const folder of [cwd, join(cwd, 'data'), data]) await chmod(folder, 0o755);
  const claim = await becomeOwner({ folder: data, command: 'serve', since: 'now', run: null, sessions: thisProcess });
  if (!claim.isOurs) throw new Error('another process owns the workspace');
  onTestFinished(claim.release);
  const { socket = '' } = (await readOwnerRecord(data)) ?? {};
  expect((await stat(socket)).mode & 0o777).toBe(0o600);
  const attack = `
    const { connect } = require('node:net');
    const { readFileSync } = require('node:fs');
    const [socket, file] = process.argv.slice(1);
    try { console.log(readFileSync(file, 'utf8')); } catch (error) { console.log(error.code); }
    connect(socket).on('connect', () => console.log('connected')).on('error', (error) => console.log(error.code));
  `;
  const child = spawn(process.execPath, ['-e', attack, socket, ownerRecordPath(data)], {
    uid: NOBODY,
    gid: NOBODY,
    env: {},
    cwd: '/',
  });
  let told = '';
  child.stdout.on('data', (chunk: Buffer) => {
    told += chunk.toString();
  });
  await new Promise((resolve) => child.once('close', resolve));
  expect(told).toBe('EACCES\nEACCES\n');
});
