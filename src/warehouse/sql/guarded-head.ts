import type { DuckDBConnection, DuckDBMaterializedResult } from '@duckdb/node-api';
import { SightlineError } from '../../base/errors.ts';
import { type QueryResult, toPlain } from '../reader.ts';
import type { AllowedStatement } from './allow-statements.ts';
import { chunksOf, prepareChecked } from './checked-statements.ts';
import type { Done, HeadSize } from './guarded-protocol.ts';
import { complete, sent } from './guarded-replies.ts';

/** Interval of repeated interrupts, because DuckDB ignores one that arrives before the query starts. */
export const INTERRUPT_EVERY_MS = 20;
/** A result is counted only if its first rows took less than COUNT_IF_UNDER_MS, and for at most COUNT_MS. */
const COUNT_IF_UNDER_MS = 500;
const COUNT_MS = 1_000;
const HEAD = 'SELECT * FROM (';

/** Encodes the rows of a result as a file. */
export type Encode = (result: QueryResult) => Promise<Uint8Array>;

/** Sends the first rows of a result, as a file if `encode` is given. Counts its rows if that is fast. */
export async function sendHead(
  connection: DuckDBConnection,
  statement: AllowedStatement,
  { rowsMax, bytesMax }: HeadSize,
  { encode, isInterrupted }: { readonly encode: Encode | null; readonly isInterrupted: () => boolean },
): Promise<Done> {
  const startedAt = performance.now();
  const { result, names } = await runHead(connection, statement, rowsMax);
  const types = result.columnTypes();
  const columns = names.map((name, index) => ({ name, type: types[index]?.alias ?? String(types[index]) }));
  await sent({ kind: 'result', columns });
  const kept: unknown[][] = [];
  const take = async (plain: readonly unknown[][], texts: readonly string[]): Promise<void> => {
    if (encode === null) await sent({ kind: 'rows', json: `[${texts.join()}]` });
    else kept.push(...plain);
  };
  let [rows, bytes] = [0, 0];
  chunks: for await (const chunk of chunksOf(result)) {
    if (isInterrupted()) throw new SightlineError('sql_invalid', 'INTERRUPT Error: Interrupted!');
    const texts: string[] = [];
    const plain: unknown[][] = [];
    for (const row of chunk.getRows()) {
      const values = row.map(toPlain);
      const text = JSON.stringify(values);
      bytes += Buffer.byteLength(text) + 1;
      if (rows + texts.length === rowsMax || bytes > bytesMax) {
        await take(plain, texts);
        rows += texts.length;
        break chunks;
      }
      texts.push(text);
      plain.push(values);
    }
    rows += texts.length;
    await take(plain, texts);
  }
  const isWhole = rows === result.rowCount;
  // The caller rejects a part of a result.
  if (encode !== null && isWhole) await sent({ kind: 'file', bytes: await encode({ columns, rows: kept }) });
  if (isWhole) return complete(rows);
  if (rows === 0)
    throw new SightlineError('query_limit', `a row of the result is larger than ${bytesMax} bytes as JSON`);
  if (statement.type !== 'SELECT' || result.rowCount <= rowsMax) {
    return { rows, isTruncated: true, rowsTotal: result.rowCount };
  }
  const isCheap = performance.now() - startedAt < COUNT_IF_UNDER_MS;
  return { rows, isTruncated: true, rowsTotal: isCheap ? await count(connection, statement) : null };
}

// The limit keeps the rest of a large result out of memory. The statement itself is prepared first, so that errors quote
// its text, and because a subquery renames repeated columns.
async function runHead(
  connection: DuckDBConnection,
  statement: AllowedStatement,
  rowsMax: number,
): Promise<{ result: DuckDBMaterializedResult; names: string[] }> {
  const whole = await prepareChecked(connection, statement);
  try {
    const names = Array.from({ length: whole.columnCount }, (_, index) => whole.columnName(index));
    if (statement.type !== 'SELECT') return { result: await whole.run(), names };
    const limited = await prepareChecked(connection, {
      sql: `${HEAD}${statement.sql}\n) LIMIT ${rowsMax + 1}`,
      type: 'SELECT',
    });
    try {
      return { result: await limited.run(), names };
    } catch (thrown) {
      throw thrown instanceof Error ? new Error(withoutHead(thrown.message), { cause: thrown }) : thrown;
    } finally {
      limited.destroySync();
    }
  } finally {
    whole.destroySync();
  }
}

// Errors quote the line, with a mark below its column.
function withoutHead(message: string): string {
  const [head, blank] = [HEAD.replaceAll(/[*(]/g, '\\$&'), ' '.repeat(HEAD.length)];
  return message.replace(new RegExp(`^(LINE 1: )${head}(.*\n)${blank}`, 'm'), '$1$2');
}

// Returns null if the count takes longer than COUNT_MS, or is interrupted.
async function count(connection: DuckDBConnection, { sql }: AllowedStatement): Promise<number | null> {
  let interrupts: NodeJS.Timeout | undefined;
  const timer = setTimeout(() => {
    interrupts = setInterval(() => connection.interrupt(), INTERRUPT_EVERY_MS);
  }, COUNT_MS);
  try {
    const reader = await connection.runAndReadAll(`SELECT count(*) FROM (${sql}\n)`);
    return Number(reader.getRows()[0]?.[0]);
  } catch {
    return null;
  } finally {
    clearTimeout(timer);
    clearInterval(interrupts);
  }
}
