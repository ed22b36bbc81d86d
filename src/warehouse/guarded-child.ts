// Runs SQL of users in a process of its own: it has no keys, no environment and no file open for writing, and dies alone if
// a query takes too much memory or DuckDB aborts. Its parent, guarded-sql.ts, sends one task at a time.
import {
  type DuckDBConnection,
  type DuckDBMaterializedResult,
  type DuckDBPreparedStatement,
  StatementType,
} from '@duckdb/node-api';
import { SightlineError, toSightlineError } from '../base/errors.ts';
import { isRecord } from '../base/json.ts';
import { toReadError } from './errors.ts';
import type { QueryLimits, Reply, Request } from './guarded-protocol.ts';
import { openReadOnly } from './read-only.ts';
import { toPlain } from './reader.ts';
import { literal, quoted } from './schema.ts';
import { type AllowedStatement, type Audience, allowStatements, type Parse } from './sql-gate.ts';

const INTERRUPT_EVERY_MS = 20;
const MEMORY_EVERY_MS = 100;
/** Memory of Node itself, and the part of the rest that DuckDB's own accounting may use; it does not count single values. */
const NODE_MEMORY_MB = 150;
const DUCKDB_SHARE = 0.7;

interface Opened {
  readonly path: string;
  readonly connection: DuckDBConnection;
  /** Parses, so that what a query leaves in its connection changes nothing. */
  readonly parser: DuckDBConnection;
  readonly audience: Audience;
  readonly limits: QueryLimits;
  readonly output: string | null;
}

let opened: Opened | null = null;

process.on('message', (request: Request) => {
  if (request.kind === 'interrupt') return interrupt();
  void perform(request).then(
    (rows) => send({ kind: 'done', rows }),
    (thrown: unknown) => send(failure(thrown)),
  );
});
// Ctrl-C in a terminal reaches the parent, which decides, and this process.
process.on('SIGINT', () => undefined);
// A query under way would keep this process alive for as long as it takes.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
// On Linux the parent reads it by itself.
if (process.platform !== 'linux') {
  setInterval(() => send({ kind: 'memory', bytes: process.memoryUsage.rss() }), MEMORY_EVERY_MS).unref();
}

let isBusy = false;
let interrupts: NodeJS.Timeout | undefined;

// An interrupt that comes before the query has begun is lost, so it is repeated until the task ends. One that comes after the
// task has ended is dropped.
function interrupt(): void {
  if (!isBusy) return;
  opened?.connection.interrupt();
  interrupts ??= setInterval(() => opened?.connection.interrupt(), INTERRUPT_EVERY_MS);
}

async function perform(request: Exclude<Request, { kind: 'interrupt' }>): Promise<number> {
  isBusy = true;
  try {
    if (request.kind === 'open') {
      opened = await open(request);
      return 0;
    }
    if (opened === null) throw new SightlineError('internal', 'no database is open');
    if (request.kind === 'parquet') return await writeParquet(opened, request.sql);
    return await query(opened, request.sql, request.resultsMax);
  } finally {
    isBusy = false;
    clearInterval(interrupts);
    interrupts = undefined;
  }
}

async function open({ path, audience, limits, output }: Request & { kind: 'open' }): Promise<Opened> {
  const memoryLimitMb = Math.floor((limits.memoryMb - NODE_MEMORY_MB) * DUCKDB_SHARE);
  const instance = await openReadOnly(path, { memoryLimitMb, writable: output === null ? 'none' : { file: output } });
  const connection = await instance.connect();
  await connection.run("SET TimeZone = 'UTC'; SET lock_configuration = true");
  return { path, connection, parser: await instance.connect(), audience, limits, output };
}

async function query(
  { connection, parser, audience, limits }: Opened,
  sql: string,
  resultsMax: number,
): Promise<number> {
  const statements = await allowStatements(sql, audience, parserOf(parser));
  if (statements.length === 0) throw new SightlineError('sql_invalid', 'the query holds no statement');
  const results = statements.filter(({ type }) => type !== 'SET').length;
  if (results > resultsMax) {
    const message = `${results} statements return rows; allowed for this format: ${resultsMax}, beside SET VARIABLE`;
    throw new SightlineError('sql_rejected', message);
  }
  const counted = { rows: 0, bytes: 0 };
  for (const statement of statements) {
    const result = await run(connection, statement);
    if (statement.type !== 'SET') await sendResult(result, limits, counted);
  }
  return counted.rows;
}

// The whole result, because a stream that is interrupted looks like one that has ended.
async function run(connection: DuckDBConnection, statement: AllowedStatement): Promise<DuckDBMaterializedResult> {
  const prepared = await prepareChecked(connection, statement);
  try {
    return await prepared.run();
  } finally {
    prepared.destroySync();
  }
}

