import { createHash, randomUUID } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { SightlineError } from '../../base/errors.ts';
import { brandListOf, type Catalogue } from '../../contract/catalogue.ts';
import type { BrandTables } from '../../warehouse/file/brand-copy.ts';
import type { QueryLimits } from '../../warehouse/sql/guarded-protocol.ts';
import {
  type GuardedOptions,
  type GuardedSql,
  openGuardedSql,
  type QueryHead,
} from '../../warehouse/sql/guarded-sql.ts';
import type { SqlTable } from '../../web/page-data/sql-data.ts';
import { type BrandFiles, createBrandFiles, identityOf, keyOf } from './brand-files.ts';
import { createFairQueue } from './fair-queue.ts';
import { readSqlSchema } from './sql-schema.ts';

/** Limits of a query over the network. Its process may use 1 GB in addition to the memory of the server. */
export const SERVED_LIMITS: QueryLimits = {
  timeoutMs: 10_000,
  memoryMb: 1_024,
  rowsMax: 1_000_000,
  bytesMax: 32 * 1024 ** 2,
};
/** Rows of a page, unless the request gives another limit, and its largest limit. */
export const PAGE_ROWS = 10_000;
export const PAGE_ROWS_MAX = 100_000;
const PAGE_BYTES_MAX = 16 * 1024 ** 2;
const WAITING_MAX = 64;
const WAITING_PER_SESSION_MAX = 8;
/** Open processes: one for all brands, and one for the last set of brands. */
const PROCESSES_MAX = 2;
const IDLE_MS = 300_000;
const ID = /^[\w-]{1,64}$/;

/** The session that asks, and the ids of the brands that it may see; null for all. */
export interface SqlCaller {
  readonly session: string;
  readonly brands: readonly string[] | null;
}

/** A query of a session. */
export interface SqlQuestion {
  readonly sql: string;
  /** Id for `cancel`, unique among the session's queries that have not ended. */
  readonly id?: string | undefined;
  /** Rows of the result; null for the complete result, which must not exceed the limits of the service. */
  readonly rowsMax: number | null;
  /** Returns the complete result as a file of this format, made by the `encoder` of the service; default: rows. */
  readonly format?: string | null | undefined;
}

/** The result of a query. */
export interface SqlResult extends QueryHead {
  /** Time of the query itself, without waiting. */
  readonly elapsedMs: number;
  /** The newest read of upstream in the replica, ISO 8601; null if there is none. */
  readonly asOf: string | null;
  /** The last day that is complete for all brands; null if there is none. */
  readonly completeTo: string | null;
}

/** Guarded SQL for the sessions of a server, on the newest replica. */
export interface SqlService {
  /**
   * Runs statements, see `GuardedSql.head`. Aborting the signal cancels the query.
   *
   * @throws the errors of `GuardedSql`; `query_canceled`, `overloaded`, `no_data`; `invalid_parameter` for the id
   */
  run(caller: SqlCaller, question: SqlQuestion, signal: AbortSignal): Promise<SqlResult>;
  /** Cancels a waiting or running query of the session; false if it has none with this id. */
  cancel(session: string, id: string): boolean;
  /** Describes the tables and views that the caller can query. `version` changes with the replica and the caller's brands. */
  schema(
    caller: SqlCaller,
    signal: AbortSignal,
  ): Promise<{ readonly version: string; readonly tables: readonly SqlTable[] }>;
  close(): Promise<void>;
}

/** Options of `createSqlService`. */
export interface SqlServiceOptions {
  /** Path of the replica, which may not exist yet. */
  readonly path: string;
  readonly catalogue: Catalogue;
  readonly clock: Clock;
  readonly limits?: Partial<QueryLimits>;
  /** Path of the module that encodes files. */
  readonly encoder?: string;
  /** Time after the last query until the process ends. */
  readonly idleMs?: number;
}

