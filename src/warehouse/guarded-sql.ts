import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import PQueue from 'p-queue';
import { type ErrorCode, errorTable, SightlineError } from '../base/errors.ts';
import { DamagedFile } from './errors.ts';
import type { QueryLimits, Reply, Request } from './guarded-protocol.ts';
import type { QueryResult } from './reader.ts';
import type { Audience } from './sql-gate.ts';

// Tests import this file from src; the child is always the one that was built, because Node alone does not read TypeScript.
const CHILD = fileURLToPath(
  new URL(
    import.meta.url.endsWith('.ts') ? '../../dist/src/warehouse/guarded-child.js' : './guarded-child.js',
    import.meta.url,
  ),
);
/** Queries that may wait for the one under way. */
const WAITING_MAX = 128;
/** A warehouse of 20 GB opens within a second; its log of 1 GB is read in 10. */
const OPEN_TIMEOUT_MS = 120_000;
/** How long a query may take to end after an interrupt before its process is killed. */
const INTERRUPT_GRACE_MS = 2_000;
/** How often the memory of the child is read. */
const WATCH_EVERY_MS = 50;
/** Characters kept of what the child wrote to its standard error. */
const STDERR_MAX = 2_000;

/** What a service of guarded SQL may do. */
export interface GuardedOptions {
  readonly audience: Audience;
  readonly limits: QueryLimits;
  /** The one file that `writeParquet` writes. */
  readonly output?: string;
}

/**
 * Runs SQL that somebody else wrote, on one database file. Only statements that read are allowed, see sql-gate.ts; they run in
 * a child process without keys, in which DuckDB can open no other file. One query runs at a time. Every query throws
 * `sql_rejected`, `sql_invalid`, `query_limit`, `query_crashed` or `overloaded`; the next query is answered all the same.
 */
export interface GuardedSql {
  /**
   * Runs one statement or several and returns every result; SET VARIABLE has none. `resultsMax` rejects a text of which more
   * statements return rows, before it runs.
   *
   * @example const [result] = await sql.query('SELECT count(*) FROM brands', 1);
   */
  query(sql: string, resultsMax?: number): Promise<QueryResult[]>;
  /** Writes the rows of one query to `output` as Parquet with flat columns; returns how many. */
  writeParquet(sql: string): Promise<number>;
  /** Ends the query under way, which then throws. */
  interrupt(): void;
  close(): void;
}

/**
 * Opens a database file for guarded SQL. Throws what opening the file throws, such as `warehouse_invalid` or
 * `warehouse_locked`.
 */
