import { useMemo } from 'preact/hooks';
import type { Series } from '../charts/time-series.ts';
import { useScope } from './scope.tsx';
import { pointOf, seriesBy } from './series.ts';
import { type Table, textOf, toRecords } from './table.ts';

/** Returns one series per engine of a table with the columns `engine` and `period`. */
export function useEngineSeries(table: Table | null, measure: string): readonly Series[] {
  const { engineLabel, engineColour } = useScope();
  return useMemo(
    () =>
      seriesBy(toRecords(table), 'engine', {
        labelOf: ({ engine }) => engineLabel(textOf(engine)),
        colourOf: engineColour,
        pointOf: (row) => pointOf(row, measure),
      }),
    [table, measure, engineLabel, engineColour],
  );
}
