import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import PQueue from 'p-queue';
import { type ErrorCode, errorTable, SightlineError } from '../../base/errors.ts';
import { DamagedFile } from '../errors.ts';
import type { QueryResult } from '../reader.ts';
import type { Audience } from './allow-statements.ts';
import type { Done, HeadSize, QueryLimits, Reply, Request } from './guarded-protocol.ts';

// Tests import this file from src, but the child is always the built file, because plain Node cannot run TypeScript.
const CHILD = fileURLToPath(
  new URL(
    import.meta.url.endsWith('.ts') ? '../../../dist/src/warehouse/sql/guarded-child.js' : './guarded-child.js',
    import.meta.url,
  ),
);
/** Limit of queries that wait for the running one. */
const WAITING_MAX = 128;
/** A 20 GB warehouse opens within a second; a 1 GB log takes 10 seconds. */
const OPEN_TIMEOUT_MS = 120_000;
/** Time after an interrupt until the process of a query that has not ended is killed. */
const INTERRUPT_GRACE_MS = 2_000;
/** Interval of memory checks of the child. */
const WATCH_EVERY_MS = 50;
/** Characters kept of the child's standard error. */
const STDERR_MAX = 2_000;
const OUT_OF_MEMORY = /out of memory|std::bad_alloc|cannot allocate memory/i;

/** Options of `openGuardedSql`. */
export interface GuardedOptions {
  readonly audience: Audience;
  readonly limits: QueryLimits;
  /** The only file that `writeParquet` may write. */
  readonly output?: string;
  /** Path of a module that exports `encodeResult`, for `head` with a format. */
  readonly encoder?: string | undefined;
}

/** The first rows of a result. */
export interface QueryHead extends QueryResult {
  readonly isTruncated: boolean;
  /** Number of rows of the complete result; null if it is truncated and counting would take long. */
  readonly rowsTotal: number | null;
  /** The result as a file of the requested format, instead of rows; empty without a format, or if the result is truncated. */
  readonly bytes: Buffer;
}

/**
 * Runs untrusted SQL on one database file. Only read statements are allowed, see allow-statements.ts. They run in a child
 * process without keys, in which DuckDB can open no other file. One query runs at a time. A failed query does not
 * affect the next one.
 * @throws `sql_rejected`, `sql_invalid`, `query_limit`, `query_crashed` or `overloaded` from every query
 */
export interface GuardedSql {
  /**
   * Runs one or more statements and returns every result; SET VARIABLE has none. Rejects the text before it runs if
   * more than `resultsMax` statements return rows.
   *
   * @example const [result] = await sql.query('SELECT count(*) FROM brands', 1);
   */
  query(sql: string, resultsMax?: number): Promise<QueryResult[]>;
  /**
   * Runs statements on a connection of their own, so that variables do not outlive the call, and returns the first rows
   * of the last result. Other statements than SET VARIABLE before it are only checked. The result ends early, at whole
   * rows, if it has more than `rowsMax` rows or is larger than `bytesMax`, both at most the limits of the service. With a format, the
   * child encodes a complete result.
   */
  head(sql: string, size: HeadSize, format?: string | null): Promise<QueryHead>;
  /** Writes the rows of one query to `output` as Parquet with flat columns; returns their number. */
  writeParquet(sql: string): Promise<number>;
  /** Interrupts the running query, which then throws. */
  interrupt(): void;
  close(): void;
}

/**
 * Opens a database file for guarded SQL.
 * @throws errors of opening the file, such as `warehouse_invalid` or `warehouse_locked`
 */
