// Runs user SQL in a separate process without keys, environment or files open for writing. If a query takes too much
// memory or DuckDB aborts, only this process ends. Its parent, guarded-sql.ts, sends one task at a time.
import type { DuckDBConnection, DuckDBInstance, DuckDBMaterializedResult } from '@duckdb/node-api';
import { SightlineError, toSightlineError } from '../../base/errors.ts';
import { toReadError } from '../errors.ts';
import { openReadOnly } from '../file/read-only.ts';
import { toPlain } from '../reader.ts';
import { INSTANT, literal, quoted } from '../schema.ts';
import { type Audience, allowStatements } from './allow-statements.ts';
import { chunksOf, parserOf, prepareChecked, run } from './checked-statements.ts';
import { type Encode, INTERRUPT_EVERY_MS, sendHead } from './guarded-head.ts';
import type { Done, EncodeResult, QueryLimits, Reply, Request } from './guarded-protocol.ts';
import { complete, send, sent } from './guarded-replies.ts';
import { plainError } from './plain-error.ts';

const MEMORY_EVERY_MS = 100;
/**
 * Memory of Node itself, and the share of the rest that DuckDB may use. DuckDB's accounting does not include single
 * values.
 */
const NODE_MEMORY_MB = 150;
const DUCKDB_SHARE = 0.7;

interface Opened {
  readonly path: string;
  readonly instance: DuckDBInstance;
  /** The connection of the running task, for interrupts. */
  running: DuckDBConnection;
  readonly connection: DuckDBConnection;
  /** A separate connection for parsing, unaffected by the state that queries leave behind. */
  readonly parser: DuckDBConnection;
  readonly audience: Audience;
  readonly limits: QueryLimits;
  readonly output: string | null;
  readonly encoder: string | null;
}

answerParent();

function answerParent(): void {
  let opened: Opened | null = null;
  let isBusy = false;
  let interrupts: NodeJS.Timeout | undefined;

  // DuckDB ignores an interrupt that arrives before the query starts, so repeat it until the task ends. An interrupt
  // after the end of the task is dropped.
  const interrupt = (): void => {
    if (!isBusy) return;
    opened?.running.interrupt();
    interrupts ??= setInterval(() => opened?.running.interrupt(), INTERRUPT_EVERY_MS);
  };
  const perform = async (request: Exclude<Request, { kind: 'interrupt' }>): Promise<Done> => {
    isBusy = true;
    try {
      if (request.kind === 'open') {
        opened = await open(request);
        return complete(0);
      }
      if (opened === null) throw new SightlineError('internal', 'no database is open');
      const isInterrupted = (): boolean => interrupts !== undefined;
      if (request.kind === 'parquet') return complete(await writeParquet(opened, request.sql));
      if (request.kind === 'head') return await head(opened, request, isInterrupted);
      return complete(await query(opened, request.sql, request.resultsMax, isInterrupted));
    } finally {
      isBusy = false;
      clearInterval(interrupts);
      interrupts = undefined;
    }
  };

  process.on('message', (request: Request) => {
    if (request.kind === 'interrupt') return interrupt();
    void perform(request).then(
      (done) => send({ kind: 'done', ...done }),
      (thrown: unknown) => send(failure(thrown, opened)),
    );
  });
  // Ctrl-C in a terminal reaches this process too; the parent handles it.
  process.on('SIGINT', () => undefined);
  // A running query would keep this process alive until it ends.
  process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
  // On Linux the parent reads the memory itself.
  if (process.platform !== 'linux') {
    setInterval(() => send({ kind: 'memory', bytes: process.memoryUsage.rss() }), MEMORY_EVERY_MS).unref();
  }
}

async function open({ path, audience, limits, output, encoder }: Request & { kind: 'open' }): Promise<Opened> {
  const memoryLimitMb = Math.floor((limits.memoryMb - NODE_MEMORY_MB) * DUCKDB_SHARE);
  const instance = await openReadOnly(path, { memoryLimitMb, writable: output === null ? 'none' : { file: output } });
  const connection = await instance.connect();
  // Later connections have the time zone too.
  await connection.run("SET GLOBAL TimeZone = 'UTC'; SET TimeZone = 'UTC'; SET lock_configuration = true");
  return {
    path,
    instance,
    connection,
    running: connection,
    parser: await instance.connect(),
    audience,
    limits,
    output,
    encoder,
  };
}

