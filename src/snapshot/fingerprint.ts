import { createHash } from 'node:crypto';
import type { WarehouseTable } from '../contract/catalogue.ts';
import type { Column } from '../contract/tables.ts';
import { quoted } from '../warehouse/schema.ts';

/** Digits of a fingerprint. */
const DIGITS = 32;

/** What is known of some rows without their order: how many, the extremes of their time, and their hashes put together. */
export interface Sums {
  readonly rows: number;
  /** ISO 8601 with microseconds; null without rows or without a time. */
  readonly min: string | null;
  readonly max: string | null;
  /** The sum of the rows' hashes, a whole number of up to 128 bits, and their exclusive or, as text. */
  readonly sum: string;
  readonly xor: string;
}

/**
 * SQL columns that sum up rows of `hashedSql`: rows, min, max, sum, xor.
 *
 * Every column of a row is hashed, and the hashes are put together in two ways that no order of rows matters to; the sum
 * counts every row as often as it is there. A value that changes changes the 64-bit hash of its row but for one case in
 * 2^64; several changes would have to cancel each other out in both. Over a thousand million changes that is less than one
 * case in 10^10 that a file stays as it was, which is far below what disks lose. Only what SQL holds to be equal, such as
 * 0.0 and -0.0, hashes alike.
 */
export const sumsSql = `CAST(count(*) AS BIGINT) AS rows, ${shown('min(moment)')} AS min, ${shown('max(moment)')} AS max,
  CAST(coalesce(sum(hash), 0) AS VARCHAR) AS sum, CAST(coalesce(bit_xor(hash), 0) AS VARCHAR) AS xor`;

/**
 * SQL of a table's rows as `moment` (their time) and their hash, from a source that has the table's columns in the types of
 * the warehouse or in those of a file, which are texts for ids: texts are what is hashed, because to read ids takes far
 * longer than to write them.
 */
export function hashedSql(table: WarehouseTable, source: string, where = ''): string {
  const moment = table.time === undefined ? 'NULL::TIMESTAMP' : quoted(table.time);
  return `SELECT ${moment} AS moment, hash(${table.columns.map(comparable).join(', ')}) AS hash FROM ${source} ${where}`;
}

/** Reads a row of `sumsSql`. */
export function toSums(row: Readonly<Record<string, unknown>>): Sums {
  const text = (name: string): string | null => (row[name] === null ? null : String(row[name]));
  return {
    rows: Number(row['rows']),
    min: text('min'),
    max: text('max'),
    sum: String(row['sum']),
    xor: String(row['xor']),
  };
}

/** Whether two sets of rows are the same as far as their sums tell. */
export function sameSums(a: Sums, b: Sums): boolean {
  const { rows, min, max, sum, xor } = a;
  return rows === b.rows && min === b.min && max === b.max && sum === b.sum && xor === b.xor;
}

/** Hex digits that are equal for equal rows written in the same form: its columns, types, comments, options, writer. */
export function fingerprintOf(form: string, { rows, sum, xor }: Sums): string {
  const parts = JSON.stringify([form, rows, sum, xor]);
  return createHash('sha256').update(parts).digest('hex').slice(0, DIGITS);
}

function comparable({ name, kind }: Column): string {
  return kind === 'uuid' || kind === 'json' ? `CAST(${quoted(name)} AS VARCHAR)` : quoted(name);
}

function shown(moment: string): string {
  return `strftime(${moment}, '%Y-%m-%dT%H:%M:%S.%fZ')`;
}
