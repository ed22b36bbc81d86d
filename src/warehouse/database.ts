import { setTimeout as delay } from 'node:timers/promises';
import {
  type DuckDBConnection,
  DuckDBInstance,
  type DuckDBPreparedStatement,
  type DuckDBValue,
  LIST,
  VARCHAR,
} from '@duckdb/node-api';
import { SightlineError } from '../base/errors.ts';
import { DamagedFile, toDatabaseError, toOpenError } from './errors.ts';
import { registerOpen } from './open-files.ts';

/** How long a lock that a process just killed may linger. */
const LOCK_WAIT_MS = 1_500;
const LOCK_POLL_MS = 100;
const MEMORY_MB_DEFAULT = 512;
/** Closing a file does not write its log into it. */
const NO_LAST_CHECKPOINT = 'PRAGMA disable_checkpoint_on_shutdown';

/** A value that a statement takes. Lists hold text; the statement casts. */
export type Parameter = string | number | boolean | null | readonly string[];

/** A row as DuckDB gives it, by column. */
export type ResultRow = Readonly<Record<string, unknown>>;

/** Runs a query and returns all of its rows, values in the order of the columns; whole numbers as numbers. */
export type Query = (sql: string, parameters?: readonly Parameter[]) => Promise<unknown[][]>;

/** Statements within the transaction that `Database.transaction` has open. */
export interface Session {
  /** Runs a statement; prepared once per text. Returns the number of rows it changed. */
  run(sql: string, parameters?: readonly Parameter[]): Promise<number>;
  /** Runs a query and returns all of its rows. */
  all(sql: string, parameters?: readonly Parameter[]): Promise<ResultRow[]>;
  /** Runs a query and returns all of its rows as lists, whole numbers as numbers. */
  query: Query;
}

/** The one handle of this process on a warehouse file. */
export interface Database {
  readonly path: string;
  /** Runs `work` alone and in one transaction: all of it is committed, or nothing. */
  transaction<T>(work: (session: Session) => Promise<T>): Promise<T>;
  /** Runs `work` alone, outside a transaction: CHECKPOINT, ATTACH. */
  exclusive<T>(work: (session: Session) => Promise<T>): Promise<T>;
  /** The damage that a statement met, or null. From then on all work is refused with it, and nothing is written any more. */
  damage(): DamagedFile | null;
  /** Waits for what is running, writes the log into the file unless that is to be kept, and lets go of it. */
  close(): Promise<void>;
}

/** Settings that trade memory for time. */
export interface DatabaseOptions {
  /** Memory DuckDB may use, in MB; the rest goes to the temporary folder. */
  readonly memoryLimitMb?: number;
  /** Threads DuckDB may use; default one a core. */
  readonly threads?: number;
  /** Folder for what does not fit into memory. */
  readonly temporaryFolder?: string;
  /**
   * Leaves what is committed in the log until somebody writes it into the file by CHECKPOINT, also when the file is closed:
   * for who sends the log away piece by piece.
   */
  readonly keepsLog?: boolean;
  /** Who holds the file, for the message when it is locked. */
  readonly describeOwner?: (pid: number | null) => string;
}

/**
 * Opens, or creates, the warehouse for reading and writing. Throws `warehouse_locked` when another process has it and
 * `warehouse_invalid` (`DamagedFile`) when the file is no DuckDB database or damaged. A second open of one file in this
 * process would lose data without an error, so it throws `warehouse_locked`.
 */
export async function openDatabase(path: string, options: DatabaseOptions = {}): Promise<Database> {
  const release = path === ':memory:' ? () => undefined : registerOpen(path, 'write');
  try {
    const instance = await createInstance(path, options);
    const connection = await instance.connect();
    const log = options.keepsLog === true ? NO_LAST_CHECKPOINT : "SET wal_autocheckpoint = '32MB'";
    await connection.run(`SET TimeZone = 'UTC'; ${log}`);
    return database(path, instance, connection, release);
  } catch (thrown) {
    release();
    throw thrown;
  }
}

