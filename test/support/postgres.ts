import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { chown, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { isAlive } from '../../src/base/process-alive.ts';
import { isOpen } from './other-user.ts';
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

/** The shared server of a run, or the reason why it did not start. */
type Shared = { readonly pid: number; readonly port: number; readonly folder: string } | string;

/** The programs of PostgreSQL, and the user that runs them. */
interface Programs {
  readonly bin: string;
  /** Null: the user of this process. PostgreSQL does not run as root. */
  readonly user: { readonly uid: number; readonly gid: number } | null;
}

const USER = 'tester';
const PASSWORD = 'p@ss:of/tests';
/** Where Debian and Homebrew install the server's programs, one folder per version. They are not in PATH. */
const PLACES = ['/usr/lib/postgresql', '/usr/local/opt', '/opt/homebrew/opt'];
/** Users as which root runs the server. */
const USERS = ['postgres', 'nobody'];
/** Folders for the data, if the server's user cannot enter the temporary folder of this process. */
const BASES = ['/dev/shm', '/tmp', '/var/tmp'];
const START_MS_MAX = 60_000;
const POLL_MS = 20;
const RECORD = 'postgres.json';

/** Returns a new database on the server that all tests of a run share, or the reason why there is none on this machine. */
export async function openPostgres(): Promise<TestPostgres | string> {
  const server = await sharedServer();
  if (typeof server === 'string') return server;
  const admin = urlOf(server.port, 'postgres');
  const name = `test_${process.pid}_${Math.random().toString(36).slice(2, 10)}`;
  await queryAt(admin, `CREATE DATABASE ${name}`);
  return {
    ...databaseAt(server.port, name),
    close: async () => void (await queryAt(admin, `DROP DATABASE ${name} WITH (FORCE)`)),
  };
}

/** Starts a server of its own, for tests that stop it, or returns the reason why there is none on this machine. */
export async function startPostgres(): Promise<OwnPostgres | string> {
  const programs = findPrograms();
  if (typeof programs === 'string') return programs;
  const port = await freePort();
  const started = await initialise(programs, port);
  if (typeof started === 'string') return started;
  const { folder } = started;
  let { child } = started;
  const stop = (): Promise<void> => stopServer(child);
  return {
    ...databaseAt(port, 'postgres'),
    stop,
    start: async () => {
      child = await start(programs, folder, port);
    },
    close: async () => {
      await stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Stops the shared server of a run, whose temporary files are in `run`. */
export async function stopSharedPostgres(run: string): Promise<void> {
  const server = readRecord(run);
  if (server === null || typeof server === 'string') return;
  process.kill(server.pid, 'SIGINT');
  for (let waitedMs = 0; isAlive(server.pid) && waitedMs < START_MS_MAX; waitedMs += POLL_MS) await delay(POLL_MS);
  await rm(server.folder, { recursive: true, force: true });
}

function databaseAt(port: number, name: string): Pick<TestPostgres, 'url' | 'run'> {
  const base = urlOf(port, name);
  return {
    url: (searchPath) =>
      searchPath === undefined ? base : `${base}?options=${encodeURIComponent(`-c search_path=${searchPath}`)}`,
    run: (text) => queryAt(base, text),
  };
}

function urlOf(port: number, database: string): string {
  return `postgres://${USER}:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}/${database}`;
}

/** Runs statements on a database. */
export async function queryAt(connectionString: string, text: string): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    return await client.query(text);
  } finally {
    await client.end();
  }
}

// One of the workers starts the server; the others wait for its record.
async function sharedServer(): Promise<Shared> {
  const run = tmpdir();
  const starter = join(run, 'postgres.starter');
  const isFirst = await writeFile(starter, String(process.pid), { flag: 'wx' }).then(
    () => true,
    () => false,
  );
  if (isFirst) {
    const record = await startShared().catch((thrown: unknown) => `PostgreSQL does not start: ${thrown}`);
    await writeFile(join(run, `${RECORD}.part`), JSON.stringify(record));
    await rename(join(run, `${RECORD}.part`), join(run, RECORD));
  }
  for (;;) {
    const record = readRecord(run);
    if (record !== null) return record;
    const pid = Number(await readFile(starter, 'utf8'));
    if (pid !== 0 && !isAlive(pid)) return 'the worker that started PostgreSQL has ended';
    await delay(POLL_MS);
  }
}

async function startShared(): Promise<Shared> {
  const programs = findPrograms();
  if (typeof programs === 'string') return programs;
  const port = await freePort();
  const started = await initialise(programs, port);
  return typeof started === 'string' ? started : { pid: started.child.pid ?? 0, port, folder: started.folder };
}

function readRecord(run: string): Shared | null {
  try {
    return JSON.parse(readFileSync(join(run, RECORD), 'utf8')) as Shared;
  } catch {
    return null;
  }
}

function findPrograms(): Programs | string {
  const versions = PLACES.filter((place) => existsSync(place)).flatMap((place) =>
    readdirSync(place).map((version) => join(place, version, 'bin')),
  );
  const folders = [...versions.reverse(), ...(process.env['PATH'] ?? '').split(delimiter)];
  const isRoot = process.getuid?.() === 0;
  const bin = folders.find(
    (folder) => ['initdb', 'postgres'].every((name) => existsSync(join(folder, name))) && (!isRoot || isOpen(folder)),
  );
  if (bin === undefined) return 'initdb and postgres are not installed';
  if (!isRoot) return { bin, user: null };
  const accounts = new Map(
    readFileSync('/etc/passwd', 'utf8')
      .split('\n')
      .map((line) => line.split(':'))
      .map(([name = '', , uid, gid]) => [name, { uid: Number(uid), gid: Number(gid) }]),
  );
  const user = USERS.map((name) => accounts.get(name)).find((account) => account !== undefined);
  if (user !== undefined) return { bin, user };
  return `PostgreSQL does not run as root, and there is no user ${USERS.join(' or ')}`;
}

// Returns a new folder that the server's user can enter.
async function makeFolder(user: Programs['user']): Promise<string> {
  if (user === null) return mkdtemp(join(tmpdir(), 'postgres-'));
  // The folder of a run is for its user only, the folder that has it for all.
  const base = [dirname(tmpdir()), ...BASES].find(isOpen);
  if (base === undefined) throw new Error(`no folder for temporary files that user ${user.uid} can enter`);
  const folder = await mkdtemp(join(base, 'sightline-postgres-'));
  await chown(folder, user.uid, user.gid);
  return folder;
}

/** Creates a server and starts it, or returns the reason why it does not start here. */
async function initialise(
  { bin, user }: Programs,
  port: number,
): Promise<{ readonly folder: string; readonly child: ChildProcess } | string> {
  const folder = await makeFolder(user);
  try {
    const passwordFile = join(folder, 'password');
    await writeFile(passwordFile, PASSWORD, { mode: 0o644 });
    const options = ['--no-sync', '--no-instructions', '--locale=C', '--encoding=UTF8', '--auth=scram-sha-256'];
    const args = ['-D', join(folder, 'data'), '-U', USER, `--pwfile=${passwordFile}`, ...options];
    await promisify(execFile)(join(bin, 'initdb'), args, { cwd: folder, ...user });
    return { folder, child: await start({ bin, user }, folder, port) };
  } catch (thrown) {
    await rm(folder, { recursive: true, force: true });
    const { stderr = String(thrown) } = thrown as { stderr?: string };
    return `PostgreSQL does not start: ${stderr.trim().split('\n').at(0)}`;
  }
}

async function start({ bin, user }: Programs, folder: string, port: number): Promise<ChildProcess> {
  const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'fsync=off', 'max_connections=200'];
  const given = settings.flatMap((setting) => ['-c', setting]);
  const log = openSync(join(folder, 'log'), 'w');
  const child = spawn(join(bin, 'postgres'), ['-D', join(folder, 'data'), '-p', String(port), ...given], {
    cwd: folder,
    stdio: ['ignore', log, log],
    detached: true,
    ...user,
  });
  closeSync(log);
  child.unref();
  const ended = new Promise<never>((_, reject) => {
    child.once('error', reject);
    child.once('exit', () => reject(new Error(readFileSync(join(folder, 'log'), 'utf8'))));
  });
  ended.catch(() => undefined);
  for (let waitedMs = 0; waitedMs < START_MS_MAX; waitedMs += POLL_MS) {
    const isReady = await Promise.race([
      ended,
      queryAt(urlOf(port, 'postgres'), 'SELECT 1').then(
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
  child.ref();
  child.kill('SIGINT');
  await exited;
}
