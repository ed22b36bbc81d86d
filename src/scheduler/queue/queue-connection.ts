import type { BackendFactory, IQueueBackend, JobProgress, Processor, Queue, Worker, WorkerOptions } from 'bullmq';
import type { Pool, PoolClient } from 'pg';
import type { Clock } from '../../base/clock.ts';
import type { QueueAddress } from '../../base/config/runner-settings.ts';
import { SightlineError } from '../../base/errors.ts';
import { retryConflicts } from '../../base/postgres-errors.ts';
import { parseCron } from '../cron-pattern.ts';
import { nextRun } from '../next-run.ts';
import { isTimeZone } from '../zone.ts';
import { createPostgresDatabase, createRedisDatabase, type QueueDatabase } from './queue-database.ts';
import { AwayError, toQueueError, toRunnerError } from './queue-failure.ts';
import { loadPackage } from './queue-packages.ts';

/** Connections of a process: one waits for tasks, the others run queries. */
const CONNECTIONS_MAX = 5;
const CONNECT_MS = 5_000;
const QUERY_MS = 15_000;
/** Bounds of the wait between two attempts to connect, and how long a patient caller retries. */
const RETRY_MS_FIRST = 200;
const RETRY_MS_MAX = 5_000;
const AWAY_MS_MAX = 3 * 60_000;
/** If the clocks of two machines differ by more than this, one treats the other's tasks as abandoned. */
const SKEW_MS_MAX = 5_000;
/** Average delay between the arrival of a task and the next poll by a waiting worker. */
const WAKE_MS = 1_000;
/** The one queue that all workers share. */
const QUEUE = 'sightline';

/** Payload of a task. */
export interface TaskData {
  readonly workspace: string;
  readonly job: string;
}

/** BullMQ's queue, worker and processor with the types of a task. */
export type TaskQueue = Queue<TaskData, string, string, TaskData, string, string, IQueueBackend, unknown>;
export type TaskWorker = Worker<TaskData, string, string, IQueueBackend, JobProgress, unknown>;
export type TaskProcessor = Processor<TaskData, string, string>;

/** An open connection to the queue. */
export interface QueueConnection {
  readonly queue: TaskQueue;
  readonly database: QueueDatabase;
  createWorker(processor: TaskProcessor, options: Omit<WorkerOptions, 'connection'>): Promise<TaskWorker>;
  close(): Promise<void>;
}

/** Options of `openQueue`. */
export interface OpenQueueOptions {
  readonly clock: Clock;
  /** If true, retries for up to 3 minutes while the database does not answer; otherwise fails at once. */
  readonly isPatient: boolean;
  readonly signal?: AbortSignal;
  /** Receives a sentence when a problem begins and when it ends. */
  say(sentence: string): void;
}

/**
 * Opens the queue and creates its tables if they are missing.
 * @throws `config_invalid` if a package is not installed, `queue_unreachable`, or the signal's reason
 */
export async function openQueue(address: QueueAddress, options: OpenQueueOptions): Promise<QueueConnection> {
  const { clock, signal, say, isPatient } = options;
  const startedAt = clock.monotonic();
  for (let waitMs = RETRY_MS_FIRST, isReported = false; ; waitMs = Math.min(2 * waitMs, RETRY_MS_MAX)) {
    try {
      const opened = await (address.kind === 'postgres' ? openPostgres(address, options) : openRedis(address));
      if (isReported) say(`The database of ${address.urlVariable} answers again.`);
      return opened;
    } catch (thrown) {
      signal?.throwIfAborted();
      const failure = toRunnerError(thrown, address);
      const passes = toQueueError(thrown, address) instanceof AwayError && !(thrown instanceof SightlineError);
      if (!isPatient || !passes || clock.monotonic() - startedAt > AWAY_MS_MAX) throw failure;
      if (!isReported) say(`${failure.message.replace(/^t/, 'T')}; retrying until it answers.`);
      isReported = true;
      await clock.sleep(waitMs, signal);
    }
  }
}

// Compute due times as the in-process schedule does, including clock changes.
const settings = {
  repeatStrategy: (
    afterMs: number,
    { pattern, tz }: { pattern?: string | undefined; tz?: string | undefined },
  ): number => {
    const cron = parseCron(pattern ?? '');
    // An invalid schedule has no next run. An error here would keep the queue from handing out the schedule's current
    // task.
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
  // The pool emits an error when it loses an idle connection, which would end the process. The next query opens another
  // connection.
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

// Every write to the queue, and every due task, wakes all waiting workers, mostly for nothing. Each worker therefore
// polls about once a second at most, with jitter.
function unhurried<B extends IQueueBackend, C>(create: BackendFactory<B, C>, clock: Clock): BackendFactory<B, C> {
  return (name, options, more) => {
    const backend = create(name, options, more);
    const closing = new AbortController();
    const { waitForJob, disconnectBlocking } = backend;
    backend.waitForJob = async (seconds) => {
      const woken = await waitForJob.call(backend, seconds);
      await clock.sleep(WAKE_MS * (0.5 + clock.random()), closing.signal, 'background').catch(() => undefined);
      return woken;
    };
    backend.disconnectBlocking = async (waits) => {
      closing.abort();
      await disconnectBlocking.call(backend, waits);
    };
    return backend;
  };
}

// Creates tables only if they are missing, so that a database user without the right to create them can use existing
// ones.
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
      say(
        `This machine's clock is ${seconds} s ${way} the database's; set the clock, or tasks are treated as abandoned.`,
      );
    }
  } finally {
    client.release();
  }
}

// Set the search path to the queue's schema, because its functions do not qualify their tables.
function withSearchPath(address: string, schema: string): string {
  const url = new URL(address);
  const given = url.searchParams.get('options');
  url.searchParams.set('options', `${given === null ? '' : `${given} `}-c search_path=${schema}`);
  return url.href;
}

// BullMQ retries only errors that look like a lost connection. Convert the driver's errors so that it recognizes them.
function tellApart(pool: Pool, address: QueueAddress, clock: Clock) {
  const withQueueErrors = async <T>(call: Promise<T>): Promise<T> => {
    try {
      return await call;
    } catch (thrown) {
      throw toQueueError(thrown, address);
    }
  };
  return {
    options: pool.options,
    connect: (): Promise<PoolClient> => withQueueErrors(pool.connect()),
    // oxlint-disable-next-line typescript/no-explicit-any -- the queue's package declares its row types with any.
    query: <R = any>(text: string, values?: readonly unknown[]) => {
      // Every statement is its own transaction, so one that was rolled back can be repeated.
      return withQueueErrors(
        retryConflicts(clock, () => pool.query<R & object>(text, values === undefined ? [] : [...values])),
      );
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
  // `connect()` rejects only with the fact that the connection closed; the error event has the cause.
  let cause: unknown = null;
  probe.on('error', (thrown: unknown) => {
    cause ??= thrown;
  });
  try {
    await probe.connect();
    await probe.ping();
  } catch (thrown) {
    throw cause ?? thrown;
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
