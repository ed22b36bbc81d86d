import { upstreamNotes } from '../../analytics/calibration/upstream-notes.ts';
import type { dimensionValues } from '../../query/metrics/dimension-values.ts';
import type { explainMetric, listChanges, listOpportunities } from '../../query/metrics/explanations.ts';
import type { runDeclaredQuery } from '../../query/metrics/run-declared.ts';
import type { runMetrics } from '../../query/metrics/run-metrics.ts';

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
