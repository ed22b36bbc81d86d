import {
  DuckDBArrayValue,
  DuckDBDateValue,
  DuckDBDecimalValue,
  DuckDBListValue,
  DuckDBMapValue,
  DuckDBStructValue,
  DuckDBTimestampMillisecondsValue,
  DuckDBTimestampNanosecondsValue,
  DuckDBTimestampSecondsValue,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  type DuckDBValue,
} from '@duckdb/node-api';
import { SightlineError, toSightlineError } from '../base/errors.ts';
import { toReadError } from './errors.ts';
import { openReadOnly } from './read-only.ts';

/** What the binding says of a text that holds no statement, such as a lone semicolon. */
const SAID_OF_NOTHING = 'Error in native callback';

/** DuckDB's own bound would be most of the machine. */
const MEMORY_LIMIT_MB = 1_000;

/** A query's result, whole. */
export interface QueryResult {
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  /** Values in the columns' order: null, boolean, number, text, or nested arrays and objects of them. */
  readonly rows: readonly (readonly unknown[])[];
}

/** A database opened for reading only. */
export interface Reader {
  /**
   * Runs SQL, one statement or several, and returns the last one's rows; throws `sql_invalid` with DuckDB's message, and
   * `warehouse_invalid` when the file is damaged.
   */
  query(sql: string): Promise<QueryResult>;
  close(): void;
}

/**
 * Opens a DuckDB file read-only, for queries of sightline itself; SQL that a user wrote goes to guarded-sql.ts. Any number of
 * processes may do so while none has the file open for writing; throws `warehouse_locked` when one has.
 */
export async function openReader(path: string): Promise<Reader> {
  const instance = await openReadOnly(path, { memoryLimitMb: MEMORY_LIMIT_MB });
  const connection = await instance.connect();
  await connection.run("SET TimeZone = 'UTC'; SET lock_configuration = true");
  const query = async (sql: string): Promise<QueryResult> => {
    try {
      // Without values, even none, the binding returns the first statement's rows.
      const reader = await connection.runAndReadAll(sql, []);
      const types = reader.columnTypes();
      const columns = reader.columnNames().map((name, index) => ({ name, type: String(types[index]) }));
      return { columns, rows: reader.getRows().map((row) => row.map(toPlain)) };
    } catch (thrown) {
      const known = toSightlineError(thrown);
      if (known.code === 'disk_full') throw known;
      const damage = toReadError(path, thrown);
      if (damage !== null) throw damage;
      const said = thrown instanceof Error ? thrown.message : String(thrown);
      const message = said === SAID_OF_NOTHING ? 'the query holds no statement' : said;
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
 * A DuckDB value as JSON has it: numbers while JSON carries them exactly and text beyond, moments as ISO 8601 with Z,
 * days as YYYY-MM-DD, everything without a JSON form as DuckDB writes it.
 */
export function toPlain(value: DuckDBValue): unknown {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : value.toString();
  if (value instanceof DuckDBDecimalValue) return toExactNumber(value);
  if (value instanceof DuckDBDateValue) return value.toString();
  if (isMoment(value)) return toIsoTime(value);
  if (value instanceof DuckDBListValue || value instanceof DuckDBArrayValue) return value.items.map(toPlain);
  if (value instanceof DuckDBStructValue) {
    return Object.fromEntries(Object.entries(value.entries).map(([name, inner]) => [name, toPlain(inner)]));
  }
  if (value instanceof DuckDBMapValue) {
    return value.entries.map((entry) => ({ key: toPlain(entry.key), value: toPlain(entry.value) }));
  }
  return value.toString();
}

type Moment = Extract<DuckDBValue, { readonly isFinite: boolean }>;

// With a time zone, the binding would write the machine's own; the moment itself is in UTC.
function toIsoTime(value: Moment): string {
  const text = (value instanceof DuckDBTimestampTZValue ? new DuckDBTimestampValue(value.micros) : value).toString();
  return /^\d{4,}-\d{2}-\d{2} [\d:.]+$/.test(text) ? `${text.replace(' ', 'T')}Z` : text;
}

// Up to 15 digits a double gives back what was put in.
function toExactNumber(value: DuckDBDecimalValue): number | string {
  const text = value.toString();
  return text.replace(/[-.]/g, '').replace(/^0+/, '').length <= 15 ? Number(text) : text;
}

function isMoment(value: object): value is Moment {
  return (
    value instanceof DuckDBTimestampValue ||
    value instanceof DuckDBTimestampTZValue ||
    value instanceof DuckDBTimestampSecondsValue ||
    value instanceof DuckDBTimestampMillisecondsValue ||
    value instanceof DuckDBTimestampNanosecondsValue
  );
}
