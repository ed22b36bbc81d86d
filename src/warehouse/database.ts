import { setTimeout as delay } from 'node:timers/promises';
import type { DuckDBConnection, DuckDBInstance, DuckDBPreparedStatement, DuckDBValue } from '@duckdb/node-api';
import { SightlineError } from '../base/errors.ts';
import { createCommitGroups, type WriteAll } from './commit-groups.ts';
import { duckdb } from './duckdb.ts';
import { DamagedFile, toDatabaseError, toOpenError } from './errors.ts';
import { registerOpen } from './file/open-files.ts';

/** Time to wait for the lock of a process that was just killed. */
const LOCK_WAIT_MS = 1_500;
const LOCK_POLL_MS = 100;
const MEMORY_MB_DEFAULT = 512;
/** Keeps DuckDB from writing the log into a damaged file on close. */
const NO_LAST_CHECKPOINT = 'PRAGMA disable_checkpoint_on_shutdown';

/** A value of a statement parameter. Lists contain text; the statement casts it. */
export type Parameter = string | number | boolean | null | readonly string[];

/** A row by column name, values as DuckDB returns them. */
export type ResultRow = Readonly<Record<string, unknown>>;

/** Runs a query and returns all rows, values in column order; integers are numbers. */
export type Query = (sql: string, parameters?: readonly Parameter[]) => Promise<unknown[][]>;

/** Runs statements; within `Database.transaction` and `Database.readTogether`, in a transaction. */
export interface Session {
  /** Runs a statement, prepared once per text. Returns the number of changed rows. */
  run(sql: string, parameters?: readonly Parameter[]): Promise<number>;
  /** Adds rows of list parameter $1 to an INSERT that `flush` or the end of the transaction runs once for all of them. */
  append(sql: string, rows: readonly string[]): void;
  /** Inserts the appended rows, so that later statements find them. */
  flush(): Promise<void>;
  /** Runs a query and returns all rows. */
  all(sql: string, parameters?: readonly Parameter[]): Promise<ResultRow[]>;
  /** Runs a query and returns all rows as lists; integers are numbers. */
  query: Query;
}

/** The only handle of this process on a warehouse file. */
export interface Database {
  readonly path: string;
  /** Runs `work` exclusively in a transaction: commits if it succeeds, rolls back if it throws. */
  transaction<T>(work: (session: Session) => Promise<T>): Promise<T>;
  /**
   * Returns a function that commits a write in one transaction with other writes that wait at the same time, because statements and
   * commits cost more than their rows. It resolves after the commit. If `writeAll` throws, each write runs again in its own transaction:
   * a write can run twice.
   */
  groupCommit<Write, Result>(writeAll: WriteAll<Session, Write, Result>): (write: Write) => Promise<Result>;
  /**
   * Runs `work` exclusively with `count` sessions that can run statements at the same time. Each session has its own transaction. Other
   * work waits until `work` ends, so all sessions see the same rows. `work` must not write.
   */
  readTogether<T>(count: number, work: (sessions: readonly Session[]) => Promise<T>): Promise<T>;
  /** Runs `work` exclusively outside a transaction, for CHECKPOINT or ATTACH. */
  exclusive<T>(work: (session: Session) => Promise<T>): Promise<T>;
  /** Damage found by a statement, or null. Afterwards every call throws it and nothing is written. */
  damage(): DamagedFile | null;
  /** Waits for running work, writes the log into the file, and closes the file. */
  close(): Promise<void>;
}

/** Options of `openDatabase`. */
export interface DatabaseOptions {
  /** Memory that DuckDB may use, in MB; the rest spills to the temporary folder. */
  readonly memoryLimitMb?: number;
  /** Threads that DuckDB may use; default: one per core. */
  readonly threads?: number;
  /** Folder for data that does not fit into memory. */
  readonly temporaryFolder?: string;
  /** Folder in which DuckDB finds extensions that a statement loads. */
  readonly extensionFolder?: string;
}