export async function openGuardedSql(path: string, options: GuardedOptions): Promise<GuardedSql> {
  const queue = new PQueue({ concurrency: 1 });
  let worker: Worker | null = await startWorker(path, options);
  let isClosed = false;
  const perform = <T>(work: (worker: Worker) => Promise<T>): Promise<T> => {
    if (queue.size >= WAITING_MAX) {
      return Promise.reject(new SightlineError('overloaded', `${WAITING_MAX} queries are waiting already`));
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
    writeParquet: (sql) => perform(async (current) => (await current.ask({ kind: 'parquet', sql })).rows),
    interrupt: () => worker?.interrupt(),
    close: () => {
      isClosed = true;
      worker?.end();
    },
  };
}

/** The child, with the database open. */
interface Worker {
  ask(request: Task): Promise<Answer>;
  interrupt(): void;
  /** Whether it has ended, or is about to: it answers nothing more. */
  isOver(): boolean;
  end(): void;
}

type Task = Exclude<Request, { kind: 'interrupt' }>;

interface Answer {
  readonly results: QueryResult[];
  readonly rows: number;
}

/** The task under way. */
interface Pending {
  readonly results: { columns: QueryResult['columns']; rows: unknown[][] }[];
  readonly settle: (outcome: { answer: Answer } | { error: unknown }) => void;
}

async function startWorker(path: string, options: GuardedOptions): Promise<Worker> {
  const file = resolve(path);
  const output = options.output === undefined ? null : resolve(options.output);
  const { audience, limits } = options;
  const worker = createWorker(spawnChild(limits, output !== null), options, file);
  try {
    await worker.ask({ kind: 'open', path: file, audience, limits, output });
    return worker;
  } catch (thrown) {
    worker.end();
    throw thrown;
  }
}

// The system bounds the memory that the child may ask for, so that a single value cannot take what is left of the machine
// between two looks; where the shell cannot set that bound, watching remains. Without output the system lets no file grow.
function spawnChild({ memoryMb }: QueryLimits, writes: boolean): ChildProcess {
  const bounds = `ulimit -c 0; ulimit -d ${Math.ceil(memoryMb * 1024)} 2>/dev/null; ${writes ? '' : 'ulimit -f 0;'}`;
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
  let stderr = '';
  /** Why this process kills the child; null if it dies by itself. */
  let verdict: SightlineError | null = null;
  const hide = (message: string): string => (audience === 'owner' ? message : withoutPaths(message, path));
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
    kill(new SightlineError('query_limit', `the query needs more memory than is allowed: ${limits.memoryMb} MB`));
  };
  child.stderr?.on('data', (bytes: Buffer) => {
    stderr = (stderr + bytes.toString()).slice(-STDERR_MAX);
  });
  child.on('message', (reply: Reply) => {
    switch (reply.kind) {
      case 'result':
        pending?.results.push({ columns: reply.columns, rows: [] });
        break;
      case 'rows':
        for (const row of JSON.parse(reply.json) as unknown[][]) pending?.results.at(-1)?.rows.push(row);
        break;
      case 'memory':
        watch(reply.bytes);
        break;
      case 'done':
        settle({ answer: { results: pending?.results ?? [], rows: reply.rows } });
        break;
      case 'failed': {
        const code: ErrorCode = reply.code in errorTable ? (reply.code as ErrorCode) : 'internal';
        const cause = new Error(reply.detail);
        const isOwners = code === 'warehouse_invalid' && audience === 'owner';
        const error = isOwners
          ? new DamagedFile(path, reply.message, { cause })
          : new SightlineError(code, hide(reply.message), { cause });
        if (reply.isFatal) kill(error);
        settle({ error });
      }
    }
  });
  const onEnd = (how: string): void => {
    isOver = true;
    const crashed = `the process that ran the query ended unexpectedly (${how}); the data are unchanged`;
    settle({ error: verdict ?? new SightlineError('query_crashed', crashed, { cause: new Error(stderr) }) });
  };
  child.once('error', ({ message }) => onEnd(message));
  child.once('exit', (code, signal) => onEnd(signal ?? `exit code ${code}`));
  return {
    ask: (request) =>
      new Promise<Answer>((resolve, reject) => {
        const isOpening = request.kind === 'open';
        const timeoutMs = isOpening ? OPEN_TIMEOUT_MS : limits.timeoutMs;
        const late = new SightlineError(
          isOpening ? 'query_crashed' : 'query_limit',
          `${isOpening ? 'opening the database' : 'the query'} takes longer than is allowed: ${timeoutMs / 1000} s`,
        );
        const timer = setTimeout(() => kill(late), timeoutMs);
        const watching = setInterval(() => watch(residentBytes(child.pid)), WATCH_EVERY_MS);
        const done: Pending['settle'] = (outcome) => {
          clearTimeout(timer);
          clearInterval(watching);
          if ('error' in outcome) reject(outcome.error);
          else resolve(outcome.answer);
        };
        pending = { results: [], settle: done };
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

// 0 on systems where it cannot be read; there the child reports it.
function residentBytes(pid: number | undefined): number {
  try {
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}

/** The message without the database's path, and without anything else that looks like one. */
function withoutPaths(message: string, path: string): string {
  return message
    .replaceAll(path, '<database>')
    .replaceAll(dirname(path), '<folder>')
    .replaceAll(/(?<![\w<])(?:[A-Za-z]:)?[\\/][^\s"'`]*[\\/][^\s"'`]*/g, '<path>');
}
