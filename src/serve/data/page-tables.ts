import { upstreamNotes } from '../../analytics/calibration/upstream-notes.ts';
import { toExactJson } from '../../base/json.ts';
import type { ColumnKind } from '../../contract/fields.ts';
import type { dimensionValues } from '../../query/metrics/dimension-values.ts';
import type { explainMetric, listChanges, listOpportunities } from '../../query/metrics/explanations.ts';
import type { runDeclaredQuery } from '../../query/metrics/run-declared.ts';
import type { runMetrics } from '../../query/metrics/run-metrics.ts';
import type { TableResult } from '../../query/metrics/table-result.ts';
import type { ListPage } from '../../query/service.ts';

/** The questions that pages ask about a replica. */
export interface Tables {
  /** Returns the declared queries with their parameters and columns. */
  queries(): unknown;
  /** Returns the measures and dimensions. */
  model(): object;
  readonly upstreamNotes: typeof upstreamNotes;
  readonly runQuery: typeof runDeclaredQuery;
  readonly runMetrics: typeof runMetrics;
  readonly dimensionValues: typeof dimensionValues;
  readonly explainMetric: typeof explainMetric;
  readonly listChanges: typeof listChanges;
  readonly listOpportunities: typeof listOpportunities;
}

/** Loads the metrics layer and the declared queries. */
export async function loadTables(): Promise<Tables> {
  const [{ declaredQueries }, { describeModel }, declared, metrics, values, explanations] = await Promise.all([
    import('../../analytics/queries/declared-queries.ts'),
    import('../../analytics/model/measures.ts'),
    import('../../query/metrics/run-declared.ts'),
    import('../../query/metrics/run-metrics.ts'),
    import('../../query/metrics/dimension-values.ts'),
    import('../../query/metrics/explanations.ts'),
  ]);
  return {
    queries: () =>
      declaredQueries().map(({ name, about, parameters, columns }) => ({ name, about, parameters, columns })),
    model: describeModel,
    upstreamNotes,
    runQuery: declared.runDeclaredQuery,
    runMetrics: metrics.runMetrics,
    dimensionValues: values.dimensionValues,
    explainMetric: explanations.explainMetric,
    listChanges: explanations.listChanges,
    listOpportunities: explanations.listOpportunities,
  };
}

/** Returns the rows of a table as a list, for the formats other than JSON. */
export function toListPage({ columns, rows }: Pick<TableResult, 'columns' | 'rows'>): ListPage {
  const kinds = columns.map(({ type }) => kindOf(type));
  const named = columns.map(({ name }, index) => ({ name, kind: kinds[index] as ColumnKind }));
  const toCell = (value: unknown, index: number): unknown =>
    kinds[index] === 'json' && value !== null && typeof value !== 'string' ? toExactJson(value) : value;
  return {
    get items() {
      return rows.map((row) => Object.fromEntries(columns.map(({ name }, index) => [name, row[index]])));
    },
    rows: { columns: named, rows: () => rows.map((row) => row.map(toCell)) },
  };
}

// Types without an equal kind, such as TIME and INTERVAL, are written as text.
function kindOf(type: string): ColumnKind {
  if (/[[(]/.test(type) && !/^(DECIMAL|ENUM)\(/.test(type)) return 'json';
  if (/^U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?$/.test(type)) return 'integer';
  if (/^(DOUBLE|FLOAT|DECIMAL)/.test(type)) return 'number';
  if (type.startsWith('TIMESTAMP')) return 'timestamp';
  return kinds[type] ?? 'text';
}

const kinds: Readonly<Record<string, ColumnKind>> = { BOOLEAN: 'boolean', DATE: 'day', JSON: 'json', UUID: 'uuid' };
