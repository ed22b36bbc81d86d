import { cp, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SightlineError } from '../../../src/base/errors.ts';
import { parseArguments } from '../../../src/cli/program/program.ts';
import { openCli, startedLine, until } from '../../cli/helpers.ts';
import { temporaryFolder } from '../../support/folders.ts';
import { type Finished, runCommand } from '../../support/run-command.ts';
import { startCommand, startedServer } from '../running-command.ts';

const SERVE = ['serve', '--json', '--port', '0', '--no-jobs'];
const STOPPING = 'Stopping after the current work; press Ctrl-C again to stop at once.\n';

/** Serves a workspace without data in this process. */
async function serve(cwd: string, ...flags: readonly string[]) {
  const running = startCommand([...SERVE, ...flags], { cwd });
  return { ...running, ...(await startedServer(running)) };
}

const statusOf = async ({ baseUrl }: { readonly baseUrl: string }, key: string): Promise<number> =>
  (await fetch(`${baseUrl}/brands`, { headers: { authorization: `Bearer ${key}` } })).status;

/** Returns the error of a command that must fail at start, run in the test's process. */
async function refusalOf(...args: readonly string[]): Promise<SightlineError> {
  try {
    const invocation = await parseArguments(args);
    await invocation?.action(new AbortController().signal);
  } catch (thrown) {
    if (thrown instanceof SightlineError) return thrown;
    throw thrown;
  }
  throw new Error(`${args.join(' ')} was not refused`);
}

describe('sightline serve', () => {
  it('picks up data and keys, runs beside a sync, and stops on SIGTERM with every response complete, as a process', async () => {
    const workspace = await openCli({ world: 'tiny' });
    const { folder, data, sandbox } = workspace;
    await rename(data, join(folder, 'later'));
    const flags = ['--metrics-port', '0', '--rate-limit', 'off', '--log-level', 'warn'];
    const running = workspace.start(...SERVE, ...flags);
    const server = await startedLine(running);
    expect(server.mcpUrl).toBe(`${server.baseUrl}/mcp`);
    expect(await statusOf(server, 'gsk_none')).toBe(401);
    const made = await workspace.run('keys', 'create', 'ci');
    const key = made.stdout.trim();
    expect(key).toMatch(/^gsk_[\w-]{43}$/);
    expect(made).toMatchObject({ code: 0, stderr: expect.not.stringContaining(key) });
    expect(await statusOf(server, key)).toBe(503);
    await cp(join(folder, 'later'), data, { recursive: true, verbatimSymlinks: true });
    const headers = { 'x-api-key': key };
    const upstream = await fetch(`${sandbox.baseUrl}/brands`, { headers: { 'x-api-key': sandbox.key } });
    expect(await (await fetch(`${server.baseUrl}/brands`, { headers })).json()).toEqual(await upstream.json());
    expect(await (await fetch(server.metricsUrl ?? '')).text()).toContain('sightline_data_age_seconds');
    // The server never opens the live file.
    expect(await workspace.run('sync')).toMatchObject({ code: 0 });

    let answered = 0;
    const statuses = new Set<number>();
    const client = async (): Promise<void> => {
      for (;;) {
        try {
          const response = await fetch(`${server.baseUrl}/brands`, { headers });
          statuses.add(response.status);
          await response.json();
          answered += 1;
        } catch (thrown) {
          // A connection may be refused or closed before a response, never during one.
          expect((thrown as Error).message).toBe('fetch failed');
          return;
        }
      }
    };
    const clients = Array.from({ length: 8 }, client);
    await until('the server is under load', () => answered >= 100);
    running.process.kill('SIGTERM');
    const { code, stdout, stderr } = await running.finished;
    await Promise.all(clients);
    expect(code, stderr).toBe(0);
    for (const status of statuses) expect([200, 503]).toContain(status);
    expect(stderr.endsWith(STOPPING)).toBe(true);
    expect(stdout.trim().split('\n')).toHaveLength(1);
    expect(stderr + stdout).not.toContain(key.slice(4));
  });

  it('prints its addresses, and warns about missing TLS, data and keys', async () => {
    const args = ['serve', '--port', '0', '--host', '0.0.0.0', '--no-jobs'];
    const running = startCommand(args, { cwd: await temporaryFolder() });
    await until('all is printed', () => running.errorText().includes('no restart'));
    const said = running.errorText();
    expect(said).toMatch(/^Serving workspace default at http:\/\/127\.0\.0\.1:\d+\/v1, and to AI assistants at /);
    expect(said).toContain('TLS');
    expect(said).toContain('No keys yet: create one with `sightline keys create NAME`');
    expect((await running.stop()).stdout).toBe('');
  });

  it('reports a port in use, and rejects invalid flags', async () => {
    const folder = await temporaryFolder();
    const { port } = new URL((await serve(folder)).baseUrl);
    for (const args of [
      ['--port', port],
      ['--port', '0', '--metrics-port', port],
      ['--host', '203.0.113.1'],
      ['--host', 'no host'],
      ['--cors-origin', '*'],
      ['--cors-origin', 'https://app.example.com/'],
      ['--allow-host', 'name:80'],
      // Other machines would need no key.
      ['--host', '0.0.0.0', '--pages', 'loopback'],
      ['--host', '::', '--pages', 'loopback'],
    ]) {
      const all = args[0] === '--port' ? args : ['--port', '0', ...args];
      const refusal = await refusalOf('serve', ...all, '--data-dir', folder);
      expect(refusal.code).toBe('usage');
      for (const part of [...args.slice(-2), 'allowed: ']) expect(refusal.message).toContain(part);
    }
  });
});

it('sightline keys creates, lists and revokes keys', async () => {
  const cwd = await temporaryFolder();
  const keys = (...args: string[]): Promise<Finished> => runCommand(['keys', ...args], { cwd });
  expect(await keys('list', '--json')).toMatchObject({ code: 0, stdout: '[]\n' });
  const made = await keys('create', 'laptop', '--expires', '30d', '--json');
  const key = JSON.parse(made.stdout) as { id: string; key: string; prefix: string; expiresAt: string };
  expect(Date.parse(key.expiresAt) - Date.now()).toBeGreaterThan(29 * 86_400_000);
  expect(await keys('create', 'dated', '--expires', '2999-12-31')).toMatchObject({ code: 0 });
  const list = (await keys('list')).stdout;
  for (const text of ['laptop', key.prefix, '3000-01-01 00:00 UTC']) expect(list).toContain(text);
  expect(list).not.toContain(key.key);
  for (const expires of ['0d', '2001-01-01', '2027-02-30', 'tomorrow']) {
    const flags = ['--expires', expires, '--data-dir', join(cwd, 'data')];
    expect(await refusalOf('keys', 'create', 'x', ...flags)).toMatchObject({ code: 'usage' });
  }
  expect((await keys('revoke', 'nobody')).stderr).toContain('"laptop", "dated"');
  expect(await keys('revoke', key.prefix)).toMatchObject({ code: 0, stdout: '' });
  expect(await keys('revoke', 'dated')).toMatchObject({ code: 0 });
  expect((await keys('list', '--json')).stdout).toBe('[]\n');
});