/** A process with an open file. */
interface Opened {
  readonly sql: GuardedSql;
  /** Identity of the replica. */
  readonly identity: string;
  readonly asOf: string | null;
  readonly completeTo: string | null;
  tables: readonly SqlTable[] | null;
}

/** Creates the service. It starts no process before the first query. */
export function createSqlService(options: SqlServiceOptions): SqlService {
  const { clock } = options;
  const limits = { ...SERVED_LIMITS, ...options.limits };
  const files = createBrandFiles(options.path, brandTablesOf(options.catalogue));
  const processes = createProcesses(options.path, files, { limits, encoder: options.encoder });
  const queries = new Map<string, AbortController>();
  const stop = new AbortController();
  const turns = createTurns(processes, files, options.idleMs ?? IDLE_MS, stop.signal);
  const { work } = turns;

  const run: SqlService['run'] = async (caller, { sql, id = randomUUID(), rowsMax, format }, signal) => {
    if (!ID.test(id)) {
      throw new SightlineError('invalid_parameter', `id is ${JSON.stringify(id.slice(0, 80))}; allowed: ${ID.source}`);
    }
    const name = nameOf(caller.session, id);
    if (queries.has(name)) throw new SightlineError('invalid_parameter', `a query with the id ${id} has not ended`);
    const cancel = new AbortController();
    queries.set(name, cancel);
    const canceled = canceling(AbortSignal.any([cancel.signal, signal, stop.signal]));
    try {
      return await work(caller, canceled, async (opened) => {
        const startedAt = clock.monotonic();
        const size = {
          rowsMax: rowsMax ?? limits.rowsMax,
          bytesMax: rowsMax === null ? limits.bytesMax : PAGE_BYTES_MAX,
        };
        const head = await opened.sql.head(sql, size, format);
        const elapsedMs = Math.round(clock.monotonic() - startedAt);
        if (rowsMax === null && head.isTruncated) throw tooLarge(limits);
        return { ...head, elapsedMs, asOf: opened.asOf, completeTo: opened.completeTo };
      });
    } finally {
      queries.delete(name);
    }
  };

  return {
    run,
    cancel: (session, id) => {
      const found = queries.get(nameOf(session, id));
      found?.abort();
      return found !== undefined;
    },
    schema: (caller, signal) =>
      work(caller, canceling(AbortSignal.any([signal, stop.signal])), async (opened) => {
        opened.tables ??= await readSqlSchema(opened.sql);
        return { version: versionOf([opened.identity, caller.brands]), tables: opened.tables };
      }),
    close: async () => {
      stop.abort();
      await turns.end();
      await files.close();
    },
  };
}

interface Turns {
  /** Calls `use` with the caller's file when it is its turn. Aborting the signal ends the wait, or the running query. */
  work<T>(caller: SqlCaller, signal: AbortSignal, use: (opened: Opened) => Promise<T>): Promise<T>;
  /** Waits for the running query, and ends the processes. */
  end(): Promise<void>;
}

function createTurns(processes: Processes, files: BrandFiles, idleMs: number, stop: AbortSignal): Turns {
  const queue = createFairQueue({ waitingMax: WAITING_MAX, waitingPerSessionMax: WAITING_PER_SESSION_MAX });
  let idle: NodeJS.Timeout | undefined;

  const work = async <T>(caller: SqlCaller, signal: AbortSignal, use: (opened: Opened) => Promise<T>): Promise<T> => {
    // Before the query waits, because copying a large replica takes longer than a query may.
    if (caller.brands !== null) await files.take(caller.brands);
    return queue.run(caller.session, signal, async () => {
      clearTimeout(idle);
      try {
        const opened = await processes.open(caller.brands);
        signal.throwIfAborted();
        const interrupt = (): void => opened.sql.interrupt();
        signal.addEventListener('abort', interrupt, { once: true });
        try {
          return await use(opened);
        } finally {
          signal.removeEventListener('abort', interrupt);
        }
      } catch (thrown) {
        signal.throwIfAborted();
        throw thrown;
      } finally {
        idle = setTimeout(() => void queue.run('', stop, processes.close).catch(() => undefined), idleMs).unref();
      }
    });
  };
  return {
    work,
    end: async () => {
      await queue.run('', new AbortController().signal, processes.close);
      clearTimeout(idle);
    },
  };
}

