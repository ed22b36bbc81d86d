import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { freePort } from './ports.ts';

const programs = { client: 'mariadb', server: 'mariadbd', install: 'mariadb-install-db' } as const;
const START_MS_MAX = 60_000;
const POLL_MS = 20;
const USER = 'tester';
const PASSWORD = 'p@ss:of/tests';
/** Debian installs the server's program where only root finds it. */
const PATH = `${process.env['PATH']}:/usr/sbin`;
const SETTINGS = [
  '--bind-address=127.0.0.1',
  '--skip-log-bin',
  '--performance-schema=OFF',
  '--innodb-buffer-pool-size=64M',
  '--innodb-flush-log-at-trx-commit=0',
  '--innodb-doublewrite=0',
];

/** A MariaDB server on loopback. */
export interface Mariadb {
  /** Creates a database, grants the user of the URL write access to it and to databases with its name as prefix, and returns the URL. */
  create(database: string): Promise<string>;
  /** Runs statements as the superuser and returns what they print. */
  run(statements: string): Promise<string>;
  /** Runs a query in a transaction that stays open, and returns when it has a row. The result ends the transaction. */
  hold(database: string, query: string): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

/** Starts a server with its data in a folder, or returns the reason why there is none on this machine. */
export async function startMariadb(folder: string): Promise<Mariadb | string> {
  const data = join(folder, 'data');
  const socket = join(folder, 'socket');
  const asRoot = process.getuid?.() === 0 ? ['--user=root'] : [];
  const client = ['--no-defaults', '--user=root', `--socket=${socket}`, '--batch', '--skip-column-names'];
  const call = promisify(execFile);
  const run = async (statements: string): Promise<string> =>
    (await call(programs.client, [...client, '--execute', statements])).stdout;
  try {
    const install = ['--no-defaults', '--auth-root-authentication-method=normal', '--skip-test-db', ...asRoot];
    await call(programs.install, [...install, `--datadir=${data}`], { env: { PATH } });
  } catch (thrown) {
    return `MariaDB is not installed, or does not start: ${String((thrown as Error).message).split('\n')[0]}`;
  }
  const hold = async (database: string, query: string): Promise<() => Promise<void>> => {
    const holder = spawn(programs.client, [...client, '--unbuffered', database], { stdio: ['pipe', 'pipe', 'ignore'] });
    holder.stdin.write(`BEGIN; ${query};\n`);
    await once(holder.stdout, 'data');
    return () => stop(holder);
  };
  const port = await freePort();
  const log = openSync(join(folder, 'log'), 'w');
  const own = [`--datadir=${data}`, `--socket=${socket}`, `--pid-file=${join(folder, 'pid')}`, `--port=${port}`];
  const child = spawn(programs.server, ['--no-defaults', ...own, ...SETTINGS, ...asRoot], {
    env: { PATH },
    stdio: ['ignore', log, log],
  });
  for (let waitedMs = 0; waitedMs < START_MS_MAX && child.exitCode === null; waitedMs += POLL_MS) {
    const isReady = await run(`CREATE USER ${USER} IDENTIFIED BY '${PASSWORD}'`).then(
      () => true,
      () => false,
    );
    if (isReady) {
      const create = async (database: string): Promise<string> => {
        await run(`CREATE DATABASE ${database}; GRANT ALL ON \`${database}%\`.* TO ${USER}`);
        return `mysql://${USER}:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}/${database}`;
      };
      return { create, run, hold, close: () => stop(child) };
    }
    await delay(POLL_MS);
  }
  await stop(child);
  throw new Error(`MariaDB did not start within ${START_MS_MAX} ms`);
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}
