import type { Operation } from '../../contract/operation/operation.ts';
import { briefBrand } from './brief-brand.ts';
import { dimensionValues } from './dimension-values.ts';
import { explainMetric, listChanges, listOpportunities } from './explanations.ts';
import { runMetrics } from './run-metrics.ts';
import { type MetricsSource, tableResult } from './table-result.ts';

/** The operations on a replica that have a command, a route and an MCP tool. */
export const dataOperations: readonly Operation<MetricsSource>[] = [
  runMetrics,
  dimensionValues,
  briefBrand,
  explainMetric,
  listChanges,
  listOpportunities,
];

/** Whether the result is a table, of which other formats than JSON have the rows. */
export function hasRowsIn({ output }: Operation<MetricsSource>): boolean {
  return output === tableResult || output === dimensionValues.output;
}
