import type { DuckDBDecimalValue, DuckDBValue } from '@duckdb/node-api';
import { SightlineError, toSightlineError } from '../base/errors.ts';
import { duckdb } from './duckdb.ts';
import { toReadError } from './errors.ts';
import { openReadOnly } from './file/read-only.ts';

/** The binding's error message for text without a statement, such as a lone semicolon. */
const NO_STATEMENT_MESSAGE = 'Error in native callback';

/** DuckDB's default limit is most of the machine's memory. */
const MEMORY_LIMIT_MB = 1_000;

/** The complete result of a query. */
export interface QueryResult {
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  /** Values in column order: null, boolean, number, text, or nested arrays and objects of these. */
  readonly rows: readonly (readonly unknown[])[];
}

/** A database opened read-only. */
export interface Reader {
  /**
   * Runs one or more SQL statements and returns the rows of the last one.
   * @throws `sql_invalid` with DuckDB's message, and `warehouse_invalid` if the file is damaged
   */
  query(sql: string): Promise<QueryResult>;
  close(): void;
}

/**
 * Opens a DuckDB file read-only for sightline's own queries; SQL written by a user goes to guarded-sql.ts. Any number
 * of processes can read the file as long as none has it open for writing.
 * @throws `warehouse_locked` if a process has the file open for writing
 */
export async function openReader(path: string): Promise<Reader> {
  const instance = await openReadOnly(path, { memoryLimitMb: MEMORY_LIMIT_MB });
  const connection = await instance.connect();
  await connection.run("SET TimeZone = 'UTC'; SET lock_configuration = true");
  const query = async (sql: string): Promise<QueryResult> => {
    try {
      // Without the empty parameter list the binding returns the rows of the first statement.
      const reader = await connection.runAndReadAll(sql, []);
      const types = reader.columnTypes();
      const columns = reader.columnNames().map((name, index) => ({ name, type: String(types[index]) }));
      return { columns, rows: reader.getRows().map((row) => row.map(toPlain)) };
    } catch (thrown) {
      const known = toSightlineError(thrown);
      if (known.code === 'disk_full') throw known;
      const damage = toReadError(path, thrown);
      if (damage !== null) throw damage;
      const text = thrown instanceof Error ? thrown.message : String(thrown);
      const message = text === NO_STATEMENT_MESSAGE ? 'the query contains no statement' : text;
      throw new SightlineError('sql_invalid', message, { cause: thrown });
    }
  };
  return {
    query,
    close: () => {
      connection.closeSync();
      instance.closeSync();
    },
  };
}

/**
 * Converts a DuckDB value to JSON: integers and decimals as numbers if exact and otherwise as text, times as ISO 8601
 * with Z, days as YYYY-MM-DD, and other types as DuckDB prints them.
 */
export function toPlain(value: DuckDBValue): unknown {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : value.toString();
  if (value instanceof duckdb.DuckDBDecimalValue) return toExactNumber(value);
  if (value instanceof duckdb.DuckDBDateValue) return value.toString();
  if (isMoment(value)) return toIsoTime(value);
  if (value instanceof duckdb.DuckDBListValue || value instanceof duckdb.DuckDBArrayValue)
    return value.items.map(toPlain);
  if (value instanceof duckdb.DuckDBStructValue) {
    return Object.fromEntries(Object.entries(value.entries).map(([name, inner]) => [name, toPlain(inner)]));
  }
  if (value instanceof duckdb.DuckDBMapValue) {
    return value.entries.map((entry) => ({ key: toPlain(entry.key), value: toPlain(entry.value) }));
  }
  return value.toString();
}

type Moment = Extract<DuckDBValue, { readonly isFinite: boolean }>;

// The binding prints TIMESTAMPTZ in the machine's time zone, so convert it to a UTC timestamp first.
function toIsoTime(value: Moment): string {
  const text = (
    value instanceof duckdb.DuckDBTimestampTZValue ? new duckdb.DuckDBTimestampValue(value.micros) : value
  ).toString();
  return /^\d{4,}-\d{2}-\d{2} [\d:.]+$/.test(text) ? `${text.replace(' ', 'T')}Z` : text;
}

// A double represents up to 15 digits exactly.
function toExactNumber(value: DuckDBDecimalValue): number | string {
  const text = value.toString();
  return text.replace(/[-.]/g, '').replace(/^0+/, '').length <= 15 ? Number(text) : text;
}

function isMoment(value: object): value is Moment {
  return (
    value instanceof duckdb.DuckDBTimestampValue ||
    value instanceof duckdb.DuckDBTimestampTZValue ||
    value instanceof duckdb.DuckDBTimestampSecondsValue ||
    value instanceof duckdb.DuckDBTimestampMillisecondsValue ||
    value instanceof duckdb.DuckDBTimestampNanosecondsValue
  );
}
