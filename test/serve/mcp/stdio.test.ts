import { copyFile, mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { describe, expect, it, onTestFinished } from 'vitest';
import { VERSION } from '../../../src/base/version.ts';
import { builtInCatalogue as catalogue } from '../../../src/workspace/catalogues.ts';
import { temporaryFolder } from '../../support/folders.ts';
import { MAIN, runCommand } from '../../support/run-command.ts';
import { serverBefore } from '../http/support.ts';
import { startCommand } from '../running-command.ts';
import { openStream, type StreamClient } from './stream-client.ts';
import { type Body, call, createClient, type Revision, toContent, withoutTables } from './support.ts';

const rest = serverBefore();
const DAYS = { from: '2026-03-12', to: '2026-03-15' };

const hello = request(0, 'initialize', {
  protocolVersion: '2025-06-18',
  capabilities: {},
  clientInfo: { name: 'sightline-tests', version: '1.0.0' },
});
const listBrands = { name: 'list_brands', arguments: {} };

function request(id: number, method: string, params: unknown): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params });
}

/** Returns a folder with the data of these workspaces, as `--data-dir` names it. */
async function dataFolder(...workspaces: readonly string[]): Promise<string> {
  const folder = await temporaryFolder();
  for (const workspace of workspaces) {
    await mkdir(join(folder, workspace), { recursive: true });
    await copyFile(rest().copy, join(folder, workspace, 'analytics.duckdb'));
  }
  return folder;
}

/** Runs `sightline mcp` in this process. */
function open(args: readonly string[], cwd: string, revision?: Revision): Promise<StreamClient> {
  const { input, output, finished } = startCommand(['mcp', '--folder', cwd, ...args], { cwd });
  return openStream(
    (streams) => {
      streams.input.pipe(input);
      output.pipe(streams.output);
      return finished;
    },
    onTestFinished,
    revision,
  );
}

const dataOf = (result: Body): Body => withoutTables(result.structuredContent).data;

async function restBody(path: string): Promise<Body> {
  return (await rest().get(path)).json();
}

describe('sightline mcp', () => {
  // The other tests use 2025-06-18, and the process below the newest.
  it.each(['2025-11-25', '2025-03-26'] as const)('serves revision %s', async (revision) => {
    const folder = await dataFolder('default');
    const client = await open(['--data-dir', folder], folder, revision);
    expect(dataOf(await client.call('list_brands', {}))).toEqual((await restBody('/brands')).data);
  });

  it('responds to requests sent before its input ended, writes nothing else, and ends with 0', async () => {
    const folder = await dataFolder('default');
    const asked = [1, 2, 3, 4, 5].map((id) => request(id, 'tools/call', listBrands));
    const input = [hello, ...asked, 'no protocol', ''].join('\n');
    const { code, stdout, stderr } = await runCommand(['mcp', '--data-dir', '.'], { cwd: folder, input });
    const answers = stdout.trim().split('\n');
    const ids = answers.map((line) => {
      const { jsonrpc, id, result } = JSON.parse(line) as Body;
      expect(jsonrpc).toBe('2.0');
      if (id > 0) expect(dataOf(result)).toHaveLength(1);
      return id as number;
    });
    expect(ids.sort()).toEqual([0, 1, 2, 3, 4, 5]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });

  it('starts without data, reports that, and leaves no files behind', async () => {
    const folder = await temporaryFolder();
    const input = [hello, request(1, 'tools/call', listBrands), ''].join('\n');
    const { code, stdout, stderr } = await runCommand(['mcp'], { cwd: folder, input });
    expect(code).toBe(0);
    expect(stderr).toMatch(/^sightline: workspace default has no data in .*default yet\nRun `sightline sync` first\./);
    const { result } = JSON.parse(stdout.trim().split('\n')[1] ?? '') as Body;
    expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('no_data: ') }] });
    expect(await readdir(folder)).toEqual([]);
  });

  it('finds data published after its start', async () => {
    const folder = await temporaryFolder();
    const client = await open([], folder);
    expect((await client.call('list_brands', {})).isError).toBe(true);
    await mkdir(join(folder, 'data/default'), { recursive: true });
    await copyFile(rest().copy, join(folder, 'data/default/analytics.duckdb'));
    expect(dataOf(await client.call('list_brands', {}))).toHaveLength(1);
  });

  it('ends immediately when it is interrupted', async () => {
    const cwd = await temporaryFolder();
    const { input, output, stop } = startCommand(['mcp'], { cwd });
    input.write(`${hello}\n`);
    await new Promise((resolve) => output.once('data', resolve));
    expect(await stop()).toMatchObject({ code: 0 });
  });

  it.each([
    [['--workspace', 'defualt'], /unknown workspace "defualt"; allowed: default; did you mean "default"/],
    [['--folder', 'nowhere'], /--folder is "nowhere"; allowed: an existing folder/],
  ])('rejects %j before it serves anything', async (args, told) => {
    const cwd = await temporaryFolder();
    const { code, stdout, stderr } = await runCommand(['mcp', ...args], { cwd, input: `${hello}\n` });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(told);
  });
});

