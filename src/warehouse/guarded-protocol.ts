import type { Audience } from './sql-gate.ts';

/** Least memory of the process, in MB: Node and DuckDB alone take about 150. */
export const MEMORY_MB_MIN = 300;

/** Limits of one query. */
export interface QueryLimits {
  readonly timeoutMs: number;
  /** Memory of the process that runs the query, in MB of 2^20 bytes; at least MEMORY_MB_MIN. */
  readonly memoryMb: number;
  readonly rowsMax: number;
  /** Size of the results as JSON, which the caller keeps in memory. */
  readonly bytesMax: number;
}

/** What the child is asked: first `open`, then one task at a time. `interrupt` ends the task under way. */
export type Request =
  | {
      readonly kind: 'open';
      readonly path: string;
      readonly audience: Audience;
      readonly limits: QueryLimits;
      /** The one file that `parquet` writes; null if the child writes nothing. */
      readonly output: string | null;
    }
  | { readonly kind: 'query'; readonly sql: string; readonly resultsMax: number }
  | { readonly kind: 'parquet'; readonly sql: string }
  | { readonly kind: 'interrupt' };

/** What the child answers: for a query its results, each as `result` and then `rows`; in the end `done` or `failed`. */
export type Reply =
  | { readonly kind: 'result'; readonly columns: readonly { readonly name: string; readonly type: string }[] }
  /** Rows of the last result as JSON text, in a list. */
  | { readonly kind: 'rows'; readonly json: string }
  /** Memory of the child, for systems on which the parent cannot read it. */
  | { readonly kind: 'memory'; readonly bytes: number }
  /** `rows`: rows that were written to the file. */
  | { readonly kind: 'done'; readonly rows: number }
  | {
      readonly kind: 'failed';
      readonly code: string;
      readonly message: string;
      /** Whether the child is to be replaced, because another query might fail through no fault of its own. */
      readonly isFatal: boolean;
      /** The rest of DuckDB's words, for the log. */
      readonly detail: string;
    };
