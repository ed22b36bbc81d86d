import type { BackendFactory, IQueueBackend, JobProgress, Processor, Queue, Worker, WorkerOptions } from 'bullmq';
import type { Pool, PoolClient } from 'pg';
import type { Clock } from '../base/clock.ts';
import { SightlineError } from '../base/errors.ts';
import { retryConflicts } from '../base/postgres-errors.ts';
import type { QueueAddress } from '../base/runner-settings.ts';
import { parseCron } from './cron.ts';
import { nextRun } from './next.ts';
import { createPostgresDatabase, createRedisDatabase, type QueueDatabase } from './queue-database.ts';
import { AwayError, toQueueError, toRunnerError } from './queue-failure.ts';
import { loadPackage } from './queue-packages.ts';
import { isTimeZone } from './zone.ts';

/** Connections of a process: one waits for tasks, the others ask. */
const CONNECTIONS_MAX = 5;
const CONNECT_MS = 5_000;
const QUERY_MS = 15_000;
/** Bounds of the wait between two attempts to open it, and how long that is tried by who has patience. */
const RETRY_MS_FIRST = 200;
const RETRY_MS_MAX = 5_000;
const AWAY_MS_MAX = 3 * 60_000;
/** Clocks of machines that differ by more make one take another's tasks for abandoned. */
const SKEW_MS_MAX = 5_000;
/** Time between a task's coming and the look of somebody who waits for one, about. */
const WAKE_MS = 1_000;
/** The one queue that all workers share. */
const QUEUE = 'sightline';

/** What a task carries. */
export interface TaskData {
  readonly workspace: string;
  readonly job: string;
}

/** The queue of a task's kind, and what works it off. */
export type TaskQueue = Queue<TaskData, string, string, TaskData, string, string, IQueueBackend, unknown>;
export type TaskWorker = Worker<TaskData, string, string, IQueueBackend, JobProgress, unknown>;
export type TaskProcessor = Processor<TaskData, string, string>;

/** A connection to the queue. */
export interface QueueConnection {
  readonly queue: TaskQueue;
  readonly database: QueueDatabase;
  createWorker(processor: TaskProcessor, options: Omit<WorkerOptions, 'connection'>): Promise<TaskWorker>;
  close(): Promise<void>;
}

/** How a queue is opened. */
export interface OpenQueueOptions {
  readonly clock: Clock;
  /** Whether it is waited for where it does not answer; otherwise that is an error at once. */
  readonly isPatient: boolean;
  readonly signal?: AbortSignal;
  /** Told in a sentence what is wrong, and when it is well again. */
  say(sentence: string): void;
}

/**
 * Opens the queue, and makes its tables where they are not there. Throws `config_invalid` where a package is missing,
 * `queue_unreachable`, and the signal's reason when that is aborted.
 */
export async function openQueue(address: QueueAddress, options: OpenQueueOptions): Promise<QueueConnection> {
  const { clock, signal, say, isPatient } = options;
  const startedAt = clock.monotonic();
  for (let waitMs = RETRY_MS_FIRST, isTold = false; ; waitMs = Math.min(2 * waitMs, RETRY_MS_MAX)) {
    try {
      const opened = await (address.kind === 'postgres' ? openPostgres(address, options) : openRedis(address));
      if (isTold) say(`The database of ${address.urlVariable} answers again.`);
      return opened;
    } catch (thrown) {
      signal?.throwIfAborted();
      const failure = toRunnerError(thrown, address);
      const passes = toQueueError(thrown, address) instanceof AwayError && !(thrown instanceof SightlineError);
      if (!isPatient || !passes || clock.monotonic() - startedAt > AWAY_MS_MAX) throw failure;
      if (!isTold) say(`${failure.message.replace(/^t/, 'T')}; it is asked again until it answers.`);
      isTold = true;
      await clock.sleep(waitMs, signal);
    }
  }
}

// Times at which a job is due are those of its own schedule, clock changes included.
const settings = {
  repeatStrategy: (
    afterMs: number,
    { pattern, tz }: { pattern?: string | undefined; tz?: string | undefined },
  ): number => {
    const cron = parseCron(pattern ?? '');
    // An invalid schedule has no next run. An error would keep the queue from giving out the task of this one.
    if (typeof cron === 'string' || !isTimeZone(tz ?? 'UTC')) return Number.NaN;
    return nextRun(cron, tz ?? 'UTC', afterMs) ?? Number.NaN;
  },
};

async function openPostgres(address: QueueAddress, { clock, say }: OpenQueueOptions): Promise<QueueConnection> {
  const bullmq = await loadPackage('postgres', 'bullmq', '6', () => import('bullmq'));
  const { default: pg } = await loadPackage('postgres', 'pg', '8', () => import('pg'));
  const options = {
    connectionString: withSearchPath(address.url, bullmq.DEFAULT_SCHEMA),
    max: CONNECTIONS_MAX,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: QUERY_MS,
    keepAlive: true,
    application_name: 'sightline',
    allowExitOnIdle: true,
  };
  const pool = new pg.Pool(options);
  // A connection that nobody uses is lost: the next question opens another. Without this the process would end.
  pool.on('error', () => undefined);
  try {
    await prepare(pool, bullmq, clock, say);
    const connection = tellApart(pool, address, clock);
    const create = bullmq.withBackend(unhurried(bullmq.createPostgresBackend, clock));
    const queue = new create.Queue<TaskData, string>(QUEUE, { connection, settings });
    queue.on('error', () => undefined);
    await queue.waitUntilReady();
    return {
      queue: queue as unknown as TaskQueue,
      database: createPostgresDatabase(connection, QUEUE),
      createWorker: async (processor, workerOptions) => {
        const worker = new create.Worker<TaskData, string>(QUEUE, processor, {
          ...workerOptions,
          settings,
          connection,
        });
        return worker as unknown as TaskWorker;
      },
      close: async () => {
        await queue.close();
        await pool.end();
      },
    };
  } catch (thrown) {
    await pool.end().catch(() => undefined);
    throw thrown;
  }
}

