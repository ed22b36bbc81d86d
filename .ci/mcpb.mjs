#!/usr/bin/env node
// Writes the MCPB bundle of this platform, with which MCP clients install the server: the build, and the packages of `npm ci --omit=dev`
// that are installed here, with DuckDB's binding for this platform.
//
//   npm run mcpb [-- FOLDER]    # FOLDER/sightline-0.1.0-linux-x64.mcpb; default: the current folder
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { packExtension } from '@anthropic-ai/mcpb';

const root = join(import.meta.dirname, '..');
const read = (path) => JSON.parse(readFileSync(join(root, path), 'utf8'));
const { version, description, license, engines } = read('package.json');
const platform = `${process.platform}-${process.arch}`;
const binding = `@duckdb/node-bindings-${platform}`;
const output = resolve(process.argv[2] ?? '.', `sightline-${version}-${platform}.mcpb`);
const { declarations } = await import('../dist/schemas/catalogue.js');
const { dataTools } = await import('../dist/src/serve/mcp/tool-set.js');

const manifest = {
  manifest_version: '0.3',
  name: 'sightline',
  display_name: 'sightline',
  version,
  description,
  long_description: `Serves the replicas of a data folder, read-only. Has ${binding}, so it runs on ${platform} only.`,
  author: { name: 'sightline' },
  license,
  server: {
    type: 'node',
    entry_point: 'dist/src/cli/main.js',
    mcp_config: {
      command: 'node',
      // oxlint-disable-next-line no-template-curly-in-string -- the client replaces these
      args: ['${__dirname}/dist/src/cli/main.js', 'mcp', '--all', '--data-dir', '${user_config.data_dir}'],
    },
  },
  tools: [
    ...dataTools.map(({ name, about }) => ({ name, description: about })),
    ...declarations.map(({ tool, about }) => ({ name: tool, description: about })),
  ],
  // With several workspaces there is one more.
  tools_generated: true,
  compatibility: { platforms: [process.platform], runtimes: { node: engines.node } },
  user_config: {
    data_dir: {
      type: 'directory',
      title: 'Data folder',
      description: 'The folder to which sightline syncs, with a folder for each workspace.',
      required: true,
    },
  },
};

const folder = mkdtempSync(join(tmpdir(), 'sightline-mcpb-'));
try {
  const packages = Object.entries(read('package-lock.json').packages).flatMap(([path, { dev }]) =>
    path !== '' && dev !== true && existsSync(join(root, path)) ? [path] : [],
  );
  if (!packages.includes(`node_modules/${binding}`)) throw new Error(`${binding} is not installed`);
  // Types, source maps and texts are not needed, except licences.
  const filter = (path) => /licen[cs]e/i.test(path) || !/\.(ts|cts|mts|map|md)$/.test(path);
  const copy = (path) => cpSync(join(root, path), join(folder, path), { recursive: true, filter });
  for (const path of ['dist/src', 'dist/schemas', 'dist/jobs', 'LICENSE', 'package.json']) copy(path);
  for (const path of packages.filter((one) => one.lastIndexOf('node_modules/') === 0)) copy(path);
  writeFileSync(join(folder, 'manifest.json'), JSON.stringify(manifest, null, 2));
  if (!(await packExtension({ extensionPath: folder, outputPath: output, silent: true }))) {
    throw new Error('the bundle could not be packed');
  }
  process.stdout.write(`${output}\n`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