async function query(
  { connection, parser, audience, limits }: Opened,
  sql: string,
  resultsMax: number,
  isInterrupted: () => boolean,
): Promise<number> {
  const statements = await allowStatements(sql, audience, parserOf(parser));
  if (statements.length === 0) throw new SightlineError('sql_invalid', 'the query contains no statement');
  const results = statements.filter(({ type }) => type !== 'SET').length;
  if (results > resultsMax) {
    const message = `${results} statements return rows; allowed for this format: ${resultsMax}, plus any number of SET VARIABLE`;
    throw new SightlineError('sql_rejected', message);
  }
  const counted = { rows: 0, bytes: 0 };
  for (const statement of statements) {
    const result = await run(connection, statement);
    if (statement.type !== 'SET') await sendResult(result, limits, counted, isInterrupted);
  }
  return counted.rows;
}

// Each call has its own connection, because variables are visible to later statements of a connection.
async function head(
  opened: Opened,
  { sql, size, format }: Request & { kind: 'head' },
  isInterrupted: () => boolean,
): Promise<Done> {
  const { limits } = opened;
  const rowsMax = Math.min(size.rowsMax, limits.rowsMax);
  const bytesMax = Math.min(size.bytesMax, limits.bytesMax);
  const statements = await allowStatements(sql, opened.audience, parserOf(opened.parser));
  if (statements.length === 0) throw new SightlineError('sql_invalid', 'the query contains no statement');
  const encode = format === null ? null : await encoderOf(opened, format);
  const connection = await opened.instance.connect();
  opened.running = connection;
  try {
    const last = statements.findLastIndex(({ type }) => type !== 'SET');
    let done = complete(0);
    for (const [index, statement] of statements.entries()) {
      if (statement.type === 'SET') await run(connection, statement);
      else if (index !== last) (await prepareChecked(connection, statement)).destroySync();
      else done = await sendHead(connection, statement, { rowsMax, bytesMax }, { encode, isInterrupted });
    }
    return done;
  } finally {
    opened.running = opened.connection;
    connection.closeSync();
  }
}

async function encoderOf({ encoder }: Opened, format: string): Promise<Encode> {
  if (encoder === null) throw new SightlineError('internal', 'the database was opened without an encoder');
  const { encodeResult } = (await import(encoder)) as { readonly encodeResult: EncodeResult };
  return (result) => encodeResult(format, result);
}

async function sendResult(
  result: DuckDBMaterializedResult,
  { rowsMax, bytesMax }: QueryLimits,
  counted: { rows: number; bytes: number },
  isInterrupted: () => boolean,
): Promise<void> {
  const types = result.columnTypes();
  await sent({
    kind: 'result',
    columns: result.columnNames().map((name, index) => ({ name, type: String(types[index]) })),
  });
  counted.rows += result.rowCount;
  if (counted.rows > rowsMax) {
    throw new SightlineError('query_limit', `the result has ${counted.rows} rows; allowed: ${rowsMax}`);
  }
  for await (const chunk of chunksOf(result)) {
    if (isInterrupted()) throw new SightlineError('sql_invalid', 'INTERRUPT Error: Interrupted!');
    const rows = chunk.getRows();
    const json = JSON.stringify(rows.map((row) => row.map(toPlain)));
    counted.bytes += Buffer.byteLength(json);
    if (counted.bytes > bytesMax) {
      throw new SightlineError('query_limit', `the result is larger than ${bytesMax} bytes as JSON`);
    }
    await sent({ kind: 'rows', json });
  }
}

