import type { QueryResult } from '../reader.ts';
import type { Audience } from './allow-statements.ts';

/** Minimum memory of the process, in MB: Node and DuckDB alone need about 150. */
export const MEMORY_MB_MIN = 300;

/** Limits of one query. */
export interface QueryLimits {
  readonly timeoutMs: number;
  /** Memory of the process that runs the query, in MB of 2^20 bytes; at least MEMORY_MB_MIN. */
  readonly memoryMb: number;
  readonly rowsMax: number;
  /** Size of the results as JSON; the caller keeps them in memory. */
  readonly bytesMax: number;
}

/** Requests to the child: first `open`, then one task at a time. `interrupt` stops the running task. */
export type Request =
  | {
      readonly kind: 'open';
      readonly path: string;
      readonly audience: Audience;
      readonly limits: QueryLimits;
      /** The only file that `parquet` may write; null if the child writes nothing. */
      readonly output: string | null;
      /** Path of a module that exports `encodeResult`; null if results are not encoded. */
      readonly encoder: string | null;
    }
  | { readonly kind: 'query'; readonly sql: string; readonly resultsMax: number }
  /** Runs the statements on a connection of their own and returns the first rows of the last result, encoded if a format is given. */
  | { readonly kind: 'head'; readonly sql: string; readonly size: HeadSize; readonly format: string | null }
  | { readonly kind: 'parquet'; readonly sql: string }
  | { readonly kind: 'interrupt' };

/** Encodes a result as a file of a format. Throws a SightlineError if it does not fit. */
export type EncodeResult = (format: string, result: QueryResult) => Promise<Uint8Array>;

/** Size of the beginning of a result. */
export type HeadSize = Pick<QueryLimits, 'rowsMax' | 'bytesMax'>;

/** End of a task. */
export interface Done {
  /** Number of rows sent, or written to the file. */
  readonly rows: number;
  /** Whether the result of a `head` has more rows than were sent. */
  readonly isTruncated: boolean;
  /** Number of rows of the complete result of a `head`; null if counting them would take long. */
  readonly rowsTotal: number | null;
}

/**
 * Replies of the child. For a query, each result as one `result` and any number of `rows`; finally `done` or `failed`.
 */
export type Reply =
  | { readonly kind: 'result'; readonly columns: readonly { readonly name: string; readonly type: string }[] }
  /** Rows of the last result, as the JSON text of a list. */
  | { readonly kind: 'rows'; readonly json: string }
  /** The last result as a file. */
  | { readonly kind: 'file'; readonly bytes: Uint8Array }
  /** Memory of the child, on systems where the parent cannot read it. */
  | { readonly kind: 'memory'; readonly bytes: number }
  | ({ readonly kind: 'done' } & Done)
  | {
      readonly kind: 'failed';
      readonly code: string;
      readonly message: string;
      /** Whether to replace the child, because the next query might fail because of this one. */
      readonly isFatal: boolean;
      /** DuckDB's complete error, for the log. */
      readonly detail: string;
    };
