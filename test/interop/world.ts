import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { startStillSandbox } from '../support/still-sandbox.ts';
import { readTruth, type Truth } from './truth.ts';

const MAIN = fileURLToPath(new URL('../../dist/src/cli/main.js', import.meta.url));

/** End of the server's messages that is kept, in characters. */
const ERRORS_MAX = 2_000;

/** Scopes of the key; the default ones lack `sql`. */
const SCOPES = ['read', 'metrics', 'sql', 'snapshots'];

/** A table of the lake: its folder, and the metadata file of the newest export. */
interface LakeTable {
  readonly folder: string;
  readonly metadata: string;
}

/** What the programs of the clients are given, as JSON. */
export interface World {
  readonly truth: Truth;
  /** Path of the replica. */
  readonly replica: string;
  /** Folder of the newest snapshot. */
  readonly snapshot: string;
  /** Iceberg tables by name; null without the engine that writes them. */
  readonly lake: Readonly<Record<string, LakeTable>> | null;
  readonly baseUrl: string;
  readonly mcpUrl: string;
  readonly key: string;
  /** The command that serves MCP on standard input and output. */
  readonly stdio: {
    readonly command: string;
    readonly args: readonly string[];
    readonly cwd: string;
    readonly env: Readonly<Record<string, string>>;
  };
}

/** A world, and the end of its server. */
export interface RunningWorld {
  readonly world: World;
  close(): Promise<void>;
}

/**
 * Generates a workspace whose upstream sends fields that the specification does not list, syncs it, exports a snapshot
 * and serves it on loopback. Publishes Iceberg tables if `engineModules` is the folder of modules that has their engine.
 */
export async function openWorld(engineModules: string | null): Promise<RunningWorld> {
  const now = Date.now();
  const sandbox = await startStillSandbox({ brands: 2, prompts: 8, days: 20, choices: { extraFields: true } }, now);
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'sightline-interop-world-')));
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: folder,
    SIGHTLINE_BASE_URL: sandbox.baseUrl,
    SIGHTLINE_API_KEY: sandbox.key,
    ...(engineModules === null ? {} : { NODE_PATH: engineModules }),
  };
  let server: ChildProcessByStdio<null, Readable, Readable> | null = null;
  const close = async (): Promise<void> => {
    if (server !== null && server.exitCode === null) {
      server.kill('SIGTERM');
      await once(server, 'exit');
    }
    await sandbox.close();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    if (engineModules !== null) {
      await mkdir(join(folder, 'lake'));
      const settings = { publish: { kind: 'iceberg', path: 'lake' } };
      await writeFile(join(folder, 'sightline.config.json'), JSON.stringify(settings));
    }
    const run = (...args: string[]): Promise<string> => runCommand(args, folder, env);
    const truth = await readTruth(sandbox, now);
    await run('sync');
    await run('export');
    const key = (await run('keys', 'create', 'interop', '--scope', ...SCOPES)).trim();
    server = spawn(process.execPath, [MAIN, ...SERVE], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
    const { baseUrl, mcpUrl } = await addressesOf(server);
    const data = join(folder, 'data', 'default');
    const world = {
      truth,
      replica: join(data, 'analytics.duckdb'),
      snapshot: await realpath(join(data, 'snapshots', 'latest')),
      lake: engineModules === null ? null : await lakeTables(join(folder, 'lake', 'default')),
      baseUrl,
      mcpUrl,
      key,
      stdio: { command: process.execPath, args: [MAIN, 'mcp'], cwd: folder, env },
    };
    return { world, close };
  } catch (thrown) {
    await close();
    throw thrown;
  }
}

const SERVE = ['serve', '--port', '0', '--no-jobs', '--rate-limit', 'off', '--log-level', 'error', '--json'];

async function runCommand(args: readonly string[], cwd: string, env: Record<string, string>): Promise<string> {
  const child = spawn(process.execPath, [MAIN, ...args], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`sightline ${args.join(' ')} ended with ${code}: ${Buffer.concat(err)}`);
  return Buffer.concat(out).toString();
}

async function addressesOf(
  server: ChildProcessByStdio<null, Readable, Readable>,
): Promise<{ baseUrl: string; mcpUrl: string }> {
  let text = '';
  let errors = '';
  server.stderr.on('data', (chunk: Buffer) => {
    errors = `${errors}${chunk}`.slice(-ERRORS_MAX);
  });
  for await (const line of createInterface({ input: server.stdout })) {
    text += line;
    if (line.endsWith('}')) return JSON.parse(text);
  }
  throw new Error(`sightline serve ended: ${errors}`);
}

async function lakeTables(folder: string): Promise<Record<string, LakeTable>> {
  const pointer = JSON.parse(await readFile(join(folder, 'latest.json'), 'utf8'));
  const manifest = JSON.parse(await readFile(join(folder, pointer.manifest), 'utf8'));
  const paths = new Map<string, string>(
    manifest.tables.map((table: { name: string; iceberg: { metadata: { path: string } } }) => [
      table.name,
      table.iceberg.metadata.path,
    ]),
  );
  const names = await readdir(join(folder, 'tables'));
  return Object.fromEntries(
    names.map((name) => [
      name,
      { folder: join(folder, 'tables', name), metadata: join(folder, paths.get(name) as string) },
    ]),
  );
}
