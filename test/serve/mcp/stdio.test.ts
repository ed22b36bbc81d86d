import { spawn } from 'node:child_process';
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import type { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { describe, expect, it, onTestFinished } from 'vitest';
import { VERSION } from '../../../src/base/version.ts';
import type { Service } from '../../../src/query/service.ts';
import { dataTools } from '../../../src/serve/mcp/data-tools/data-tools.ts';
import { createPool } from '../../../src/serve/serve-mcp.ts';
import { runCli } from '../../cli/helpers.ts';
import { type Mirror, openMirror } from '../../query/mirror.ts';
import { temporaryFolder } from '../../support/folders.ts';
import { MAIN } from '../../support/run-command.ts';
import {
  type Body,
  call,
  createClient,
  outputValidator,
  REVISIONS,
  type Revision,
  SMALL,
  toContent,
  withoutTables,
} from './support.ts';

describe('sightline mcp', () => {
  it('serves the official client in every revision with the same results as REST', async () => {
    const { mirror, folder } = await openFolder();
    const { body } = await mirror.mirror('/brands');
    const [{ id: brandId }] = (body as Body).data;
    for (const revision of REVISIONS) {
      const client = await connectTo(['--data-dir', folder], folder, revision);
      expect(client.getServerVersion()).toMatchObject({ name: 'sightline', version: VERSION });
      expect(client.getInstructions()).toContain('They need a brandId of list_brands.');
      const { tools } = await client.listTools();
      expect(tools.slice(0, dataTools.length).map(({ name }) => name)).toEqual(dataTools.map(({ name }) => name));
      for (const tool of tools.slice(dataTools.length)) {
        const resource = mirror.catalogue.resources.find((candidate) => candidate.tool === tool.name);
        const names = tool.inputSchema.required ?? [];
        if (names.length > 1) continue;
        // The command uses the real clock, for which the sandbox's last days are in the past.
        const range = resource?.query['from'] === undefined ? {} : { from: '2026-03-01', to: '2026-03-15' };
        const path = `${(resource?.path ?? '').replace('{brandId}', brandId)}?${new URLSearchParams(range)}`;
        const { isError, content, shown } = await call(client, tool.name, {
          ...range,
          ...(names.length === 0 ? {} : { brandId }),
        });
        expect({ path, isError }).toEqual({ path, isError: false });
        expect(withoutCursor(content)).toEqual(withoutCursor(toContent((await mirror.mirror(path)).body)));
        expect(outputValidator(tool)(shown)).toBe(true);
      }
      const { contents } = await client.readResource({ uri: 'sightline://dictionary' });
      expect((contents[0] as { text: string }).text).toContain('# Data dictionary');
    }
  });

  it('responds to requests sent before its input ended, writes nothing else, and exits with 0', async () => {
    const { folder } = await openFolder();
    const asked = [1, 2, 3, 4, 5].map((id) => request(id, 'tools/call', { name: 'list_brands', arguments: {} }));
    const { code, stdout, stderr } = await pipe(['--data-dir', folder], folder, [hello, ...asked, 'no protocol']);
    const answers = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Body);
    expect(answers.map(({ id }) => id).sort()).toEqual([0, 1, 2, 3, 4, 5]);
    for (const { jsonrpc, id, result } of answers) {
      expect(jsonrpc).toBe('2.0');
      if (id > 0) expect(withoutTables(result.structuredContent).data).toHaveLength(2);
    }
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });

  it('starts without data, reports that, and leaves no files behind', async () => {
    const folder = await temporaryFolder();
    const asked = request(1, 'tools/call', { name: 'list_brands', arguments: {} });
    const { code, stdout, stderr } = await pipe([], folder, [hello, asked]);
    expect(code).toBe(0);
    expect(stderr).toMatch(/^sightline: workspace default has no data in .*default yet\nRun `sightline sync` first\./);
    const [, answer] = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Body);
    expect(answer.result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('no_data: ') }] });
    await expect(copyFile(join(folder, 'data'), join(folder, 'other'))).rejects.toThrow('ENOENT');
  });

  it('finds data published after its start', async () => {
    const { mirror } = await openFolder();
    const folder = await temporaryFolder();
    const client = await connectTo([], folder, '2025-11-25');
    expect((await call(client, 'list_brands')).isError).toBe(true);
    await mkdir(join(folder, 'data/default'), { recursive: true });
    await copyFile(mirror.copy, join(folder, 'data/default/analytics.duckdb'));
    expect((await call(client, 'list_brands')).content.data).toHaveLength(2);
  });

  it('ends immediately on a signal', async () => {
    const folder = await temporaryFolder();
    const child = start([], folder);
    child.stdin.write(`${JSON.stringify(hello)}\n`);
    await new Promise((resolve) => child.stdout.once('data', resolve));
    child.kill('SIGTERM');
    expect(await new Promise((resolve) => child.once('exit', resolve))).toBe(0);
  });

  it.each([
    [['--query-timeout', '0'], /--query-timeout is "0"; allowed: a whole number from 1 to 600/],
    [['--workspace', 'Ä'], /--workspace is "Ä"/],
    [['--workspace', 'defualt'], /unknown workspace "defualt"; allowed: default; did you mean "default"/],
    [['--folder', 'nowhere'], /--folder is "nowhere"; allowed: an existing folder/],
    [['--nothing'], /unknown option '--nothing'/],
  ])('rejects %j before it serves anything', async (args, told) => {
    const folder = await temporaryFolder();
    const { code, stdout, stderr } = await pipe(args, folder, [hello]);
    expect(code).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toMatch(told);
  });
});