// Whatever is written into the queue, or falls due, wakes all who wait for a task, mostly for nothing: they look about once a
// second at most, and not all at once.
function unhurried<B extends IQueueBackend, C>(create: BackendFactory<B, C>, clock: Clock): BackendFactory<B, C> {
  return (name, options, more) => {
    const backend = create(name, options, more);
    const closing = new AbortController();
    const { waitForJob, disconnectBlocking } = backend;
    backend.waitForJob = async (seconds) => {
      const woken = await waitForJob.call(backend, seconds);
      await clock.sleep(WAKE_MS * (0.5 + clock.random()), closing.signal).catch(() => undefined);
      return woken;
    };
    backend.disconnectBlocking = async (waits) => {
      closing.abort();
      await disconnectBlocking.call(backend, waits);
    };
    return backend;
  };
}

// Whoever may not make tables needs none made where they are.
async function prepare(
  pool: Pool,
  bullmq: typeof import('bullmq'),
  clock: Clock,
  say: OpenQueueOptions['say'],
): Promise<void> {
  const client = await pool.connect();
  try {
    const version = await bullmq.assertSchemaCompatibility(client).catch((thrown: unknown) => {
      if (thrown instanceof bullmq.SchemaMigrationRequiredError) return 0;
      throw thrown;
    });
    if (version < bullmq.LATEST_SCHEMA_VERSION) await bullmq.runMigrations(client);
    const askedAt = clock.now();
    const { rows } = await client.query('SELECT extract(epoch FROM clock_timestamp()) * 1000 AS now');
    const aheadMs = (askedAt + clock.now()) / 2 - Number(rows[0]?.now);
    if (Math.abs(aheadMs) > SKEW_MS_MAX) {
      const way = aheadMs > 0 ? 'ahead of' : 'behind';
      const seconds = Math.round(Math.abs(aheadMs) / 1000);
      say(`The clock of this machine is ${seconds} s ${way} the database's: set it, or tasks are taken for abandoned.`);
    }
  } finally {
    client.release();
  }
}

// The queue's own schema first: its functions name no other.
function withSearchPath(address: string, schema: string): string {
  const url = new URL(address);
  const given = url.searchParams.get('options');
  url.searchParams.set('options', `${given === null ? '' : `${given} `}-c search_path=${schema}`);
  return url.href;
}

// The queue tries again what it takes for a lost connection, and nothing else: it is told so in the form that it knows.
function tellApart(pool: Pool, address: QueueAddress, clock: Clock) {
  const told = async <T>(asked: Promise<T>): Promise<T> => {
    try {
      return await asked;
    } catch (thrown) {
      throw toQueueError(thrown, address);
    }
  };
  return {
    options: pool.options,
    connect: (): Promise<PoolClient> => told(pool.connect()),
    // biome-ignore lint/suspicious/noExplicitAny: rows are the queue's own business, whose types say so.
    query: <R = any>(text: string, values?: readonly unknown[]) => {
      // Each statement is a transaction of its own: one that was rolled back has done nothing.
      return told(retryConflicts(clock, () => pool.query<R & object>(text, values === undefined ? [] : [...values])));
    },
    end: () => pool.end(),
    on: () => undefined,
    removeAllListeners: () => undefined,
  } as never;
}

async function openRedis(address: QueueAddress): Promise<QueueConnection> {
  const bullmq = await loadPackage('redis', 'bullmq', '6', () => import('bullmq'));
  const { Redis } = await loadPackage('redis', 'ioredis', '5', () => import('ioredis'));
  const connect = (extra: object) => {
    const redis = new Redis(address.url, { connectTimeout: CONNECT_MS, maxRetriesPerRequest: null, ...extra });
    redis.on('error', () => undefined);
    return redis;
  };
  const probe = connect({ maxRetriesPerRequest: 0, retryStrategy: () => null, lazyConnect: true });
  // What it ends with says only that it has ended.
  let why: unknown = null;
  probe.on('error', (thrown: unknown) => {
    why ??= thrown;
  });
  try {
    await probe.connect();
    await probe.ping();
  } catch (thrown) {
    throw why ?? thrown;
  } finally {
    probe.disconnect();
  }
  const connection = connect({});
  const queue = new bullmq.Queue<TaskData, string>(QUEUE, { connection, settings });
  queue.on('error', () => undefined);
  await queue.waitUntilReady();
  return {
    queue: queue as unknown as TaskQueue,
    database: createRedisDatabase(connection, (name) => queue.toKey(name)),
    createWorker: async (processor, options) => {
      const worker = new bullmq.Worker<TaskData, string>(QUEUE, processor, { ...options, settings, connection });
      return worker as unknown as TaskWorker;
    },
    close: async () => {
      await queue.close();
      connection.disconnect();
    },
  };
}