// The statement was parsed separately as one query, so its text cannot close the parentheses or the COPY around it.
async function writeParquet({ connection, parser, audience, limits, output }: Opened, sql: string): Promise<number> {
  if (output === null) throw new SightlineError('internal', 'the database was opened without a file to write');
  const statements = await allowStatements(sql, audience, parserOf(parser));
  const last = statements.at(-1);
  const others = statements.slice(0, -1).filter(({ type }) => type !== 'SET');
  if (last?.type !== 'SELECT' || others.length > 0) {
    const message = 'Parquet output requires exactly one SELECT as the last statement; allowed before it: SET VARIABLE';
    throw new SightlineError('sql_rejected', message);
  }
  for (const statement of statements.slice(0, -1)) await run(connection, statement);
  const described = await connection.runAndReadAll(`DESCRIBE (${last.sql}\n)`);
  const select = described
    .getRows()
    .map(([name, type]) => `${flat(quoted(String(name)), String(type))} AS ${quoted(String(name))}`);
  const from = `(${last.sql}\n)`;
  const copied = await connection.runAndReadAll(
    `COPY (SELECT ${select.join(', ')} FROM ${from}) TO ${literal(output)} (FORMAT parquet, PARQUET_VERSION v1)`,
  );
  const rows = Number(copied.getRows()[0]?.[0]);
  if (rows > limits.rowsMax) {
    throw new SightlineError('query_limit', `the result has ${rows} rows; allowed: ${limits.rowsMax}`);
  }
  return rows;
}

// Casts columns to types that every Parquet reader supports: no UUIDs, nested types or 128-bit integers.
function flat(column: string, type: string): string {
  if (/[[(]|^JSON$|^MAP|^UNION/.test(type) && !/^(DECIMAL|ENUM)\(/.test(type))
    return `CAST(to_json(${column}) AS VARCHAR)`;
  if (/^(UUID|INTERVAL|TIME|BIT|ENUM)/.test(type) && !type.startsWith('TIMESTAMP')) return `CAST(${column} AS VARCHAR)`;
  if (/^(HUGEINT|UHUGEINT|UBIGINT)$/.test(type)) return `CAST(${column} AS BIGINT)`;
  if (type.startsWith('DECIMAL')) return `CAST(${column} AS DOUBLE)`;
  // As in JSON, a time without a zone is in UTC.
  if (/^TIMESTAMP(_S|_MS)?$/.test(type)) return `CAST(${column} AS ${INSTANT})`;
  return column;
}

function failure(thrown: unknown, opened: Opened | null): Reply {
  const known = toSightlineError(thrown);
  const detail = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
  if (known.code !== 'internal') {
    return { kind: 'failed', code: known.code, message: known.message, isFatal: false, detail };
  }
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  const said = text.replace(/^Failed to extract statements: /, '');
  const fail = (code: string, message: string, isFatal = false): Reply => {
    return { kind: 'failed', code, message, isFatal, detail };
  };
  const damage = opened === null ? null : toReadError(opened.path, thrown);
  if (damage !== null) return fail(damage.code, damage.message, true);
  if (/^Out of Memory Error|^std::bad_alloc|bad allocation/i.test(said)) {
    const allowed = `${opened?.limits.memoryMb ?? 0} MB`;
    // Freed memory stays with the allocator, so the next query would have too little.
    return fail('query_limit', `the query needs more memory than its limit of ${allowed}`, true);
  }
  if (thrown instanceof RangeError) return fail('query_limit', 'a value of the result is too long to read');
  if (/^(INTERNAL|FATAL) Error|database has been invalidated/i.test(said)) {
    return fail('query_crashed', 'DuckDB failed with an internal error while running this query', true);
  }
  if (/^Permission Error/.test(said)) {
    return fail('sql_rejected', 'the query reads or writes a file, or loads an extension, which is not allowed');
  }
  // DuckDB's advice to change a setting cannot be followed here.
  const shown = said
    .replace(/\s*(Stack Trace:|See also https?:|Possible solutions:)[\s\S]*$/, '')
    .replace(/ Use "SET [^"]*"[^.]*\./, '');
  return fail('sql_invalid', plainError(shown));
}