/**
 * Opens or creates the warehouse for reading and writing.
 * @throws `warehouse_locked` if another process has the file open; `warehouse_invalid` (`DamagedFile`) if the file is
 * damaged or not a DuckDB database; `internal` or `warehouse_locked` if this process has it open, because a second
 * handle would lose data
 */
export async function openDatabase(path: string, options: DatabaseOptions = {}): Promise<Database> {
  const release = path === ':memory:' ? () => undefined : registerOpen(path, 'write');
  try {
    const instance = await createInstance(path, options);
    const connection = await connect(instance);
    await connection.run("SET wal_autocheckpoint = '32MB'");
    return database(path, instance, connection, release);
  } catch (thrown) {
    release();
    throw thrown;
  }
}

async function connect(instance: DuckDBInstance): Promise<DuckDBConnection> {
  const connection = await instance.connect();
  await connection.run("SET TimeZone = 'UTC'");
  return connection;
}

function database(path: string, instance: DuckDBInstance, connection: DuckDBConnection, release: () => void): Database {
  let damage: DamagedFile | null = null;
  const onDamage = (found: DamagedFile): void => {
    if (found.path === path) damage ??= found;
  };
  const session = createSession(connection, path, onDamage);
  let tail: Promise<unknown> = Promise.resolve();
  let closed = false;
  const queue = <T>(work: () => Promise<T>): Promise<T> => {
    const result = tail.then(() => {
      if (closed) throw new SightlineError('internal', 'the warehouse is closed');
      if (damage !== null) throw damage;
      return work();
    });
    tail = result.catch(() => undefined);
    return result;
  };
  const transaction = async <T>(work: (session: Session) => Promise<T>, within: OwnSession = session): Promise<T> => {
    // An earlier write of the same commit group may have found damage.
    if (damage !== null) throw damage;
    await within.run('BEGIN TRANSACTION');
    try {
      const value = await work(within);
      await within.flush();
      await within.run('COMMIT');
      return value;
    } catch (thrown) {
      within.discard();
      await within.run('ROLLBACK').catch(() => undefined);
      throw thrown;
    }
  };
  const groups = createCommitGroups(queue, transaction);
  // Later writes must not join a group that is before this work.
  const enqueue = <T>(work: () => Promise<T>): Promise<T> => {
    groups.end();
    return queue(work);
  };
  const withMore = async <T>(count: number, work: (sessions: readonly Session[]) => Promise<T>): Promise<T> => {
    if (count === 0) return work([]);
    const other = await connect(instance);
    const more = createSession(other, path, onDamage);
    try {
      return await transaction(() => withMore(count - 1, (sessions) => work([more, ...sessions])), more);
    } finally {
      more.dispose();
      other.closeSync();
    }
  };
  return {
    path,
    transaction: (work) => enqueue(() => transaction(work)),
    groupCommit: groups.of,
    readTogether: (count, work) =>
      enqueue(() => transaction(() => withMore(count - 1, (sessions) => work([session, ...sessions])))),
    exclusive: (work) => enqueue(() => work(session)),
    damage: () => damage,
    close: async () => {
      await tail;
      if (closed) return;
      closed = true;
      if (damage !== null) await connection.run(NO_LAST_CHECKPOINT).catch(() => undefined);
      session.dispose();
      connection.closeSync();
      instance.closeSync();
      release();
    },
  };
}

interface OwnSession extends Session {
  /** Discards the appended rows. */
  discard(): void;
  dispose(): void;
}

