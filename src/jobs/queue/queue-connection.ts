import type { PgBoss, QueueOptions } from 'pg-boss';
import { systemClock } from '../../base/clock.ts';
import type { QueueAddress } from '../../base/config/runner-settings.ts';
import { SightlineError } from '../../base/errors.ts';
import { installLine } from '../../base/optional-packages.ts';
import { isAway, toQueueError } from './queue-failure.ts';

/** The tables are in this schema, so that they do not mix with those of another application that uses pg-boss. */
const SCHEMA = 'sightline_queue';
/** The queue of the tasks. */
export const TASKS = 'tasks';
/** What workers write about themselves, and the data folder: as jobs that no worker takes. */
export const RECORDS = 'records';
/** Jobs that one call reads at most; the limit of pg-boss. */
export const READ_MAX = 100_000;

/** A task whose worker has not renewed it for this long has lost its worker. */
export const LEASE_MS = 15_000;
/** Lost tasks are searched at most this often by all workers together. */
const SEARCH_SECONDS = 2;
const HOUR_SECONDS = 3_600;
const DAY_SECONDS = 86_400;
/** How long the queue keeps what must not expire: ten years. */
export const YEARS_SECONDS = 3_660 * DAY_SECONDS;
const TASK_OPTIONS: QueueOptions = {
  heartbeatSeconds: LEASE_MS / 1000,
  // A task that was put back or has lost its worker cannot be taken before it has got its priority.
  retryDelay: 1,
  // A task is not to blame for the loss of its worker, so the limit is out of reach.
  retryLimit: 1_000_000,
  // The longest time that pg-boss allows. A task that takes longer is interrupted and resumed.
  expireInSeconds: DAY_SECONDS,
  retentionSeconds: YEARS_SECONDS,
  deleteAfterSeconds: DAY_SECONDS,
};

/** Connections of a process. */
const CONNECTIONS_MAX = 5;
const CONNECT_MS = 5_000;
const QUERY_MS = 15_000;
/** How often and how long a patient caller tries to connect. */
const RETRY_MS = 2_000;
const AWAY_MS_MAX = 3 * 60_000;

/** Options of `openQueueRunner`. */
export interface QueueRunnerOptions {
  /** If true, retries for up to 3 minutes while the database does not answer; otherwise fails at once. Default true. */
  readonly isPatient?: boolean;
  readonly signal?: AbortSignal;
  /** Receives a sentence when a problem begins and when it ends. */
  readonly say?: (sentence: string) => void;
}

/**
 * Opens the queue and creates its tables if they are missing. `onError` receives errors in the background.
 * @throws `config_invalid` if pg-boss is not installed, `queue_unreachable`, or the signal's reason
 */
export async function openQueue(
  address: QueueAddress,
  { isPatient = true, signal, say = () => undefined }: QueueRunnerOptions,
  onError: (thrown: unknown) => void,
): Promise<PgBoss> {
  const boss = await createBoss(address);
  boss.on('error', onError);
  const startedAt = systemClock.monotonic();
  for (let isReported = false; ; isReported = true) {
    try {
      await boss.start();
      await boss.createQueue(TASKS, { policy: 'short', ...TASK_OPTIONS });
      // A record that is not written again is removed.
      await boss.createQueue(RECORDS, { policy: 'short', retentionSeconds: HOUR_SECONDS });
      if (isReported) say(`The database of ${address.urlVariable} answers again.`);
      return boss;
    } catch (thrown) {
      const failure = toQueueError(thrown, address);
      const isOver = systemClock.monotonic() - startedAt > AWAY_MS_MAX;
      if (signal?.aborted === true || !isPatient || !isAway(thrown) || isOver) {
        await boss.stop({ graceful: false }).catch(() => undefined);
        signal?.throwIfAborted();
        throw failure;
      }
      if (!isReported) say(`${failure.message.replace(/^t/, 'T')}; retrying until it answers.`);
      await systemClock.sleep(RETRY_MS, signal).catch(() => undefined);
    }
  }
}

/** Returns the time of the database, epoch milliseconds. The clocks of the machines with workers may differ. */
export async function databaseNow(boss: PgBoss): Promise<number> {
  const { rows } = await boss.getDb().executeSql('SELECT now() AS now');
  return Number(rows[0].now);
}

async function createBoss({ url }: QueueAddress): Promise<PgBoss> {
  const { PgBoss } = await loadPackage();
  const driver = { query_timeout: QUERY_MS, keepAlive: true };
  return new PgBoss({
    ...driver,
    connectionString: url,
    max: CONNECTIONS_MAX,
    connectionTimeoutMillis: CONNECT_MS,
    application_name: 'sightline',
    schema: SCHEMA,
    // Workers search lost tasks themselves, because only they know since when the database has answered them.
    supervise: false,
    monitorIntervalSeconds: SEARCH_SECONDS,
    maintenanceIntervalSeconds: HOUR_SECONDS,
    // Due times are computed as without a queue. The cron parser of pg-boss fails for some time zones.
    schedule: false,
    // Not used: dependencies between jobs, the registry of processes, traces, and care of large tables.
    flowIntervalSeconds: DAY_SECONDS,
    registerInstance: false,
    openTelemetry: { enabled: false },
    reindex: false,
    monitorVacuum: false,
  });
}

async function loadPackage(): Promise<typeof import('pg-boss')> {
  try {
    return await import('pg-boss');
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw thrown;
    throw new SightlineError(
      'config_invalid',
      `runner.kind is "postgres", but the package pg-boss (version 12) is not installed; ` +
        `allowed: process, or postgres after \`${installLine('queue')}\``,
    );
  }
}
