import type { ModelColumn } from '../../analytics/model/dimensions.ts';
import type { Catalogue } from '../../contract/catalogue.ts';
import type { ServedReplica } from '../open-replica.ts';

/** A result of the metrics layer or of a declared query, as pages and programs get it. */
export interface TableResult {
  readonly name: string;
  readonly about: string;
  /** Columns with their SQL types. */
  readonly columns: readonly ModelColumn[];
  /** Values in column order: days as `YYYY-MM-DD`, times as ISO 8601 in UTC, JSON parsed. */
  readonly rows: readonly (readonly unknown[])[];
  /** SQL that returns the same rows from the replica, except the items of resources, with the parameters as literals. */
  readonly sql: string;
  /** When the data were last read from upstream, ISO 8601; null if they never were. */
  readonly asOf: string | null;
  /** Last day up to which the responses of the brands were read completely; null if unknown. */
  readonly completeTo: string | null;
  /** Whether days of the range, or of the comparison period, were not read completely. */
  readonly partial: boolean;
  readonly from: string | null;
  readonly to: string | null;
  /** Whether more rows exist than were returned. */
  readonly truncated: boolean;
}

/** Sources of the responses. */
export interface MetricsSource {
  readonly replica: ServedReplica;
  readonly catalogue: Catalogue;
  /** Epoch milliseconds. */
  readonly nowMs: number;
  /** Ids of the brands that the caller may see; all if absent. */
  readonly brands?: readonly string[];
  readonly signal?: AbortSignal;
  /** Called when a step of a long computation has ended. */
  readonly report?: Report;
}

/** Reports progress. `done` increases with each call; `total` is null if the number of steps depends on the data. */
export type Report = (message: string, done: number, total: number | null) => void;

/** Returns the rows with the columns of type JSON parsed. */
export function plainRows(columns: readonly ModelColumn[], rows: readonly (readonly unknown[])[]): unknown[][] {
  const isJson = columns.map(({ type }) => type === 'JSON');
  return rows.map((row) =>
    row.map((value, index) => (isJson[index] === true && typeof value === 'string' ? JSON.parse(value) : value)),
  );
}
