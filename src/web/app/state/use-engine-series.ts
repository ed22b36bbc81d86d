import { useMemo } from 'preact/hooks';
import type { Series } from '../charts/time-series.ts';
import { useScope } from './scope.tsx';
import { pointOf } from './series.ts';
import { type Table, textOf, toRecords } from './table.ts';

/** Returns one series per engine of a table with the columns `engine` and `period`, in the order of the slugs. */
export function useEngineSeries(table: Table | null, measure: string): readonly Series[] {
  const { engineLabel, engineColour } = useScope();
  return useMemo(() => {
    const rows = toRecords(table);
    const slugs = [...new Set(rows.map(({ engine }) => textOf(engine)))].sort();
    return slugs.map((slug) => ({
      label: engineLabel(slug),
      colour: engineColour(slug),
      points: rows.filter(({ engine }) => engine === slug).map((row) => pointOf(row, measure)),
    }));
  }, [table, measure, engineLabel, engineColour]);
}
