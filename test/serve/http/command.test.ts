import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SightlineError } from '../../../src/base/errors.ts';
import { parseArguments } from '../../../src/cli/program/program.ts';
import { type CliWorkspace, expectRefusal, openCli, type Running, startedLine } from '../../cli/helpers.ts';

/** A server started from the command line, and its addresses. */
interface Serving extends Running {
  readonly baseUrl: string;
  readonly mcpUrl: string;
  readonly metricsUrl: string | null;
}

async function serve({ start }: CliWorkspace, ...flags: readonly string[]): Promise<Serving> {
  const running = start('serve', '--json', '--port', '0', '--no-jobs', ...flags);
  return { ...running, ...(await startedLine<Pick<Serving, 'baseUrl' | 'mcpUrl' | 'metricsUrl'>>(running)) };
}

async function stop(serving: Running, signal: NodeJS.Signals = 'SIGTERM') {
  serving.process.kill(signal);
  return serving.finished;
}

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
  it('starts without data or keys, picks them up later, and stops cleanly', async () => {
    const workspace = await openCli();
    const server = await serve(workspace, '--metrics-port', '0');
    expect(server.mcpUrl).toBe(`${server.baseUrl}/mcp`);
    const ask = (key: string) => fetch(`${server.baseUrl}/brands`, { headers: { authorization: `Bearer ${key}` } });
    expect((await ask('gsk_none')).status).toBe(401);
    const made = await workspace.run('keys', 'create', 'ci');
    expect(made).toMatchObject({ code: 0 });
    const key = made.stdout.trim();
    expect(key).toMatch(/^gsk_[\w-]{43}$/);
    expect(made.stderr).not.toContain(key);
    expect((await ask(key)).status).toBe(503);
    expect(await workspace.run('sync')).toMatchObject({ code: 0 });
    const answer = await ask(key);
    expect(answer.status).toBe(200);
    const upstream = await fetch(`${workspace.sandbox.baseUrl}/brands`, {
      headers: { 'x-api-key': workspace.sandbox.key },
    });
    expect(await answer.json()).toEqual(await upstream.json());
    expect(await (await fetch(server.metricsUrl ?? '')).text()).toContain('sightline_data_age_seconds');
    // Sync while serving: the server never opens the live file.
    expect(await workspace.run('sync')).toMatchObject({ code: 0 });
    expect(await workspace.run('keys', 'revoke', 'ci')).toMatchObject({ code: 0 });
    expect((await ask(key)).status).toBe(401);
    const { code, stdout, stderr } = await stop(server);
    expect(code, stderr).toBe(0);
    expect(stdout.trim().split('\n')).toHaveLength(1);
    expect(stderr).toContain('No keys yet: create one with `sightline keys create NAME`');
    expect(stderr + stdout).not.toContain(key.slice(4));
    const logged = stderr.split('\n').filter((line) => line.startsWith('{'));
    expect(logged.map((line) => (JSON.parse(line) as { status: number }).status)).toEqual([401, 503, 200, 401]);
  });

  it.each(['SIGTERM', 'SIGINT'] as const)(
    'serves under load until %s, and every response is complete',
    async (signal) => {
      const workspace = await openCli();
      expect(await workspace.run('sync')).toMatchObject({ code: 0 });
      const key = (await workspace.run('keys', 'create', 'load')).stdout.trim();
      const server = await serve(workspace, '--rate-limit', 'off', '--log-level', 'warn');
      let answered = 0;
      const statuses = new Set<number>();
      const client = async (): Promise<void> => {
        for (;;) {
          try {
            const response = await fetch(`${server.baseUrl}/brands`, { headers: { 'x-api-key': key } });
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
      while (answered < 200) await new Promise((resolve) => setTimeout(resolve, 5));
      const { code, stderr } = await stop(server, signal);
      await Promise.all(clients);
      expect(code, stderr).toBe(0);
      for (const status of statuses) expect([200, 503]).toContain(status);
      expect(stderr).toBe('Stopping after the current work; press Ctrl-C again to stop at once.\n');
    },
  );

  it('prints its addresses and warns about missing data and keys', async () => {
    const workspace = await openCli();
    const running = workspace.start('serve', '--port', '0', '--host', '0.0.0.0');
    let said = '';
    await new Promise<void>((resolve) => {
      running.process.stderr?.on('data', (chunk) => {
        said += String(chunk);
        if (said.includes('no restart')) resolve();
      });
    });
    expect(said).toMatch(/^Serving workspace default at http:\/\/127\.0\.0\.1:\d+\/v1, and to AI assistants at /);
    expect(said).toContain('TLS');
    expect((await stop(running)).stdout).toBe('');
  });

  it('reports a port in use, and rejects invalid flags', async () => {
    const workspace = await openCli();
    const server = await serve(workspace);
    const { port } = new URL(server.baseUrl);
    for (const args of [
      ['--port', port],
      ['--port', '0', '--metrics-port', port],
      ['--port', '65536'],
      ['--host', '203.0.113.1'],
      ['--host', 'no host'],
      ['--rate-limit', '0'],
      ['--rate-limit', 'on'],
      ['--query-timeout', '0'],
      ['--cors-origin', '*'],
      ['--cors-origin', 'https://app.example.com/'],
      ['--allow-host', 'name:80'],
      ['--log-level', 'loud'],
      ['--metrics-port', '-1'],
    ]) {
      const all = args[0] === '--port' ? args : ['--port', '0', ...args];
      const refusal = await refusalOf('serve', ...all, '--data-dir', workspace.folder);
      expect(refusal.code).toBe('usage');
      for (const part of [...args.slice(-2), 'allowed: ']) expect(refusal.message).toContain(part);
    }
    await stop(server);
  });

  it('rejects all keys if the key file is damaged', async () => {
    const workspace = await openCli();
    expect(await workspace.run('keys', 'create', 'first')).toMatchObject({ code: 0 });
    const server = await serve(workspace);
    const path = join(workspace.data, 'keys.json');
    const before = await readFile(path);
    await writeFile(path, '{');
    const ask = () => fetch(`${server.baseUrl}/brands`, { headers: { 'x-api-key': 'gsk_any' } });
    expect((await ask()).status).toBe(500);
    expectRefusal(await workspace.run('serve', '--port', '0'), 'config_invalid', false);
    expectRefusal(await workspace.run('keys', 'list'), 'config_invalid', false);
    await writeFile(path, before);
    expect((await ask()).status).toBe(401);
    const { stderr } = await stop(server);
    expect(stderr).toContain('keys.json is damaged');
  });
});

describe('sightline keys', () => {
  it('creates, lists and revokes keys', async () => {
    const workspace = await openCli();
    const empty = await workspace.run('keys', 'list', '--json');
    expect(empty).toMatchObject({ code: 0, stdout: '[]\n' });
    const made = await workspace.run('keys', 'create', 'laptop', '--expires', '30d', '--json');
    const key = JSON.parse(made.stdout) as { id: string; key: string; prefix: string; expiresAt: string };
    expect(Date.parse(key.expiresAt) - Date.now()).toBeGreaterThan(29 * 86_400_000);
    const dated = await workspace.run('keys', 'create', 'dated', '--expires', '2999-12-31', '--json');
    expect(JSON.parse(dated.stdout)).toMatchObject({ name: 'dated', expiresAt: '3000-01-01T00:00:00.000Z' });
    const table = (await workspace.run('keys', 'list')).stdout;
    for (const text of ['laptop', key.prefix, '3000-01-01 00:00 UTC']) expect(table).toContain(text);
    const list = (await workspace.run('keys', 'list', '--json')).stdout;
    expect(list + table).not.toContain(key.key);
    expect(list).not.toContain('hash');
    expect(JSON.parse(list)).toMatchObject([{ name: 'laptop', expired: false }, { name: 'dated' }]);
    for (const args of [
      ['create', 'laptop'],
      ['create', ''],
      ['create', 'x', '--expires', '0d'],
      ['create', 'x', '--expires', '2001-01-01'],
      ['create', 'x', '--expires', '2027-02-30'],
      ['create', 'x', '--expires', 'tomorrow'],
      ['create'],
      ['revoke', 'nobody'],
      ['destroy'],
      [],
    ]) {
      const flags = args.length < 2 ? [] : ['--data-dir', join(workspace.folder, 'data')];
      expect(await refusalOf('keys', ...args, ...flags)).toMatchObject({ code: 'usage' });
    }
    expect((await workspace.run('keys', 'revoke', 'nobody')).stderr).toContain('"laptop", "dated"');
    expect(await workspace.run('keys', 'revoke', key.prefix)).toMatchObject({ code: 0, stdout: '' });
    expect(JSON.parse((await workspace.run('keys', 'revoke', 'dated', '--json')).stdout)).toMatchObject({
      name: 'dated',
    });
    expect((await workspace.run('keys', 'list', '--json')).stdout).toBe('[]\n');
  });
});
