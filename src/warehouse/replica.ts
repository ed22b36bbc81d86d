import { dirname } from 'node:path';
import type { DuckDBConnection, DuckDBPreparedStatement } from '@duckdb/node-api';
import PQueue from 'p-queue';
import { withDiskNeed } from '../base/disk-need.ts';
import { SightlineError } from '../base/errors.ts';
import { publishByRename, syncToDisk } from '../base/files.ts';
import { bindValue, type Database, type Parameter, type Query, toSimpleRows } from './database.ts';
import { toMemoryError, toReadError } from './errors.ts';
import { keepContents } from './file/copy-contents.ts';
import { databaseBytes, type HiddenRows, removeDatabase } from './file/copy-database.ts';
import { checkOpens, openReadOnly } from './file/read-only.ts';
import { type TimedTable, writeCopy } from './file/refresh-copy.ts';
import { clearSpills } from './file/spill.ts';
import { type QueryResult, toPlain } from './reader.ts';
import { literal, quoted } from './schema.ts';

/** Limit of prepared statements per connection; each may keep some memory of its last run. */
const STATEMENTS_MAX = 32;

/** DuckDB's `late_materialization_max_rows`: up to this LIMIT it sorts first and then reads the other columns. Its default is 50. */
const LATE_ROWS_MAX = 2_000;

/**
 * Interval between interrupts of a query that has to stop. DuckDB ignores an interrupt that arrives before the query
 * starts.
 */
const INTERRUPT_EVERY_MS = 20;

/** A read-only database file with a limit on concurrent queries. */
export interface Replica {
  /**
   * Runs `task` with a connection of its own.
   * @throws `overloaded` if too many tasks wait, `query_timeout` if the task takes too long, `out_of_memory` if it needs more memory than the replica may use, and the signal's reason if
   * the signal is aborted. A task that continues earlier ones, such as the next page of a list, is not rejected because others
   * wait; its caller limits the number of such tasks. A background task prepares data that make later
   * tasks unnecessary: it is next, and is rejected once `close` was called.
   */
  work<T>(task: ReplicaTask<T>, signal?: AbortSignal, kind?: 'first' | 'continued' | 'background'): Promise<T>;
  /** Keeps the file open until the returned function is called, also if `close` is called meanwhile. */
  hold(): () => void;
  /** Number of running and waiting tasks. */
  load(): { readonly running: number; readonly waiting: number };
  /** Waits for holds and for running and waiting tasks, then closes the file. */
  close(): Promise<void>;
}

/** Returns columns and rows of a query as plain values. */
export type ReadRows = (sql: string) => Promise<QueryResult>;

/**
 * A task of a replica. Only `prepared` keeps its statements, which saves up to 3 ms per run. DuckDB keeps hash tables and materialized
 * rows of a statement until its next run, so use it only for statements that select few rows by conditions, such as pages of a list.
 */
export type ReplicaTask<T> = (query: Query, read: ReadRows, prepared: Query) => Promise<T>;

/** Limits of a replica. */
export interface ReplicaOptions {
  /** Concurrent queries. Keep it below 4, the size of Node's thread pool, because file and DNS calls share the pool. */
  readonly connections: number;
  /** Limit of tasks that wait for a connection. */
  readonly waitingMax: number;
  readonly timeoutMs: number;
  readonly memoryLimitMb: number;
  /** Variables of the connections, which views can read. */
  readonly variables?: Readonly<Record<string, string>>;
}

/** Defaults; the timeout is that of the command line. */
export const REPLICA_OPTIONS: ReplicaOptions = {
  connections: 3,
  waitingMax: 128,
  timeoutMs: 30_000,
  memoryLimitMb: 192,
};

/** Opens a file that nobody writes to, such as the replica, without access to other files or the network. */
export async function openReplica(path: string, options: ReplicaOptions = REPLICA_OPTIONS): Promise<Replica> {
  const instance = await openReadOnly(path, options);
  const idle: ReplicaConnection[] = [];
  for (let index = 0; index < options.connections; index++) {
    const connection = createConnection(await instance.connect());
    // A thread of the allocator returns freed memory to the system.
    if (index === 0) await connection.query('SET allocator_background_threads = true');
    // The other settings belong to the connection.
    await connection.query("SET TimeZone = 'UTC'");
    await connection.query(`SET late_materialization_max_rows = ${LATE_ROWS_MAX}`);
    for (const [name, text] of Object.entries(options.variables ?? {})) {
      await connection.query(`SET VARIABLE ${quoted(name)} = ${literal(text)}`);
    }
    idle.push(connection);
  }
  const all = [...idle];
  const queue = new PQueue({ concurrency: options.connections });
  const holds = new Set<Promise<void>>();
  let isClosing = false;
  return {
    work: (task, signal, kind = 'first') => {
      signal?.throwIfAborted();
      if (kind === 'background' && isClosing) return Promise.reject(new Error('the replica is being closed'));
      if (kind === 'first' && queue.size >= options.waitingMax) {
        const message = `${options.waitingMax} queries are already waiting`;
        return Promise.reject(new SightlineError('overloaded', message));
      }
      const run = async () => {
        signal?.throwIfAborted();
        const connection = idle.pop() as ReplicaConnection;
        try {
          return await runWithLimits(connection, path, task, options.timeoutMs, signal);
        } finally {
          idle.push(connection);
        }
      };
      return queue.add(run, { priority: kind === 'background' ? 1 : 0 });
    },
    hold: () => {
      let release = (): void => undefined;
      const held = new Promise<void>((resolve) => {
        release = resolve;
      });
      holds.add(held);
      return () => {
        holds.delete(held);
        release();
      };
    },
    load: () => ({ running: queue.pending, waiting: queue.size }),
    close: async () => {
      isClosing = true;
      while (holds.size > 0) await Promise.all(holds);
      await queue.onIdle();
      for (const connection of all) connection.close();
      instance.closeSync();
    },
  };
}

