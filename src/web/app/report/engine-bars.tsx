import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { drawBars } from '../charts/bars.ts';
import type { ChartContext } from '../charts/drawing.ts';
import { ChartFrame } from '../components/chart-frame.tsx';
import { type ColumnSpec, DataTable } from '../components/data-table.tsx';
import { Mark } from '../components/measured.tsx';
import { useMetrics } from '../state/data.tsx';
import { useScope } from '../state/scope.tsx';
import { changeOf, measurementOf } from '../state/series.ts';
import { numberOf, type Row, textOf, toRecords } from '../state/table.ts';

/** Visibility of each engine in the range, with its interval and its change. */
export function EngineBars(): JSX.Element {
  const { params, engineLabel, engineColour } = useScope();
  const data = useMetrics(params && { ...params, metrics: 'visibility', group_by: 'engine', order: 'engine' });
  const rows = useMemo(() => toRecords(data.table), [data.table]);
  const nameOf = (row: Row): string => engineLabel(textOf(row['engine'])) || 'unknown';
  const bars = rows.map((row) => ({
    label: nameOf(row),
    ...measurementOf(row, 'visibility'),
    colour: engineColour(textOf(row['engine'])),
  }));
  const columns: readonly ColumnSpec<Row>[] = [
    { id: 'engine', label: 'Engine', value: nameOf },
    { id: 'visibility', label: 'Visibility', unit: 'ratio', value: (row) => numberOf(row['visibility']) },
    {
      id: 'lower',
      label: 'from',
      about: 'Lower bound of the 95 % interval.',
      unit: 'ratio',
      value: (row) => numberOf(row['visibility_lower']),
    },
    {
      id: 'upper',
      label: 'to',
      about: 'Upper bound of the 95 % interval.',
      unit: 'ratio',
      value: (row) => numberOf(row['visibility_upper']),
    },
    { id: 'n', label: 'n', about: 'Responses.', unit: 'count', value: (row) => numberOf(row['visibility_n']) },
    {
      id: 'change',
      label: 'Change',
      unit: 'ratio',
      value: (row) => changeOf(row, 'visibility').change,
      cell: (row) => <Mark change={changeOf(row, 'visibility')} unit="ratio" isHigherBetter />,
    },
  ];
  return (
    <ChartFrame
      title="Engines"
      about="Visibility by engine in the range of this report, with its 95 % interval."
      data={data}
      draw={(context: ChartContext) => drawBars({ label: 'Visibility by engine', unit: 'ratio', bars }, context)}
      note={
        <DataTable caption="Engines" items={rows} columns={columns} keyOf={(row) => textOf(row['engine'])} isPlain />
      }
    />
  );
}
