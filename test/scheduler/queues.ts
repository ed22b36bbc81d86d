import { execFileSync, spawn } from 'node:child_process';
import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import pg from 'pg';
import { onTestFinished, type TestContext } from 'vitest';
import type { QueueAddress } from '../../src/base/config/runner-settings.ts';
import { NOT_TRIED } from '../support/needs.ts';
import { freePort } from '../support/ports.ts';
import type { TestPostgres } from '../support/postgres.ts';
import { postgresFor } from '../support/test-postgres.ts';

const VARIABLE = 'QUEUE_DATABASE_URL';
/** Password of Redis; like that of PostgreSQL, it has special characters. */
const PASSWORD = 'p@ss:of/tests';

let redis: { readonly port: number; close(): Promise<void> } | string = 'it was not started';
let databases = 0;

/** Starts Redis, if it is installed. */
export async function startQueues(): Promise<void> {
  redis = await startRedis();
}

/** Stops Redis. */
export async function stopQueues(): Promise<void> {
  if (typeof redis !== 'string') await redis.close();
}

/** Creates a queue of a kind, or skips the test. */
export async function newQueue(kind: 'postgres' | 'redis', context: TestContext): Promise<QueueAddress> {
  if (kind === 'postgres') return queueIn(await postgresFor(context));
  if (typeof redis === 'string') return context.skip(`${NOT_TRIED}there is no Redis: ${redis}`);
  const url = `redis://:${encodeURIComponent(PASSWORD)}@127.0.0.1:${redis.port}/${databases++}`;
  return { kind, url, urlVariable: VARIABLE };
}

/** Creates a queue for workers in several processes, or skips the test. */
export async function newSharedQueue(kind: 'postgres' | 'redis', context: TestContext): Promise<QueueAddress> {
  if (process.env['TEST_CLOCK'] !== undefined)
    return context.skip(
      `${NOT_TRIED}leases are compared with the time of the database, which TEST_CLOCK does not shift`,
    );
  return newQueue(kind, context);
}

/** Returns the address of a queue in a database. */
export function queueIn(database: Pick<TestPostgres, 'url'>): QueueAddress {
  return { kind: 'postgres', url: database.url(), urlVariable: VARIABLE };
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

/** The leases of a queue, read and changed directly by a test. */
export interface Leases {
  /** Makes all leases expire, as if the database had been away for much longer than a lease. */
  expire(): Promise<void>;
  /** Reports whether a worker has looked for expired leases since then. */
  wereSwept(): Promise<boolean>;
  /** Returns the number of active tasks with a lease that has not expired. */
  valid(): Promise<number>;
}

/** Connects to a queue's database for the duration of a test. */
export async function leasesOf(address: QueueAddress): Promise<Leases> {
  if (address.kind === 'postgres') {
    return {
      expire: async () => {
        await runSql(
          address,
          "UPDATE bullmq.job SET locked_until_ms = 1, stalled_marked = true WHERE state = 'active'",
        );
        await runSql(address, "UPDATE bullmq.meta SET value = '1/1' WHERE field = 'sightline:sweep'");
      },
      wereSwept: async () => {
        const asked = "SELECT 1 FROM bullmq.meta WHERE field = 'sightline:sweep' AND value <> '1/1'";
        return (await runSql(address, asked)).rowCount === 1;
      },
      valid: async () => {
        const counted = 'SELECT 1 FROM bullmq.job WHERE locked_until_ms > extract(epoch FROM clock_timestamp()) * 1000';
        return (await runSql(address, counted)).rowCount ?? 0;
      },
    };
  }
  const redis = new Redis(address.url);
  onTestFinished(() => redis.disconnect());
  const key = (name: string): string => `bull:sightline:${name}`;
  const active = (): Promise<string[]> => redis.lrange(key('active'), 0, -1);
  return {
    expire: async () => {
      const ids = await active();
      await redis.del(...ids.map((id) => key(`${id}:lock`)), key('sightline:sweep:asked'), key('stalled-check'));
      await redis.sadd(key('stalled'), ...ids);
    },
    wereSwept: async () => (await redis.exists(key('sightline:sweep:asked'))) === 1,
    valid: async () => redis.exists(...(await active()).map((id) => key(`${id}:lock`))),
  };
}

/** A network path to a queue that a test can cut. */
export interface Way {
  readonly address: QueueAddress;
  /** Ends all connections and refuses new ones. */
  cut(): void;
  mend(): void;
}

/** Opens a network path to a queue for the duration of a test. */
export async function openWay(address: QueueAddress): Promise<Way> {
  const target = new URL(address.url);
  const sockets = new Set<Socket>();
  let isCut = false;
  const server = createServer((near) => {
    if (isCut) return void near.destroy();
    const far = createConnection(Number(target.port), target.hostname);
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one);
      one
        .on('error', () => undefined)
        .on('close', () => {
          sockets.delete(one);
          other.destroy();
        });
      one.pipe(other);
    }
  });
  const cut = (): void => {
    isCut = true;
    for (const socket of sockets) socket.destroy();
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    cut();
    server.close();
  });
  const url = Object.assign(new URL(address.url), { port: (server.address() as AddressInfo).port }).href;
  return {
    address: { ...address, url },
    cut,
    mend: () => {
      isCut = false;
    },
  };
}

// Uses the redis-server of the operating system, because npm has none.
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
