import { z } from 'zod';
import type { Catalogue } from '../../contract/catalogue.ts';
import { day, freshness, type ValueOf } from '../../contract/operation/json-parts.ts';
import { type ModelColumn, modelColumn } from '../../metrics/model/dimensions.ts';
import type { ServedReplica } from '../open-replica.ts';

/** A result of the metrics layer or of a declared query, as pages and programs get it. */
export const tableResult = z.object({
  name: z.string(),
  about: z.string(),
  columns: z.array(modelColumn).describe('columns with their SQL types'),
  rows: z
    .array(z.array(z.unknown()))
    .describe('values in column order: days as YYYY-MM-DD, times as ISO 8601 in UTC, JSON as values'),
  sql: z.string().describe('SQL that returns the same rows from the replica, except the items of resources'),
  ...freshness,
  from: day.nullable(),
  to: day.nullable(),
  notCompared: z
    .string()
    .nullable()
    .describe('why rows have no comparison, for people; null if all have one, or none was requested'),
  truncated: z.boolean().describe('whether more rows exist than were returned'),
});

/** A result of the metrics layer or of a declared query. */
export type TableResult = ValueOf<typeof tableResult>;

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
