import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { fetchExtensions } from '../support/duckdb-extensions.ts';
import { startStillSandbox } from '../support/still-sandbox.ts';
import { readTruth, type Truth } from './truth.ts';

const MAIN = fileURLToPath(new URL('../../dist/src/cli/main.js', import.meta.url));

/** End of the server's messages that is kept, in characters. */
const ERRORS_MAX = 2_000;

/** Scopes of the key; the default ones lack `sql`. */
const SCOPES = ['read', 'metrics', 'sql', 'snapshots'];

/** What the programs of the clients are given, as JSON. */
export interface World {
  readonly truth: Truth;
  /** Path of the replica. */
  readonly replica: string;
  /** Folder of the newest snapshot. */
  readonly snapshot: string;
  /** URL of a REST catalog with Iceberg tables; null if there is none. */
  readonly catalog: string | null;
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
 * and serves it on loopback. Loads the tables into an Iceberg catalog, if there is one.
 */
export async function openWorld(catalog: string | null): Promise<RunningWorld> {
  const now = Date.now();
  const sandbox = await startStillSandbox({ brands: 2, prompts: 8, days: 20, choices: { extraFields: true } }, now);
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'sightline-interop-world-')));
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: folder,
    SIGHTLINE_BASE_URL: sandbox.baseUrl,
    SIGHTLINE_API_KEY: sandbox.key,
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
    const extensions = await fetchExtensions();
    const isLoaded = catalog !== null && typeof extensions !== 'string';
    if (isLoaded) {
      const settings = { destinations: { lake: { kind: 'iceberg', url: catalog } } };
      await writeFile(join(folder, 'sightline.config.json'), JSON.stringify(settings));
      Object.assign(env, { SIGHTLINE_EXTENSION_DIRECTORY: extensions.folder });
    }
    const run = (...args: string[]): Promise<string> => runCommand(args, folder, env);
    const truth = await readTruth(sandbox, now);
    await run('sync');
    await run('export');
    if (isLoaded) await run('load');
    const key = (await run('keys', 'create', 'interop', '--scope', ...SCOPES)).trim();
    server = spawn(process.execPath, [MAIN, ...SERVE], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
    const { baseUrl, mcpUrl } = await addressesOf(server);
    const data = join(folder, 'data', 'default');
    const world = {
      truth,
      replica: join(data, 'analytics.duckdb'),
      snapshot: await realpath(join(data, 'snapshots', 'latest')),
      catalog: isLoaded ? catalog : null,
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
