import type { DuckDBConnection, DuckDBPreparedStatement } from '@duckdb/node-api';
import PQueue from 'p-queue';
import { SightlineError } from '../base/errors.ts';
import { bindValue, type Query, toSimpleRows } from './database.ts';
import { toReadError } from './errors.ts';
import { openReadOnly } from './read-only.ts';

/** Statements that a connection keeps prepared. */
const STATEMENTS_MAX = 128;

/** Between two interrupts of a query that is to end: one that comes before the query has begun is lost. */
const INTERRUPT_EVERY_MS = 20;

/** A database file opened read-only, with a bounded number of queries at a time. */
export interface Replica {
  /**
   * Gives `task` a connection of its own for as long as it takes. Throws `overloaded` when too many tasks wait,
   * `query_timeout` when it takes too long, the signal's reason when that is aborted.
   */
  work<T>(task: (query: Query) => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** Tasks that run and that wait. */
  load(): { readonly running: number; readonly waiting: number };
  /** Waits for what is under way. */
  close(): Promise<void>;
}

/** What a replica may use. */
export interface ReplicaOptions {
  /** Queries at a time; below the 4 threads that Node has for such work, or files and names would wait for queries. */
  readonly connections: number;
  /** Tasks that may wait for a connection. */
  readonly waitingMax: number;
  readonly timeoutMs: number;
  readonly memoryLimitMb: number;
}

/** Sizes that serve well; the time is the command line's default. */
export const REPLICA_OPTIONS: ReplicaOptions = {
  connections: 3,
  waitingMax: 128,
  timeoutMs: 30_000,
  memoryLimitMb: 320,
};

/** Opens a file that nobody writes to, such as the analysts' copy; without access to other files or the network. */
export async function openReplica(path: string, options: ReplicaOptions = REPLICA_OPTIONS): Promise<Replica> {
  const instance = await openReadOnly(path, options);
  const idle: ReplicaConnection[] = [];
  const all: ReplicaConnection[] = [];
  for (let index = 0; index < options.connections; index++) {
    const connection = createConnection(await instance.connect());
    all.push(connection);
    idle.push(connection);
  }
  await all[0]?.query("SET TimeZone = 'UTC'");
  const queue = new PQueue({ concurrency: options.connections });
  return {
    work: (task, signal) => {
      signal?.throwIfAborted();
      if (queue.size >= options.waitingMax) {
        const message = `${options.waitingMax} queries are waiting already`;
        return Promise.reject(new SightlineError('overloaded', message));
      }
      return queue.add(async () => {
        signal?.throwIfAborted();
        const connection = idle.pop() as ReplicaConnection;
        try {
          return await limited(connection, path, task, options.timeoutMs, signal);
        } finally {
          idle.push(connection);
        }
      });
    },
    load: () => ({ running: queue.pending, waiting: queue.size }),
    close: async () => {
      await queue.onIdle();
      for (const connection of all) connection.close();
      instance.closeSync();
    },
  };
}

interface ReplicaConnection {
  readonly query: Query;
  interrupt(): void;
  close(): void;
}

// Interrupts end the query that runs; the check before each query ends a task that is between two.
async function limited<T>(
  connection: ReplicaConnection,
  path: string,
  task: (query: Query) => Promise<T>,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<T> {
  const stop = new AbortController();
  let interrupts: NodeJS.Timeout | undefined;
  const end = (reason: unknown): void => {
    stop.abort(reason);
    connection.interrupt();
    interrupts ??= setInterval(() => connection.interrupt(), INTERRUPT_EVERY_MS);
  };
  const leave = (): void => end(signal?.reason);
  const timer = setTimeout(
    () => end(new SightlineError('query_timeout', `the query was stopped after ${timeoutMs / 1000} s`)),
    timeoutMs,
  );
  signal?.addEventListener('abort', leave, { once: true });
  const query: Query = async (sql, parameters) => {
    stop.signal.throwIfAborted();
    try {
      return await connection.query(sql, parameters);
    } catch (thrown) {
      stop.signal.throwIfAborted();
      throw toReadError(path, thrown) ?? thrown;
    }
  };
  try {
    return await task(query);
  } finally {
    clearTimeout(timer);
    clearInterval(interrupts);
    signal?.removeEventListener('abort', leave);
  }
}

function createConnection(connection: DuckDBConnection): ReplicaConnection {
  const statements = new Map<string, DuckDBPreparedStatement>();
  const prepare = async (sql: string): Promise<DuckDBPreparedStatement> => {
    const known = statements.get(sql);
    const statement = known ?? (await connection.prepare(sql));
    // Put behind all others, so that the first of the map is the one that was not used for longest.
    statements.delete(sql);
    statements.set(sql, statement);
    const [oldest] = statements.size > STATEMENTS_MAX ? statements : [];
    if (oldest !== undefined) {
      statements.delete(oldest[0]);
      oldest[1].destroySync();
    }
    return statement;
  };
  return {
    query: async (sql, parameters = []) => {
      const statement = await prepare(sql);
      parameters.forEach((value, index) => {
        bindValue(statement, index + 1, value);
      });
      const reader = await statement.runAndReadAll();
      return toSimpleRows(reader.getRows());
    },
    interrupt: () => connection.interrupt(),
    close: () => {
      for (const statement of statements.values()) statement.destroySync();
      connection.closeSync();
    },
  };
}