async function prepareChecked(
  connection: DuckDBConnection,
  { sql, type }: AllowedStatement,
): Promise<DuckDBPreparedStatement> {
  const extracted = await connection.extractStatements(sql);
  if (extracted.count !== 1) {
    throw new SightlineError('sql_rejected', `DuckDB reads ${extracted.count} statements where one was checked`);
  }
  const prepared = await extracted.prepare(0);
  const found = StatementType[prepared.statementType];
  if (found === type && prepared.parameterCount === 0) return prepared;
  const parameter = prepared.parameterCount > 0 ? prepared.parameterName(1) : null;
  prepared.destroySync();
  if (parameter !== null) {
    const allowed = "values in the text, or SET VARIABLE and getvariable('name')";
    throw new SightlineError('sql_invalid', `the parameter $${parameter} has no value; allowed: ${allowed}`);
  }
  throw new SightlineError('sql_rejected', `${found} is not allowed`);
}

function parserOf(parser: DuckDBConnection): Parse {
  return async (sql) => {
    const reader = await parser.runAndReadAll('SELECT json_serialize_sql($1::VARCHAR)', [sql]);
    const parsed: unknown = JSON.parse(String(reader.getRows()[0]?.[0]));
    // Throws DuckDB's own message, with the place of the mistake, which the parsed form does not have. It comes second because
    // it does more than parse: it reads the files of IMPORT DATABASE.
    if (isRecord(parsed) && parsed['error_type'] === 'parser') await parser.extractStatements(sql);
    return parsed;
  };
}

async function sendResult(
  result: DuckDBMaterializedResult,
  { rowsMax, bytesMax }: QueryLimits,
  counted: { rows: number; bytes: number },
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
  for (let chunk = await result.fetchChunk(); chunk !== null && chunk.rowCount > 0; chunk = await result.fetchChunk()) {
    if (interrupts !== undefined) throw new SightlineError('sql_invalid', 'INTERRUPT Error: Interrupted!');
    const rows = chunk.getRows();
    const json = JSON.stringify(rows.map((row) => row.map(toPlain)));
    counted.bytes += Buffer.byteLength(json);
    if (counted.bytes > bytesMax) {
      throw new SightlineError('query_limit', `the result is larger than ${bytesMax} bytes as JSON`);
    }
    await sent({ kind: 'rows', json });
  }
}

// The statement was parsed by itself as one query, so its text cannot end the parentheses or the COPY around it.
async function writeParquet({ connection, parser, audience, limits, output }: Opened, sql: string): Promise<number> {
  if (output === null) throw new SightlineError('internal', 'the database was opened without a file to write');
  const statements = await allowStatements(sql, audience, parserOf(parser));
  const last = statements.at(-1);
  const others = statements.slice(0, -1).filter(({ type }) => type !== 'SET');
  if (last?.type !== 'SELECT' || others.length > 0) {
    const message = 'parquet takes one statement that returns rows, beside SET VARIABLE, and no EXPLAIN';
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

// Columns that every reader of Parquet takes: no ids of their own type, nothing nested, no time zones, nothing of 128 bits.
function flat(column: string, type: string): string {
  if (/[[(]|^JSON$|^MAP|^UNION/.test(type) && !/^(DECIMAL|ENUM)\(/.test(type))
    return `CAST(to_json(${column}) AS VARCHAR)`;
  if (/^(UUID|INTERVAL|TIME|BIT|ENUM)/.test(type) && !type.startsWith('TIMESTAMP')) return `CAST(${column} AS VARCHAR)`;
  if (/^(HUGEINT|UHUGEINT|UBIGINT)$/.test(type)) return `CAST(${column} AS BIGINT)`;
  if (type.startsWith('DECIMAL')) return `CAST(${column} AS DOUBLE)`;
  if (type === 'TIMESTAMP WITH TIME ZONE') return `CAST(${column} AT TIME ZONE 'UTC' AS TIMESTAMP)`;
  return column;
}

function failure(thrown: unknown): Reply {
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
    // What was freed stays with the allocator, and the next query would have too little.
    return fail('query_limit', `the query needs more memory than is allowed: ${allowed}`, true);
  }
  if (thrown instanceof RangeError) return fail('query_limit', 'a value of the result is too long to be read');
  if (/^(INTERNAL|FATAL) Error|database has been invalidated/i.test(said)) {
    return fail('query_crashed', 'DuckDB failed at this query with an internal error', true);
  }
  if (/^Permission Error/.test(said)) {
    return fail('sql_rejected', 'the query reads or writes a file, or loads an extension, which is not allowed');
  }
  // DuckDB's advice to change a setting cannot be followed here.
  const shown = said
    .replace(/\s*(Stack Trace:|See also https?:|Possible solutions:)[\s\S]*$/, '')
    .replace(/ Use "SET [^"]*"[^.]*\./, '');
  return fail('sql_invalid', shown);
}

function send(reply: Reply): void {
  process.send?.(reply);
}

// Waits until the parent has taken it, so that a large result does not pile up here.
function sent(reply: Reply): Promise<void> {
  return new Promise((resolve, reject) => {
    process.send?.(reply, undefined, undefined, (error) => (error === null ? resolve() : reject(error)));
  });
}
