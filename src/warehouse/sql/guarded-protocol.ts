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
    }
  | { readonly kind: 'query'; readonly sql: string; readonly resultsMax: number }
  | { readonly kind: 'parquet'; readonly sql: string }
  | { readonly kind: 'interrupt' };

/**
 * Replies of the child. For a query, each result as one `result` and any number of `rows`; finally `done` or `failed`.
 */
export type Reply =
  | { readonly kind: 'result'; readonly columns: readonly { readonly name: string; readonly type: string }[] }
  /** Rows of the last result, as the JSON text of a list. */
  | { readonly kind: 'rows'; readonly json: string }
  /** Memory of the child, on systems where the parent cannot read it. */
  | { readonly kind: 'memory'; readonly bytes: number }
  /** `rows`: number of rows written to the file. */
  | { readonly kind: 'done'; readonly rows: number }
  | {
      readonly kind: 'failed';
      readonly code: string;
      readonly message: string;
      /** Whether to replace the child, because the next query might fail because of this one. */
      readonly isFatal: boolean;
      /** DuckDB's complete error, for the log. */
      readonly detail: string;
    };