function database(path: string, instance: DuckDBInstance, connection: DuckDBConnection, release: () => void): Database {
  let damage: DamagedFile | null = null;
  const session = createSession(connection, path, (found) => {
    if (found.path === path) damage ??= found;
  });
  let turn: Promise<unknown> = Promise.resolve();
  let closed = false;
  const alone = <T>(work: () => Promise<T>): Promise<T> => {
    const mine = turn.then(() => {
      if (closed) throw new SightlineError('internal', 'the warehouse is closed');
      if (damage !== null) throw damage;
      return work();
    });
    turn = mine.catch(() => undefined);
    return mine;
  };
  return {
    path,
    transaction: (work) =>
      alone(async () => {
        await session.run('BEGIN TRANSACTION');
        try {
          const value = await work(session);
          await session.run('COMMIT');
          return value;
        } catch (thrown) {
          await session.run('ROLLBACK').catch(() => undefined);
          throw thrown;
        }
      }),
    exclusive: (work) => alone(() => work(session)),
    damage: () => damage,
    close: async () => {
      await turn;
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

/** Statements on a connection to the database at `path`, each text prepared once. `onDamage` is told of a damaged file. */
export function createSession(
  connection: DuckDBConnection,
  path: string,
  onDamage: (damage: DamagedFile) => void = () => undefined,
): Session & { dispose(): void } {
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
  return {
    run: async (sql, parameters = []) => {
      try {
        // The binding prepares one statement at a time; what takes no values may be several.
        const result =
          parameters.length === 0 ? await connection.run(sql) : await (await prepare(sql, parameters)).run();
        return result.rowsChanged;
      } catch (thrown) {
        throw toError(thrown);
      }
    },
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
        // A statement that is kept keeps the hash tables of its last run, which a sync's memory has no room for.
        statement?.destroySync();
      }
    },
    dispose: () => {
      for (const statement of statements.values()) statement.destroySync();
      statements.clear();
    },
  };
}

/** Rows in which whole numbers are numbers; queries give what JSON could not carry exactly as text. */
export function toSimpleRows(rows: readonly (readonly DuckDBValue[])[]): unknown[][] {
  return rows.map((row) => row.map((value) => (typeof value === 'bigint' ? Number(value) : value)));
}

/** Binds a value to the parameter of that number, counted from 1. */
export function bindValue(statement: DuckDBPreparedStatement, index: number, value: Parameter): void {
  if (value === null) statement.bindNull(index);
  else if (typeof value === 'string') statement.bindVarchar(index, value);
  else if (typeof value === 'boolean') statement.bindBoolean(index, value);
  else if (typeof value === 'number') {
    if (Number.isSafeInteger(value)) statement.bindBigInt(index, BigInt(value));
    else statement.bindDouble(index, value);
  } else statement.bindList(index, value, LIST(VARCHAR));
}

/** Settings with which DuckDB fetches and loads nothing by itself. */
export const NO_EXTENSIONS = { autoinstall_known_extensions: 'false', autoload_known_extensions: 'false' } as const;

async function createInstance(path: string, options: DatabaseOptions): Promise<DuckDBInstance> {
  const settings: Record<string, string> = {
    memory_limit: `${options.memoryLimitMb ?? MEMORY_MB_DEFAULT}MB`,
    ...NO_EXTENSIONS,
    storage_compatibility_version: 'v1.5.0',
    // From the beginning: what is read of a long log is written into the file otherwise.
    ...(options.keepsLog === true ? { checkpoint_threshold: '1TB' } : {}),
    ...(options.threads === undefined ? {} : { threads: String(options.threads) }),
    ...(options.temporaryFolder === undefined ? {} : { temp_directory: options.temporaryFolder }),
  };
  for (let waitedMs = 0; ; waitedMs += LOCK_POLL_MS) {
    try {
      return await DuckDBInstance.create(path, settings);
    } catch (thrown) {
      const error = toOpenError(path, thrown, options);
      if (error.code !== 'warehouse_locked' || waitedMs >= LOCK_WAIT_MS) throw error;
      await delay(LOCK_POLL_MS);
    }
  }
}
