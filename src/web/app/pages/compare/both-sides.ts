import { useMemo } from 'preact/hooks';
import { type LoadedTable, type MetricsParams, useMetrics } from '../../state/data.tsx';
import { useScope } from '../../state/scope.tsx';
import type { Side } from './sides.ts';

/** The tables of both sides, and both as one table with the side in its first column. */
export interface BothSides {
  readonly a: LoadedTable;
  readonly b: LoadedTable;
  readonly both: LoadedTable;
}

/** Requests measures of both sides. */
export function useBothSides([first, second]: readonly [Side, Side], request: MetricsParams): BothSides {
  const { params } = useScope();
  const a = useMetrics(params && { ...params, ...first.changes, ...request, compare_to: 'none' });
  const b = useMetrics(params && { ...params, ...second.changes, ...request, compare_to: 'none' });
  const both = useMemo<LoadedTable>(() => {
    const error = a.error ?? b.error;
    const isLoading = a.isLoading || b.isLoading;
    const retry = (): void => {
      a.retry();
      b.retry();
    };
    if (a.table === null || b.table === null) return { table: null, error, isLoading, retry };
    const table = {
      ...a.table,
      columns: [{ name: 'side', type: 'VARCHAR', about: 'The compared side.' }, ...a.table.columns],
      rows: [...a.table.rows.map((row) => [first.label, ...row]), ...b.table.rows.map((row) => [second.label, ...row])],
      sql: `-- First side\n${a.table.sql};\n\n-- Second side\n${b.table.sql}`,
    };
    return { table, error, isLoading, retry };
  }, [a, b, first.label, second.label]);
  return { a, b, both };
}
