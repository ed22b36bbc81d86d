import { createHash } from 'node:crypto';
import type { WarehouseTable } from '../contract/catalogue.ts';
import type { Column } from '../contract/tables.ts';
import { quoted } from '../warehouse/schema.ts';

/** Digits of a fingerprint. */
const DIGITS = 32;

/** What is known of some rows without their order: how many, the extremes of their time, and two sums of hashes. */
export interface Sums {
  readonly rows: number;
  /** ISO 8601 with microseconds; null without rows or without a time. */
  readonly min: string | null;
  readonly max: string | null;
  /** Whole numbers of up to 128 bits, as text. */
  readonly forward: string;
  readonly backward: string;
}

/**
 * SQL columns that sum up rows of `hashedSql`: rows, min, max, forward, backward.
 *
 * Every column of a row is hashed, in two orders, and each hash is added up over the rows, so that no order of rows
 * matters and every row counts as often as it is there. A value that changes changes the 64-bit hash of its row but for
 * one case in 2^64; several changes would have to cancel each other out in both sums. Over a thousand million changes that
 * is less than one case in 10^10 that a file stays as it was, which is far below what disks lose. Only what SQL holds to be
 * equal, such as 0.0 and -0.0, hashes alike.
 */
export const sumsSql = `CAST(count(*) AS BIGINT) AS rows, ${shown('min(moment)')} AS min, ${shown('max(moment)')} AS max,
  CAST(coalesce(sum(forward), 0) AS VARCHAR) AS forward, CAST(coalesce(sum(backward), 0) AS VARCHAR) AS backward`;

/** SQL of a table's rows as `moment` (their time) and their two hashes, from a source that has the table's columns. */
export function hashedSql(table: WarehouseTable, source: string, where = ''): string {
  const values = table.columns.map(comparable);
  const moment = table.time === undefined ? 'NULL::TIMESTAMP' : quoted(table.time);
  return `SELECT ${moment} AS moment, hash(${values.join(', ')}) AS forward, hash(${[...values].reverse().join(', ')}) AS backward
    FROM ${source} ${where}`;
}

/** Reads a row of `sumsSql`. */
export function toSums(row: Readonly<Record<string, unknown>>): Sums {
  const text = (name: string): string | null => (row[name] === null ? null : String(row[name]));
  return {
    rows: Number(row['rows']),
    min: text('min'),
    max: text('max'),
    forward: String(row['forward']),
    backward: String(row['backward']),
  };
}

/** Whether two sets of rows are the same as far as their sums tell. */
export function sameSums(a: Sums, b: Sums): boolean {
  const { rows, min, max, forward, backward } = a;
  return rows === b.rows && min === b.min && max === b.max && forward === b.forward && backward === b.backward;
}

/** Hex digits that are equal for equal rows written in the same form: its columns, types, comments, options, writer. */
export function fingerprintOf(form: string, { rows, forward, backward }: Sums): string {
  const parts = JSON.stringify([form, rows, forward, backward]);
  return createHash('sha256').update(parts).digest('hex').slice(0, DIGITS);
}

// Of a file, ids come as text, and nested values without their type.
function comparable({ name, kind }: Column): string {
  if (kind === 'uuid') return `CAST(${quoted(name)} AS UUID)`;
  return kind === 'json' ? `CAST(${quoted(name)} AS VARCHAR)` : quoted(name);
}

function shown(moment: string): string {
  return `strftime(${moment}, '%Y-%m-%dT%H:%M:%S.%fZ')`;
}