describe('sightline mcp --all', () => {
  it('serves every workspace with data, each call naming one', async () => {
    const folder = await dataFolder('acme', 'default');
    await mkdir(join(folder, 'empty'));
    const client = await open(['--all', '--data-dir', folder], folder);
    expect(client.instructions).toContain('Every call names its workspace: acme, default.');
    const { tools } = (await client.request('tools/list')).result;
    for (const { name, inputSchema } of tools.filter((tool: Body) => tool.name !== 'list_workspaces')) {
      expect(inputSchema.required, name).toContain('workspace');
      expect(inputSchema.properties.workspace).toEqual({ type: 'string' });
    }
    const listed = await client.call('list_workspaces', {});
    expect(listed.structuredContent).toEqual({ workspaces: ['acme', 'default'] });
    const { brandId } = rest();
    for (const workspace of ['acme', 'default', 'acme']) {
      expect(dataOf(await client.call('list_brands', { workspace }))).toEqual((await restBody('/brands')).data);
      const { structuredContent } = await client.call('get_metrics', { workspace, brandId, ...DAYS });
      const remarks = structuredContent._sightline.remarks.join('\n');
      expect(remarks).toContain('visibility and shareOfVoice: percent, 0 to 100, rounded to 1 decimal.');
    }
    const textOf = async (name: string, given: object) => (await client.call(name, given)).content[0].text as string;
    for (const [name, given] of [
      ['query', { sql: 'SELECT count(*) FROM brands' }],
      ['query_metrics', { metrics: ['responses'], group_by: ['brand'], ...DAYS }],
      ['list_brands', {}],
    ] as const) {
      const { structuredContent, content } = await client.call(name, { ...given, workspace: 'acme' });
      if (name !== 'list_brands') expect(structuredContent?.rows, content[0].text).toHaveLength(1);
      expect(await textOf(name, given)).toContain('workspace is required; allowed: acme, default');
      expect(await textOf(name, given)).toContain(`Arguments of ${name}: workspace (required)`);
      expect(await textOf(name, { ...given, workspace: 'amce' })).toContain('did you mean "acme"?');
      const several = { ...given, workspace: ['acme', 'default'] };
      expect(await textOf(name, several)).toContain('workspace is "acme and default"; allowed: one value');
      const twice = { ...given, workspace: 'acme', where: { workspace: 'default' } };
      expect(await textOf(name, twice)).toContain('workspace is "acme and default"; allowed: one value');
    }
    const read = (uri: string) => client.request('resources/read', { uri });
    const { result } = await read('sightline://freshness/acme');
    expect(JSON.parse(result.contents[0].text)).toMatchObject({ ready: true });
    expect((await read('sightline://freshness/other')).error.message).toContain('Unknown resource');
  });

  it('serves the workspaces of the settings if none of them is the default', async () => {
    const data = await dataFolder('data/acme');
    const workspace = { baseUrl: 'https://api.example.com/v1', apiKeyVariable: 'NOT_SET' };
    const settings = { workspaces: { acme: workspace, beta: workspace } };
    await writeFile(join(data, 'sightline.config.json'), JSON.stringify(settings));
    const client = await open(['--all'], data);
    const listed = await client.call('list_workspaces', {});
    expect(listed.structuredContent).toEqual({ workspaces: ['acme', 'beta'] });
    expect(dataOf(await client.call('list_brands', { workspace: 'acme' }))).toHaveLength(1);
    expect((await client.call('list_brands', { workspace: 'beta' })).content[0].text).toContain('no_data');
  });
});