/** Removes the blocks that were read from the file from memory. DuckDB does so only to keep within its memory limit. */
export async function evictBlocks(query: Query, { memoryLimitMb }: ReplicaOptions): Promise<void> {
  const limitTo = (megabytes: number) => query(`SET memory_limit = '${megabytes}MB'`);
  await limitTo(1).finally(() => limitTo(memoryLimitMb));
}

/** Options of `publishAnalytics`. */
export interface PublishOptions {
  /** Returns rows that the replica must not contain; if it returns null, nothing is published. Default: no rows. */
  readonly find?: (query: Query) => Promise<readonly HiddenRows[] | null>;
  /** Tables of which only changed days are written again; default: none. */
  readonly timed?: readonly TimedTable[];
  /** Size of the warehouse in bytes from which this is done; default: 32 MiB. */
  readonly bytesLeast?: number;
}

/**
 * Publishes the replica: writes a copy of the warehouse to a temporary file and renames it into place, so that readers always
 * find a complete file. The replica uses DuckDB's default storage version, which older readers understand. Returns whether a replica
 * was published.
 * @throws `warehouse_invalid` if the new replica does not open, `disk_full`; the previous one then stays in place
 */
export function publishAnalytics(database: Database, path: string, options: PublishOptions = {}): Promise<boolean> {
  const need = {
    folder: dirname(path),
    bytes: databaseBytes(database.path),
    by: 'the next replica',
    unchanged: 'the warehouse is complete',
  };
  return withDiskNeed(need, () => writeReplica(database, path, options));
}

/** Kept responses are evidence for the calibration of the warehouse; readers do not need them. */
const KEPT_ANSWERS: HiddenRows = { schema: 'sync', table: 'answers', where: 'true' };

async function writeReplica(
  database: Database,
  path: string,
  { find, timed = [], bytesLeast }: PublishOptions,
): Promise<boolean> {
  const aside = `${path}.new`;
  await removeDatabase(aside);
  await clearSpills(path, Date.now());
  try {
    const written = await database.exclusive(async (session) => {
      const hidden = find === undefined ? [] : await find(session.query);
      if (hidden === null) return null;
      const without = [...hidden, KEPT_ANSWERS];
      return { contents: await writeCopy(session, aside, { before: path, without, timed, bytesLeast }) };
    });
    if (written === null) return false;
    await checkOpens(aside);
    await syncToDisk(aside);
    await publishByRename(aside, path);
    await keepContents(path, written.contents);
    return true;
  } finally {
    await removeDatabase(aside);
  }
}

/** Reports whether the replica opens. A missing, truncated or overwritten file does not. */
export async function opensAsReplica(path: string): Promise<boolean> {
  return checkOpens(path).then(
    () => true,
    () => false,
  );
}

interface ReplicaConnection {
  readonly query: Query;
  readonly read: ReadRows;
  readonly prepared: Query;
  interrupt(): void;
  close(): void;
}

// Interrupts stop the running query. The check before each query stops a task that is between two queries.
async function runWithLimits<T>(
  connection: ReplicaConnection,
  path: string,
  task: ReplicaTask<T>,
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
  const onAbort = (): void => end(signal?.reason);
  const timer = setTimeout(
    () => end(new SightlineError('query_timeout', `the query was stopped after ${timeoutMs / 1000} s`)),
    timeoutMs,
  );
  signal?.addEventListener('abort', onAbort, { once: true });
  const guarded = async <R>(run: () => Promise<R>): Promise<R> => {
    stop.signal.throwIfAborted();
    try {
      return await run();
    } catch (thrown) {
      stop.signal.throwIfAborted();
      throw toReadError(path, thrown) ?? toMemoryError(thrown) ?? thrown;
    }
  };
  try {
    return await task(
      (sql, parameters) => guarded(() => connection.query(sql, parameters)),
      (sql) => guarded(() => connection.read(sql)),
      (sql, parameters) => guarded(() => connection.prepared(sql, parameters)),
    );
  } finally {
    clearTimeout(timer);
    clearInterval(interrupts);
    signal?.removeEventListener('abort', onAbort);
  }
}

function createConnection(connection: DuckDBConnection): ReplicaConnection {
  const statements = new Map<string, DuckDBPreparedStatement>();
  const prepare = async (sql: string): Promise<DuckDBPreparedStatement> => {
    const known = statements.get(sql);
    const statement = known ?? (await connection.prepare(sql));
    // Reinserting moves the statement to the end of the map, so the first entry is the least recently used.
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
      const statement = await connection.prepare(sql);
      try {
        return await runPrepared(statement, parameters);
      } finally {
        statement.destroySync();
      }
    },
    prepared: async (sql, parameters = []) => runPrepared(await prepare(sql), parameters),
    read: async (sql) => {
      const reader = await connection.runAndReadAll(sql);
      const types = reader.columnTypes();
      const columns = reader.columnNames().map((name, index) => ({ name, type: String(types[index]) }));
      return { columns, rows: reader.getRows().map((row) => row.map(toPlain)) };
    },
    interrupt: () => connection.interrupt(),
    close: () => {
      for (const statement of statements.values()) statement.destroySync();
      connection.closeSync();
    },
  };
}

async function runPrepared(statement: DuckDBPreparedStatement, parameters: readonly Parameter[]): Promise<unknown[][]> {
  for (const [index, value] of parameters.entries()) bindValue(statement, index + 1, value);
  return toSimpleRows((await statement.runAndReadAll()).getRows());
}
