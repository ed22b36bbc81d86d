import { createHash } from 'node:crypto';
import type { ResultRow, Session } from '../../warehouse/database.ts';
import { quoted } from '../../warehouse/schema.ts';
import type { ExportedTable } from './exported-table.ts';

/** Hex digits of a fingerprint. */
const DIGITS = 32;

/** Columns of the rows to summarize. */
type Columns = Pick<ExportedTable, 'columns' | 'time'>;

/** Order-independent summary of rows: their number, the range of their time, and their combined hashes. */
export interface Sums {
  readonly rows: number;
  /** ISO 8601 with microseconds; null without rows or without a time. */
  readonly min: string | null;
  readonly max: string | null;
  /** Sum (an integer of up to 128 bits) and exclusive or of the rows' hashes, as text. */
  readonly sum: string;
  readonly xor: string;
}

/**
 * SQL columns that summarize rows of `hashedSql`: rows, min, max, sum, xor.
 *
 * Every column of a row goes into a 64-bit hash. The hashes are combined by sum and by exclusive or, which do not
 * depend on the order of rows; the sum counts duplicate rows. A changed row keeps its hash in one case of 2^64, and
 * several changes would have to cancel out in both. For 10^9 changes, a changed file is taken as unchanged with a
 * probability below 10^-10, far below the error rate of disks. Values that SQL treats as equal, such as 0.0 and -0.0,
 * have the same hash.
 */
export const sumsSql = `CAST(count(*) AS BIGINT) AS rows, ${shown('min(moment)')} AS min, ${shown('max(moment)')} AS max,
  CAST(coalesce(sum(hash), 0) AS VARCHAR) AS sum, CAST(coalesce(bit_xor(hash), 0) AS VARCHAR) AS xor`;

/**
 * SQL that returns `moment` (the row's time) and `hash` for the rows of a source. The source has the table's columns in
 * the types of the warehouse or of a Parquet file, where ids are text. Ids are hashed as text, because parsing them
 * takes far longer than formatting them.
 */
export function hashedSql(table: Columns, source: string, where = ''): string {
  const moment = table.time === undefined ? 'NULL::TIMESTAMP' : quoted(table.time);
  return `SELECT ${moment} AS moment, hash(${table.columns.map(comparable).join(', ')}) AS hash FROM ${source} ${where}`;
}

/** Converts a row of `sumsSql`. */
export function toSums(row: ResultRow): Sums {
  const { min, max, sum, xor } = row as unknown as Sums;
  return { rows: Number(row['rows']), min, max, sum, xor };
}

export const NO_ROWS: Sums = { rows: 0, min: null, max: null, sum: '0', xor: '0' };

/** Summarizes the rows of two parts, of which `later` has the later ones. */
export function addSums(earlier: Sums, later: Sums): Sums {
  const sum = String(BigInt(earlier.sum) + BigInt(later.sum));
  const xor = String(BigInt(earlier.xor) ^ BigInt(later.xor));
  return { rows: earlier.rows + later.rows, min: earlier.min, max: later.max, sum, xor };
}

/** Summarizes all rows of a source. */
export async function sumsOf(session: Pick<Session, 'all'>, table: Columns, source: string): Promise<Sums> {
  const [row] = await session.all(`SELECT ${sumsSql} FROM (${hashedSql(table, source)})`);
  return toSums(row ?? {});
}

/** Returns hex digits that are equal for equal rows in the same form: columns, types, comments, options, writer. */
export function fingerprintOf(form: string, { rows, sum, xor }: Sums): string {
  return digestOf([form, rows, sum, xor]);
}

/** Returns hex digits of some values. */
export function digestOf(values: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(values)).digest('hex').slice(0, DIGITS);
}

function comparable({ name, kind }: ExportedTable['columns'][number]): string {
  return kind === 'uuid' || kind === 'json' ? `CAST(${quoted(name)} AS VARCHAR)` : quoted(name);
}

function shown(moment: string): string {
  return `strftime(${moment}, '%Y-%m-%dT%H:%M:%S.%fZ')`;
}