describe('sightline mcp --print-config', () => {
  it.each(['claude-desktop', 'claude-code', 'cursor', 'vscode', 'codex'])(
    'prints settings for %s, with absolute paths and without a secret',
    async (name) => {
      const folder = await dataFolder('default');
      const { code, stdout, stderr } = await print(folder, name, '--data-dir', '.');
      expect({ code, stderr }).toEqual({
        code: 0,
        stderr: expect.stringMatching(/^Add this to .*, and restart the client\.\n$/),
      });
      expect(stdout).not.toMatch(/gsk_|npx|example\.com/);
      const program = fileURLToPath(new URL('../../../src/cli/main.js', import.meta.url));
      const args = [program, 'mcp', '--workspace', 'default', '--data-dir', folder];
      expect(programIn(name, stdout)).toEqual({ command: process.execPath, args });
    },
  );

  it('prints the folder of the configuration file, and the time limit unless it is the default', async () => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, 'sightline.config.json'), '{ "dataDir": "." }');
    const printed = async (...more: string[]) =>
      programIn('cursor', (await print(folder, 'cursor', '--all', ...more)).stdout).args.slice(1);
    const expected = ['mcp', '--all', '--data-dir', folder, '--folder', folder];
    expect(await printed()).toEqual(expected);
    expect(await printed('--query-timeout', '60')).toEqual([...expected, '--query-timeout', '60']);
  });

  it('prints the arguments with which the official client gets the same results as by REST, from any folder', async () => {
    const folder = await dataFolder('default');
    const { stdout } = await print(folder, 'claude-desktop', '--data-dir', folder);
    const { command, args } = programIn('claude-desktop', stdout);
    const transport = new StdioClientTransport({
      command,
      args: [MAIN, ...args.slice(1)],
      env: {},
      cwd: dirname(folder),
      stderr: 'pipe',
    });
    const client = createClient('2026-07-28');
    onTestFinished(() => client.close());
    await client.connect(transport);
    expect(client.getNegotiatedProtocolVersion()).toBe('2026-07-28');
    expect(client.getServerVersion()).toMatchObject({ name: 'sightline', version: VERSION });
    expect(client.getInstructions()).toContain('They need a brandId of list_brands.');
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['query', ...catalogue.resources.map(({ tool }) => tool)]),
    );
    const { brandId } = rest();
    // The process has the real time, for which the days of the world are in the past.
    for (const [name, values, path] of [
      ['list_brands', {}, '/brands'],
      ['get_metrics', { brandId, ...DAYS }, `/brands/${brandId}/metrics?${new URLSearchParams(DAYS)}`],
      ['list_prompts', { brandId }, `/brands/${brandId}/prompts`],
    ] as const) {
      const { isError, content } = await call(client, name, values);
      expect({ name, isError }).toEqual({ name, isError: false });
      expect(content).toEqual(toContent(await restBody(path)));
    }
    const { contents } = await client.readResource({ uri: 'sightline://dictionary' });
    expect((contents[0] as { text: string }).text).toContain('# Data dictionary');
  });
});

function print(cwd: string, client: string, ...more: readonly string[]) {
  const env = { SIGHTLINE_API_KEY: 'gsk_secret', SIGHTLINE_BASE_URL: 'https://api.example.com/v1' };
  return runCommand(['mcp', '--print-config', client, ...more], { cwd, env });
}

/** Returns the program in the settings of a client. */
function programIn(client: string, text: string): { command: string; args: string[] } {
  if (client !== 'codex') {
    const settings = JSON.parse(text) as Body;
    const { command, args } = (client === 'vscode' ? settings.servers : settings.mcpServers).sightline;
    return { command, args };
  }
  const [, command = '', args = ''] =
    /^\[mcp_servers\.sightline\]\ncommand = (".*")\nargs = (\[.*\])\n$/.exec(text) ?? [];
  return { command: JSON.parse(command), args: JSON.parse(args) };
}
