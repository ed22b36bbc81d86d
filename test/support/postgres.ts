import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { chmod, chown, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { isAlive } from '../../src/base/process-alive.ts';
import { freePort } from './ports.ts';

/** An empty database on a PostgreSQL server on loopback. */
export interface TestPostgres {
  /** Returns the connection URL; `searchPath` prepends schemas to public. */
  url(searchPath?: string): string;
  /** Runs statements as superuser. */
  run(text: string): Promise<pg.QueryResult>;
  close(): Promise<void>;
}

/** A PostgreSQL server that a test may stop. */
export interface OwnPostgres extends TestPostgres {
  /** Stops the server and closes its connections. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

interface Server {
  readonly pid: number;
  readonly port: number;
}

const USER = 'tester';
const PASSWORD = 'p@ss:of/tests';
/** Where Debian, Homebrew and others install the server's programs. */
const PLACES = ['/usr/lib/postgresql', '/usr/local/opt', '/opt/homebrew/opt', '/usr/pgsql'];
const START_MS_MAX = 60_000;
const POLL_MS = 20;
const RECORD = 'postgres.json';

/** Returns a new database on the server that all tests of a run share, or the reason why there is none on this machine. */
export async function openPostgres(): Promise<TestPostgres | string> {
  const bin = programsOf();
  if (bin === null) return 'initdb and postgres are not installed';
  const { port } = await sharedServer(bin);
  const name = `test_${process.pid}_${Math.random().toString(36).slice(2, 10)}`;
  await query(urlOf(port, 'postgres'), `CREATE DATABASE ${name}`);
  return {
    ...databaseAt(port, name),
    close: async () => void (await query(urlOf(port, 'postgres'), `DROP DATABASE ${name} WITH (FORCE)`)),
  };
}

/** Starts a server of its own, for tests that stop it, or returns the reason why there is none on this machine. */
export async function startPostgres(): Promise<OwnPostgres | string> {
  const bin = programsOf();
  if (bin === null) return 'initdb and postgres are not installed';
  const folder = await initialise(bin, await mkdtemp(join(tmpdir(), 'postgres-')));
  const port = await freePort();
  let child = await start(bin, folder, port);
  const stop = (): Promise<void> => stopServer(child);
  return {
    ...databaseAt(port, 'postgres'),
    stop,
    start: async () => {
      child = await start(bin, folder, port);
    },
    close: async () => {
      await stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Stops the shared server of a run, whose temporary files are in `folder`. */
export async function stopSharedPostgres(folder: string): Promise<void> {
  const server = readRecord(folder);
  if (server === null) return;
  process.kill(server.pid, 'SIGINT');
  for (let waitedMs = 0; isAlive(server.pid) && waitedMs < START_MS_MAX; waitedMs += POLL_MS) await delay(POLL_MS);
}

function databaseAt(port: number, name: string): Pick<TestPostgres, 'url' | 'run'> {
  const base = urlOf(port, name);
  return {
    url: (searchPath) =>
      searchPath === undefined ? base : `${base}?options=${encodeURIComponent(`-c search_path=${searchPath}`)}`,
    run: (text) => query(base, text),
  };
}

function urlOf(port: number, database: string): string {
  return `postgres://${USER}:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}/${database}`;
}

async function query(connectionString: string, text: string): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    return await client.query(text);
  } finally {
    await client.end();
  }
}

// One of the workers starts the server; the others wait until it accepts connections.
async function sharedServer(bin: string): Promise<Server> {
  const run = tmpdir();
  const folder = join(run, 'postgres');
  const isStarting = await mkdir(folder).then(
    () => true,
    () => false,
  );
  if (isStarting) {
    await initialise(bin, folder);
    const port = await freePort();
    const { pid } = await start(bin, folder, port);
    writeFileSync(join(run, RECORD), JSON.stringify({ pid, port }));
  }
  for (let waitedMs = 0; waitedMs < START_MS_MAX; waitedMs += POLL_MS) {
    const server = readRecord(run);
    if (server !== null) return server;
    await delay(POLL_MS);
  }
  throw new Error(`PostgreSQL did not start within ${START_MS_MAX} ms`);
}

function readRecord(run: string): Server | null {
  try {
    return JSON.parse(readFileSync(join(run, RECORD), 'utf8')) as Server;
  } catch {
    return null;
  }
}

/** Returns the folder of the server's programs, which Debian does not add to PATH; null if it is not installed. */
function programsOf(): string | null {
  const versions = PLACES.filter((place) => existsSync(place)).flatMap((place) =>
    readdirSync(place).map((version) => join(place, version, 'bin')),
  );
  const folders = [...versions.reverse(), ...(process.env['PATH'] ?? '').split(delimiter)];
  return folders.find((bin) => ['initdb', 'postgres'].every((name) => existsSync(join(bin, name)))) ?? null;
}

async function initialise(bin: string, folder: string): Promise<string> {
  const identity = await identityOf();
  if (identity !== null) {
    // The server's user must be able to enter the folder of this run.
    await chmod(tmpdir(), 0o711);
    await chown(folder, identity.uid, identity.gid);
  }
  const passwordFile = join(folder, '..', `.password-${process.pid}`);
  writeFileSync(passwordFile, PASSWORD, { mode: 0o644 });
  const data = join(folder, 'data');
  const options = ['--no-sync', '--no-instructions', '--locale=C', '--encoding=UTF8', '--auth=scram-sha-256'];
  try {
    await promisify(execFile)(join(bin, 'initdb'), ['-D', data, '-U', USER, `--pwfile=${passwordFile}`, ...options], {
      cwd: folder,
      ...(identity ?? {}),
    });
  } finally {
    await rm(passwordFile, { force: true });
  }
  return folder;
}

async function start(bin: string, folder: string, port: number): Promise<ChildProcess> {
  const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'fsync=off', 'max_connections=200'];
  const given = settings.flatMap((setting) => ['-c', setting]);
  const child = spawn(join(bin, 'postgres'), ['-D', join(folder, 'data'), '-p', String(port), ...given], {
    cwd: folder,
    stdio: 'ignore',
    detached: true,
    ...((await identityOf()) ?? {}),
  });
  child.unref();
  const ended = new Promise<never>((_, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`PostgreSQL ended with ${code}`)));
  });
  ended.catch(() => undefined);
  for (let waitedMs = 0; waitedMs < START_MS_MAX; waitedMs += POLL_MS) {
    const isReady = await Promise.race([
      ended,
      query(urlOf(port, 'postgres'), 'SELECT 1').then(
        () => true,
        () => false,
      ),
    ]);
    if (isReady) return child;
    await Promise.race([ended, delay(POLL_MS)]);
  }
  throw new Error(`PostgreSQL did not start within ${START_MS_MAX} ms`);
}

async function stopServer(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGINT');
  await exited;
}

// PostgreSQL does not run as root.
async function identityOf(): Promise<{ readonly uid: number; readonly gid: number } | null> {
  if (process.getuid?.() !== 0) return null;
  const [uid, gid] = await Promise.all(
    ['-u', '-g'].map(async (flag) => Number((await promisify(execFile)('id', [flag, 'postgres'])).stdout)),
  );
  return { uid: uid as number, gid: gid as number };
}
