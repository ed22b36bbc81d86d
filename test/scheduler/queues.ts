import { execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { TestContext } from 'vitest';
import type { QueueAddress } from '../../src/base/runner-settings.ts';
import { freePort } from '../support/ports.ts';
import { startPostgres, type TestPostgres } from '../support/postgres.ts';

const VARIABLE = 'QUEUE_DATABASE_URL';
/** Of Redis; that of PostgreSQL is as odd. */
const PASSWORD = 'p@ss:of/tests';

let postgres: TestPostgres | string = 'it was not started';
let redis: { readonly port: number; close(): Promise<void> } | string = 'it was not started';
let databases = 0;

/** Starts what queues are kept in; says loudly what cannot be had here, and tests that need it are skipped. */
export async function startQueues(): Promise<void> {
  [postgres, redis] = await Promise.all([startPostgres(), startRedis()]);
  for (const [name, server] of Object.entries({ PostgreSQL: postgres, Redis: redis })) {
    if (typeof server === 'string') process.stderr.write(`\nThe queue in ${name} is NOT TESTED here: ${server}\n\n`);
  }
}

/** Stops them. */
export async function stopQueues(): Promise<void> {
  if (typeof postgres !== 'string') await postgres.close();
  if (typeof redis !== 'string') await redis.close();
}

/** The PostgreSQL, or a skipped test. */
export function postgresOf({ skip }: TestContext): TestPostgres {
  return typeof postgres === 'string' ? skip(`there is no PostgreSQL: ${postgres}`) : postgres;
}

/** A new queue of a kind, or a skipped test. */
export async function newQueue(kind: 'postgres' | 'redis', context: TestContext): Promise<QueueAddress> {
  if (kind === 'redis') {
    if (typeof redis === 'string') return context.skip(`there is no Redis: ${redis}`);
    const url = `redis://:${encodeURIComponent(PASSWORD)}@127.0.0.1:${redis.port}/${databases++}`;
    return { kind, url, urlVariable: VARIABLE };
  }
  const server = postgresOf(context);
  const name = `queue_${randomUUID().replaceAll('-', '')}`;
  await server.run(`CREATE DATABASE ${name}`);
  const url = new URL(server.url());
  url.pathname = name;
  return { kind, url: url.href, urlVariable: VARIABLE };
}

/** Runs statements in a queue's own database. */
export async function runSql({ url }: QueueAddress, text: string): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await client.query(text);
  } finally {
    await client.end();
  }
}

// Of the machine's own packages: npm has none.
async function startRedis(): Promise<typeof redis> {
  try {
    execFileSync('redis-server', ['--version'], { stdio: 'ignore' });
  } catch {
    return 'redis-server is not installed';
  }
  const port = await freePort();
  const server = spawn(
    'redis-server',
    ['--port', String(port), '--bind', '127.0.0.1', '--requirepass', PASSWORD, '--save', '', '--appendonly', 'no'],
    {
      stdio: ['ignore', 'pipe', 'ignore'],
      cwd: '/tmp',
    },
  );
  const gone = new Promise<void>((resolve) => server.once('exit', () => resolve()));
  await Promise.race([
    new Promise<void>((resolve) => server.stdout.on('data', (text) => String(text).includes('Ready') && resolve())),
    delay(10_000),
  ]);
  return {
    port,
    close: async () => {
      server.kill('SIGKILL');
      await gone;
    },
  };
}