export async function openGuardedSql(path: string, options: GuardedOptions): Promise<GuardedSql> {
  const queue = new PQueue({ concurrency: 1 });
  let worker: Worker | null = await startWorker(path, options);
  let isClosed = false;
  const perform = <T>(work: (worker: Worker) => Promise<T>): Promise<T> => {
    if (queue.size >= WAITING_MAX) {
      return Promise.reject(new SightlineError('overloaded', `${WAITING_MAX} queries are already waiting`));
    }
    return queue.add(async () => {
      if (isClosed) throw new SightlineError('interrupted', 'the database was closed');
      if (worker === null || worker.isOver()) worker = await startWorker(path, options);
      return work(worker);
    });
  };
  return {
    query: (sql, resultsMax = Number.POSITIVE_INFINITY) =>
      perform(async (current) => {
        const { results } = await current.ask({ kind: 'query', sql, resultsMax });
        return results;
      }),
    head: (sql, size, format = null) =>
      perform(async (current) => {
        const { results, file, isTruncated, rowsTotal } = await current.ask({ kind: 'head', sql, size, format });
        return { ...(results[0] ?? { columns: [], rows: [] }), bytes: file, isTruncated, rowsTotal };
      }),
    writeParquet: (sql) => perform(async (current) => (await current.ask({ kind: 'parquet', sql })).rows),
    interrupt: () => worker?.interrupt(),
    close: () => {
      isClosed = true;
      worker?.end();
    },
  };
}

/** The child process with the database open. */
interface Worker {
  ask(request: Task): Promise<Answer>;
  interrupt(): void;
  /** Whether the child has ended or is being killed, so that it accepts no more tasks. */
  isOver(): boolean;
  end(): void;
}

type Task = Exclude<Request, { kind: 'interrupt' }>;

interface Answer extends Done {
  readonly results: QueryResult[];
  readonly file: Buffer;
}

/** The running task. */
interface Pending {
  readonly results: { columns: QueryResult['columns']; rows: unknown[][] }[];
  file: Buffer;
  readonly settle: (outcome: { answer: Answer } | { error: unknown }) => void;
}

async function startWorker(path: string, options: GuardedOptions): Promise<Worker> {
  const file = resolve(path);
  const output = options.output === undefined ? null : resolve(options.output);
  const { audience, limits, encoder = null } = options;
  const worker = createWorker(spawnChild(limits, output !== null), options, file);
  try {
    await worker.ask({ kind: 'open', path: file, audience, limits, output, encoder });
    return worker;
  } catch (thrown) {
    worker.end();
    throw thrown;
  }
}