describe('sightline mcp --all', () => {
  it('serves every workspace with data, each call naming one', async () => {
    const { mirror, folder } = await openFolder();
    await mkdir(join(folder, 'acme'));
    await copyFile(mirror.copy, join(folder, 'acme/analytics.duckdb'));
    await mkdir(join(folder, 'empty'));
    const client = await connectTo(['--all', '--data-dir', folder], folder, '2026-07-28');
    expect(client.getInstructions()).toContain('Every call names its workspace: acme, default.');
    const { tools } = await client.listTools();
    for (const { name, inputSchema } of tools.filter((tool) => tool.name !== 'list_workspaces')) {
      expect(inputSchema.required, name).toContain('workspace');
      expect(inputSchema.properties?.['workspace']).toEqual({ type: 'string' });
    }
    const listed = await client.callTool({ name: 'list_workspaces', arguments: {} });
    expect(listed.structuredContent).toEqual({ workspaces: ['acme', 'default'] });
    const { body } = await mirror.mirror('/brands');
    const [{ id: brandId }] = (body as Body).data;
    for (const workspace of ['acme', 'default', 'acme']) {
      const { content } = await call(client, 'list_brands', { workspace });
      expect(content).toEqual(toContent(body));
      const metrics = await call(client, 'get_metrics', { workspace, brandId, from: '2026-03-01', to: '2026-03-15' });
      expect(metrics.remarks).toContain('visibility and shareOfVoice: percent, 0 to 100, rounded to 1 decimal.');
    }
    for (const [name, given] of [
      ['query', { sql: 'SELECT count(*) FROM brands' }],
      ['query_metrics', { metrics: ['responses'], group_by: ['brand'], from: '2026-03-01', to: '2026-03-15' }],
    ] as const) {
      const { shown, text } = await call(client, name, { ...given, workspace: 'acme' });
      expect(shown?.rows, text).toHaveLength(name === 'query' ? 1 : 2);
      expect((await call(client, name, given)).text).toContain('workspace is required');
      expect((await call(client, name, { ...given, workspace: 'amce' })).text).toContain('did you mean "acme"?');
    }
    expect((await call(client, 'list_brands')).text).toContain('workspace is missing; allowed: acme, default');
    const mistyped = await call(client, 'list_brands', { workspace: 'amce' });
    expect(mistyped.text).toContain('did you mean "acme"?');
    const { contents } = await client.readResource({ uri: 'sightline://freshness/acme' });
    expect(JSON.parse((contents[0] as { text: string }).text)).toMatchObject({ ready: true });
    await expect(client.readResource({ uri: 'sightline://freshness/other' })).rejects.toThrow('Unknown resource');
  });

  it('serves the workspaces of the settings if none of them is the default', async () => {
    const { mirror, folder } = await openFolder();
    await mkdir(join(folder, 'data/acme'), { recursive: true });
    await copyFile(mirror.copy, join(folder, 'data/acme/analytics.duckdb'));
    const workspace = { baseUrl: 'https://api.example.com/v1', apiKeyVariable: 'NOT_SET' };
    const settings = { workspaces: { acme: workspace, beta: workspace } };
    await writeFile(join(folder, 'sightline.config.json'), JSON.stringify(settings));
    const client = await connectTo(['--all'], folder, '2026-07-28');
    const listed = await client.callTool({ name: 'list_workspaces', arguments: {} });
    expect(listed.structuredContent).toEqual({ workspaces: ['acme', 'beta'] });
    expect((await call(client, 'list_brands', { workspace: 'acme' })).content.data).toHaveLength(2);
    expect((await call(client, 'list_brands', { workspace: 'beta' })).text).toContain('no_data');
  });

  it('closes the workspaces that were used least recently, but none in use', async () => {
    const events: string[] = [];
    const pool = createPool(2, async (name) => {
      events.push(`open ${name}`);
      return { close: async () => void events.push(`close ${name}`) } as Service;
    });
    let finish: () => void = () => undefined;
    const busy = pool.use('a', () => new Promise<void>((resolve) => (finish = resolve)));
    for (const name of ['b', 'c', 'b', 'd']) await pool.use(name, async () => undefined);
    expect(events).toEqual(['open a', 'open b', 'open c', 'close b', 'open b', 'close c', 'open d', 'close b']);
    finish();
    await busy;
    await pool.close();
    expect(events.slice(-2).sort()).toEqual(['close a', 'close d']);
  });
});

