import { execFile } from 'node:child_process';
import { copyFile, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { unpackExtension, v0_3 } from '@anthropic-ai/mcpb';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect, onTestFinished, test } from 'vitest';
import { call, createClient } from '../serve/mcp/support.ts';
import { temporaryFolder } from '../support/folders.ts';
import { originalOf } from '../support/worlds.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');

// Installs the bundle as a client does: checks the manifest, unpacks it, replaces the variables, and starts the command.
test('the MCPB bundle has a valid manifest, and serves a data folder from any place', async () => {
  const folder = await temporaryFolder();
  const { stdout } = await run(process.execPath, [join(root, '.ci/mcpb.mjs'), folder], { cwd: root });
  const bundle = stdout.trim().split('\n').at(-1) ?? '';
  const platform = `${process.platform}-${process.arch}`;
  expect(bundle).toMatch(new RegExp(`/sightline-\\d+\\.\\d+\\.\\d+-${platform}\\.mcpb$`));
  const extension = join(folder, 'extension');
  await unpackExtension({ mcpbPath: bundle, outputDir: extension, silent: true });
  const manifest = v0_3.McpbManifestSchema.parse(JSON.parse(await readFile(join(extension, 'manifest.json'), 'utf8')));
  expect(manifest).toMatchObject({
    manifest_version: '0.3',
    compatibility: { platforms: [process.platform] },
    user_config: { data_dir: { type: 'directory', required: true } },
  });
  expect(manifest.long_description).toContain(`@duckdb/node-bindings-${platform}`);
  const world = join(await originalOf('tiny'), 'data/default');
  await mkdir(join(folder, 'data/default'), { recursive: true });
  await copyFile(join(world, 'analytics.duckdb'), join(folder, 'data/default/analytics.duckdb'));
  const variables: Readonly<Record<string, string>> = {
    __dirname: extension,
    'user_config.data_dir': join(folder, 'data'),
  };
  const { command, args = [] } = manifest.server.mcp_config;
  expect(command).toBe('node');
  const replaced = args.map((text) => text.replace(/\$\{([\w.]+)\}/g, (_, name: string) => variables[name] ?? name));
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: replaced,
    env: {},
    cwd: folder,
    stderr: 'pipe',
  });
  const client = createClient('2025-11-25');
  onTestFinished(() => client.close());
  await client.connect(transport);
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(manifest.tools?.map(({ name }) => name));
  expect((await call(client, 'list_brands')).content.data).toHaveLength(1);
});