/** Runs statements on a connection to the database at `path`. Calls `onDamage` if a statement finds damage. */
export function createSession(
  connection: DuckDBConnection,
  path: string,
  onDamage: (damage: DamagedFile) => void = () => undefined,
): OwnSession {
  const toError = (thrown: unknown): SightlineError => {
    const error = toDatabaseError(path, thrown);
    if (error instanceof DamagedFile) onDamage(error);
    return error;
  };
  const statements = new Map<string, DuckDBPreparedStatement>();
  const prepare = async (sql: string, parameters: readonly Parameter[]): Promise<DuckDBPreparedStatement> => {
    let statement = statements.get(sql);
    if (statement === undefined) {
      statement = await connection.prepare(sql);
      statements.set(sql, statement);
    }
    parameters.forEach((value, index) => {
      bindValue(statement, index + 1, value);
    });
    return statement;
  };
  const run: Session['run'] = async (sql, parameters = []) => {
    try {
      // The binding prepares one statement at a time; SQL without parameters may contain several.
      const result = parameters.length === 0 ? await connection.run(sql) : await (await prepare(sql, parameters)).run();
      return result.rowsChanged;
    } catch (thrown) {
      throw toError(thrown);
    }
  };
  const appended = new Map<string, string[]>();
  return {
    run,
    append: (sql, rows) => {
      if (rows.length === 0) return;
      const earlier = appended.get(sql) ?? [];
      appended.set(sql, earlier);
      earlier.push(...rows);
    },
    flush: async () => {
      for (const [sql, rows] of appended) await run(sql, [rows]);
      appended.clear();
    },
    discard: () => appended.clear(),
    all: async (sql, parameters = []) => {
      try {
        const reader =
          parameters.length === 0
            ? await connection.runAndReadAll(sql)
            : await (await prepare(sql, parameters)).runAndReadAll();
        return reader.getRowObjects();
      } catch (thrown) {
        throw toError(thrown);
      }
    },
    query: async (sql, parameters = []) => {
      let statement: DuckDBPreparedStatement | undefined;
      try {
        statement = await connection.prepare(sql);
        for (const [index, value] of parameters.entries()) bindValue(statement, index + 1, value);
        return toSimpleRows((await statement.runAndReadAll()).getRows());
      } catch (thrown) {
        throw toError(thrown);
      } finally {
        // A cached statement keeps the hash tables of its last run, which would exceed the memory limit of a sync.
        statement?.destroySync();
      }
    },
    dispose: () => {
      for (const statement of statements.values()) statement.destroySync();
      statements.clear();
    },
  };
}

/** Converts integers (BigInt) to numbers; queries cast integers that JSON cannot represent exactly to text. */
export function toSimpleRows(rows: readonly (readonly DuckDBValue[])[]): unknown[][] {
  return rows.map((row) => row.map((value) => (typeof value === 'bigint' ? Number(value) : value)));
}

/** Binds a value to a parameter; `index` counts from 1. */
export function bindValue(statement: DuckDBPreparedStatement, index: number, value: Parameter): void {
  if (value === null) statement.bindNull(index);
  else if (typeof value === 'string') statement.bindVarchar(index, value);
  else if (typeof value === 'boolean') statement.bindBoolean(index, value);
  else if (typeof value === 'number') {
    if (Number.isSafeInteger(value)) statement.bindBigInt(index, BigInt(value));
    else statement.bindDouble(index, value);
  } else statement.bindList(index, value, duckdb.LIST(duckdb.VARCHAR));
}

/** Settings that keep DuckDB from downloading and loading extensions. */
export const NO_EXTENSIONS = { autoinstall_known_extensions: 'false', autoload_known_extensions: 'false' } as const;

async function createInstance(path: string, options: DatabaseOptions): Promise<DuckDBInstance> {
  const settings: Record<string, string> = {
    memory_limit: `${options.memoryLimitMb ?? MEMORY_MB_DEFAULT}MB`,
    ...NO_EXTENSIONS,
    storage_compatibility_version: 'v1.5.0',
    ...(options.threads === undefined ? {} : { threads: String(options.threads) }),
    ...(options.temporaryFolder === undefined ? {} : { temp_directory: options.temporaryFolder }),
    ...(options.extensionFolder === undefined ? {} : { extension_directory: options.extensionFolder }),
  };
  for (let waitedMs = 0; ; waitedMs += LOCK_POLL_MS) {
    try {
      return await duckdb.DuckDBInstance.create(path, settings);
    } catch (thrown) {
      const error = toOpenError(path, thrown);
      if (error.code !== 'warehouse_locked' || waitedMs >= LOCK_WAIT_MS) throw error;
      await delay(LOCK_POLL_MS);
    }
  }
}