describe('sightline mcp --print-config', () => {
  it.each(['claude-desktop', 'claude-code', 'cursor', 'vscode', 'codex'])(
    'prints settings for %s that work in any folder, without a secret',
    async (name) => {
      const { folder } = await openFolder();
      const environment = { SIGHTLINE_API_KEY: 'gsk_secret', SIGHTLINE_BASE_URL: 'https://api.example.com/v1' };
      const printed = await runCli(['mcp', '--print-config', name, '--data-dir', '.'], {
        cwd: folder,
        env: environment,
      });
      expect(printed).toMatchObject({
        code: 0,
        stderr: expect.stringMatching(/^Add this to .*, and restart the client\.\n$/),
      });
      expect(printed.stdout).not.toMatch(/gsk_|npx|example\.com/);
      const { command, args } = programIn(name, printed.stdout);
      expect([command, args.slice(0, 2)]).toEqual([process.execPath, [MAIN, 'mcp']]);
      const elsewhere = await temporaryFolder();
      const transport = new StdioClientTransport({ command, args, env: {}, cwd: elsewhere, stderr: 'pipe' });
      const client = createClient('2025-11-25');
      onTestFinished(() => client.close());
      await client.connect(transport);
      expect((await call(client, 'list_brands')).content.data).toHaveLength(2);
    },
  );
});

it('the printed settings of a workspace have the folder of the configuration file and the time limit', async () => {
  const { folder } = await openFolder();
  await writeFile(join(folder, 'sightline.config.json'), '{ "dataDir": "." }');
  const printed = async (...more: string[]) => {
    const { stdout } = await runCli(['mcp', '--all', '--print-config', 'cursor', ...more], { cwd: folder });
    return programIn('cursor', stdout).args.slice(1);
  };
  const expected = ['mcp', '--all', '--data-dir', folder, '--folder', folder];
  expect(await printed()).toEqual(expected);
  expect(await printed('--query-timeout', '60')).toEqual([...expected, '--query-timeout', '60']);
});

// The program in the settings of a client.
function programIn(client: string, text: string): { command: string; args: string[] } {
  if (client !== 'codex') {
    const settings = JSON.parse(text) as Body;
    return (client === 'vscode' ? settings.servers : settings.mcpServers).sightline;
  }
  const [, command = '', args = ''] =
    /^\[mcp_servers\.sightline\]\ncommand = (".*")\nargs = (\[.*\])\n$/.exec(text) ?? [];
  return { command: JSON.parse(command), args: JSON.parse(args) };
}

const hello = request(0, 'initialize', {
  protocolVersion: '2025-06-18',
  capabilities: {},
  clientInfo: { name: 'sightline-tests', version: '1.0.0' },
});

function request(id: number, method: string, params: unknown): object {
  return { jsonrpc: '2.0', id, method, params };
}

// Returns a data folder with only a replica.
async function openFolder(): Promise<{ mirror: Mirror; folder: string }> {
  const mirror = await openMirror(SMALL);
  await mirror.publish();
  const folder = await temporaryFolder();
  await mkdir(join(folder, 'default'));
  await copyFile(mirror.copy, join(folder, 'default/analytics.duckdb'));
  return { mirror, folder };
}

// The command does not inherit the test's environment.
function environment(folder: string): Record<string, string> {
  return { PATH: process.env['PATH'] ?? '', HOME: folder };
}

async function connectTo(args: readonly string[], folder: string, revision: Revision): Promise<Client> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [MAIN, 'mcp', ...args],
    env: environment(folder),
    cwd: folder,
    stderr: 'pipe',
  });
  const client = createClient(revision);
  onTestFinished(() => client.close());
  await client.connect(transport);
  expect(client.getNegotiatedProtocolVersion()).toBe(revision);
  return client;
}

// Two servers sign cursors with different secrets.
function withoutCursor(content: unknown): object {
  const { nextCursor, ...rest } = content as { nextCursor?: string | null };
  return { ...rest, hasMore: typeof nextCursor === 'string' };
}

function start(args: readonly string[], folder: string) {
  const child = spawn(process.execPath, [MAIN, 'mcp', ...args], {
    cwd: folder,
    env: environment(folder),
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  return child;
}

async function pipe(
  args: readonly string[],
  folder: string,
  lines: readonly (object | string)[],
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = start(args, folder);
  // A command that has rejected its arguments reads no more input.
  child.stdin.on('error', () => undefined);
  child.stdin.end(lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join(''));
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [stdout, stderr, code] = await Promise.all([textOf(child.stdout), textOf(child.stderr), ended]);
  return { code, stdout, stderr };
}
