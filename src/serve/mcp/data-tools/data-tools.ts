import type { DataTool } from '../data-tool.ts';
import { explainChange, findOpportunities, whatChanged } from './explain-tools.ts';
import { listDimensionValues, listMetrics, queryMetrics } from './metrics-tools.ts';
import { describeTable, listTables, query } from './sql-tools.ts';

/** The tools beside the endpoints, in the order of lists. */
export const dataTools: readonly DataTool[] = [
  queryMetrics,
  listMetrics,
  listDimensionValues,
  explainChange,
  whatChanged,
  findOpportunities,
  query,
  listTables,
  describeTable,
];
