import { execFile } from 'node:child_process';
import { cpSync, existsSync, readdirSync } from 'node:fs';
import { copyFile, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
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

const platform = `${process.platform}-${process.arch}`;
const BINDING = `node_modules/@duckdb/node-bindings-${platform}`;
/** DuckDB's library, which would take most of the time to compress. The bundle is made with an empty file, and gets it when it is unpacked. */
const LIBRARY = join(
  BINDING,
  readdirSync(join(root, BINDING)).find((name) => /^(lib)?duckdb\.(so|dylib|dll)$/.test(name)) ?? '',
);

/** Copies what the script reads: the build, the packages of the lock file, and its own package. */
async function copyProject(folder: string): Promise<void> {
  const { packages } = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean }>;
  };
  const installed = Object.entries(packages).flatMap(([path, { dev }]) =>
    path !== '' && dev !== true && path.lastIndexOf('node_modules/') === 0 && existsSync(join(root, path))
      ? [path]
      : [],
  );
  const filter = (path: string): boolean => path !== join(root, LIBRARY);
  for (const path of ['.ci/mcpb.mjs', 'dist', 'LICENSE', 'package.json', 'package-lock.json', ...installed])
    cpSync(join(root, path), join(folder, path), { recursive: true, filter });
  await writeFile(join(folder, LIBRARY), '');
  await symlink(join(root, 'node_modules/@anthropic-ai'), join(folder, 'node_modules/@anthropic-ai'));
}

// Installs the bundle as a client does: checks the manifest, unpacks it, replaces the variables, and starts the command.
test('the MCPB bundle has a valid manifest, and serves a data folder from any place', async () => {
  const folder = await temporaryFolder();
  const project = join(folder, 'project');
  await copyProject(project);
  const { stdout } = await run(process.execPath, [join(project, '.ci/mcpb.mjs'), folder], { cwd: project });
  const bundle = stdout.trim().split('\n').at(-1) ?? '';
  expect(bundle).toMatch(new RegExp(`/sightline-\\d+\\.\\d+\\.\\d+-${platform}\\.mcpb$`));
  const extension = join(folder, 'extension');
  await unpackExtension({ mcpbPath: bundle, outputDir: extension, silent: true });
  await rm(join(extension, LIBRARY));
  await symlink(join(root, LIBRARY), join(extension, LIBRARY));
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