// The system limits the child's memory to twice its limit, so that a single value cannot exhaust the machine between two
// checks, and DuckDB or a check ends other queries first: an allocation that fails in V8 can also end as SIGSEGV. If the
// shell cannot set the limit, the checks remain. Without output, the file size limit is 0.
function spawnChild({ memoryMb }: QueryLimits, writes: boolean): ChildProcess {
  const bounds = `ulimit -c 0; ulimit -d ${Math.ceil(memoryMb * 2 * 1024)} 2>/dev/null; ${writes ? '' : 'ulimit -f 0;'}`;
  const hasShell = process.platform !== 'win32';
  const [program, args] = hasShell
    ? ['/bin/sh', ['-c', `${bounds} exec "$0" "$@"`, process.execPath, CHILD]]
    : [process.execPath, [CHILD]];
  return spawn(program, args, {
    env: {},
    cwd: '/',
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
}

function createWorker(child: ChildProcess, { limits, audience }: GuardedOptions, path: string): Worker {
  let pending: Pending | null = null;
  let isOver = false;
  const output = followErrors(child);
  /** Reason why this process kills the child; null if the child ended by itself. */
  let verdict: SightlineError | null = null;
  const settle: Pending['settle'] = (outcome) => {
    const current = pending;
    pending = null;
    current?.settle(outcome);
  };
  const kill = (why: SightlineError): void => {
    isOver = true;
    verdict ??= why;
    child.kill('SIGKILL');
  };
  const watch = (bytes: number): void => {
    if (pending === null || bytes <= limits.memoryMb * 1024 ** 2) return;
    kill(needsMore(limits));
  };
  child.on('message', (reply: Reply) => {
    switch (reply.kind) {
      case 'result':
        pending?.results.push({ columns: reply.columns, rows: [] });
        break;
      case 'rows':
        for (const row of JSON.parse(reply.json) as unknown[][]) pending?.results.at(-1)?.rows.push(row);
        break;
      case 'file':
        if (pending !== null) pending.file = Buffer.from(reply.bytes);
        break;
      case 'memory':
        watch(reply.bytes);
        break;
      case 'done':
        settle({ answer: { ...reply, results: pending?.results ?? [], file: pending?.file ?? Buffer.alloc(0) } });
        break;
      case 'failed': {
        const error = failureOf(reply, audience, path);
        if (reply.isFatal) kill(error);
        settle({ error });
      }
    }
  });
  const onEnd = (how: string): void => {
    isOver = true;
    settle({ error: verdict ?? (output.isOutOfMemory ? needsMore(limits) : crashed(how, output.end)) });
  };
  child.once('error', ({ message }) => onEnd(message));
  // After all of the error output has been read.
  child.once('close', (code, signal) => onEnd(signal ?? `exit code ${code}`));
  return {
    ask: (request) =>
      new Promise<Answer>((resolve, reject) => {
        const timer = setTimeout(() => kill(late(request, limits)), timeoutOf(request, limits));
        const watching = setInterval(() => watch(residentBytes(child.pid)), WATCH_EVERY_MS);
        const done: Pending['settle'] = (outcome) => {
          clearTimeout(timer);
          clearInterval(watching);
          if ('error' in outcome) reject(outcome.error);
          else resolve(outcome.answer);
        };
        pending = { results: [], file: Buffer.alloc(0), settle: done };
        if (child.connected) child.send(request, () => undefined);
      }),
    interrupt: () => {
      if (pending === null || isOver) return;
      const interrupted = pending;
      if (child.connected) child.send({ kind: 'interrupt' } satisfies Request, () => undefined);
      setTimeout(() => {
        if (pending === interrupted) kill(new SightlineError('sql_invalid', 'INTERRUPT Error: the query was stopped'));
      }, INTERRUPT_GRACE_MS).unref();
    },
    isOver: () => isOver,
    end: () => kill(new SightlineError('interrupted', 'the database was closed')),
  };
}

function timeoutOf({ kind }: Task, { timeoutMs }: QueryLimits): number {
  return kind === 'open' ? OPEN_TIMEOUT_MS : timeoutMs;
}

/** Keeps the end of the child's error output, and whether V8 or the C++ library ended it for want of memory. */
function followErrors({ stderr }: ChildProcess): { end: string; isOutOfMemory: boolean } {
  const output = { end: '', isOutOfMemory: false };
  stderr?.on('data', (bytes: Buffer) => {
    output.end += bytes.toString();
    output.isOutOfMemory ||= OUT_OF_MEMORY.test(output.end);
    output.end = output.end.slice(-STDERR_MAX);
  });
  return output;
}

function crashed(how: string, output: string): SightlineError {
  const message = `the process that ran the query ended unexpectedly (${how}); the data are unchanged`;
  return new SightlineError('query_crashed', message, { cause: new Error(output) });
}

function needsMore({ memoryMb }: QueryLimits): SightlineError {
  return new SightlineError('query_limit', `the query needs more memory than its limit of ${memoryMb} MB`);
}

function late(task: Task, limits: QueryLimits): SightlineError {
  const limit = `takes longer than its limit of ${timeoutOf(task, limits) / 1000} s`;
  return task.kind === 'open'
    ? new SightlineError('query_crashed', `opening the database ${limit}`)
    : new SightlineError('query_limit', `the query ${limit}`);
}

function failureOf(reply: Extract<Reply, { kind: 'failed' }>, audience: Audience, path: string): SightlineError {
  const code: ErrorCode = reply.code in errorTable ? (reply.code as ErrorCode) : 'internal';
  const cause = new Error(reply.detail);
  if (audience !== 'owner') return new SightlineError(code, withoutPaths(reply.message, path), { cause });
  return code === 'warehouse_invalid'
    ? new DamagedFile(path, reply.message, { cause })
    : new SightlineError(code, reply.message, { cause });
}

// Returns 0 on systems without /proc; there the child reports its memory.
function residentBytes(pid: number | undefined): number {
  try {
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}

/** Replaces the database's path, and anything else that looks like a path, in a message. */
function withoutPaths(message: string, path: string): string {
  return message
    .replaceAll(path, '<database>')
    .replaceAll(dirname(path), '<folder>')
    .replaceAll(/(?<![\w<])(?:[A-Za-z]:)?[\\/][^\s"'`]*[\\/][^\s"'`]*/g, '<path>');
}