interface Processes {
  /** Opens a file; must not be called again before it has ended. */
  open(brands: readonly string[] | null): Promise<Opened>;
  close(): Promise<void>;
}

/** How files are opened. */
type How = Pick<GuardedOptions, 'limits' | 'encoder'>;

function createProcesses(path: string, files: BrandFiles, how: How): Processes {
  /** By brands, the least recently used first. */
  const opened = new Map<string, Opened>();
  const closeOne = (key: string): void => {
    opened.get(key)?.sql.close();
    opened.delete(key);
  };
  const open: Processes['open'] = async (brands) => {
    const key = keyOf(brands);
    const file = brands === null ? { path, identity: await identityOf(path) } : await files.take(brands);
    const known = opened.get(key);
    if (known?.identity === file.identity) {
      opened.delete(key);
      opened.set(key, known);
      return known;
    }
    closeOne(key);
    const [oldest] = opened.size >= PROCESSES_MAX ? opened.keys() : [];
    if (oldest !== undefined) closeOne(oldest);
    await files.keep([...opened.keys(), key]);
    const sql = await openReplica(file.path, how);
    const fresh = { sql, identity: file.identity, tables: null, ...(await readTimes(sql)) };
    opened.set(key, fresh);
    return fresh;
  };
  return {
    open,
    close: async () => {
      for (const key of [...opened.keys()]) closeOne(key);
      await files.keep([]);
    },
  };
}

async function openReplica(path: string, how: How): Promise<GuardedSql> {
  try {
    return await openGuardedSql(path, { audience: 'remote', ...how });
  } catch (thrown) {
    if (!(thrown instanceof SightlineError) || thrown.code !== 'warehouse_invalid') throw thrown;
    const message = 'the replica is damaged; the next sync or `sightline export` replaces it';
    throw new SightlineError('no_data', message, { cause: thrown });
  }
}

async function readTimes(sql: GuardedSql): Promise<Pick<Opened, 'asOf' | 'completeTo'>> {
  const completeTo = '(SELECT min(complete_to) FROM mart.periods)';
  const [times] = await sql.query(`SELECT (SELECT max(closed_at) FROM sync.coverage), ${completeTo}`);
  const [asOf = null, until = null] = (times?.rows[0] ?? []) as (string | null)[];
  return { asOf, completeTo: until };
}

// Lists of allowed values, such as engines, are the same for all brands.
function brandTablesOf(catalogue: Catalogue): BrandTables {
  const lists = catalogue.resources.flatMap(({ query }) =>
    Object.values(query).flatMap(({ oneOf }) => (oneOf === undefined ? [] : [oneOf.resource])),
  );
  const tableOf = (resource: string): string => catalogue.get(resource).derived[0]?.name ?? '';
  return { brands: tableOf(brandListOf(catalogue).name), shared: [...new Set(lists)].map(tableOf) };
}

function canceling(signal: AbortSignal): AbortSignal {
  const canceled = new AbortController();
  const abort = (): void => canceled.abort(new SightlineError('query_canceled', 'the query was canceled'));
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, { once: true });
  return canceled.signal;
}

function nameOf(session: string, id: string): string {
  return JSON.stringify([session, id]);
}

function versionOf(parts: unknown): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);
}

function tooLarge({ rowsMax, bytesMax }: QueryLimits): SightlineError {
  const message = `the result is too large to download; allowed: ${rowsMax} rows and ${bytesMax} bytes as JSON`;
  const hint = 'Select fewer rows or columns, or use `sightline sql --output rows.parquet`.';
  return new SightlineError('query_limit', message, { hint });
}
