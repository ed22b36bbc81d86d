import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { drawBars } from '../charts/bars.ts';
import type { ChartContext } from '../charts/drawing.ts';
import { ChartFrame } from '../components/chart-frame.tsx';
import { DataTable } from '../components/data-table.tsx';
import { SeriesFrame } from '../components/series-frame.tsx';
import type { GivenColumn } from '../components/table-columns.tsx';
import { EventNote, useEvents } from '../pages/overview/events.tsx';
import { useMetrics } from '../state/data.tsx';
import { useScope } from '../state/scope.tsx';
import { measurementOf } from '../state/series.ts';
import { textOf, toRecords } from '../state/table.ts';
import { useEngineSeries } from '../state/use-engine-series.ts';

/** Visibility over time with one line per engine, and the events that may explain a jump. */
export function EngineVisibility(): JSX.Element {
  const { params, grain, linkTo } = useScope();
  const data = useMetrics(
    params === null ? null : { ...params, metrics: 'visibility', group_by: 'engine', grain, compare_to: 'none' },
  );
  const events = useEvents();
  const series = useEngineSeries(data.table, 'visibility');
  return (
    <SeriesFrame
      title="Visibility by engine"
      about={`Share of responses that mention the brand, per ${grain}. Choose an engine in the legend to see its 95 % intervals.`}
      data={data}
      to={linkTo('/prompts')}
      unit="ratio"
      series={series}
      events={events}
      note={<EventNote events={events} />}
    />
  );
}

const COLUMNS: readonly GivenColumn[] = [
  'engine',
  'visibility',
  { name: 'visibility_n', label: 'n', about: 'Responses.', unit: 'count' },
  { name: 'visibility_change', label: 'Change' },
];

/** Visibility of each engine in the range, with its interval and its change. */
export function EngineBars(): JSX.Element {
  const { params, engineLabel, engineColour } = useScope();
  const data = useMetrics(params && { ...params, metrics: 'visibility', group_by: 'engine', order: 'engine' });
  const rows = useMemo(() => toRecords(data.table), [data.table]);
  const bars = rows.map((row) => ({
    label: engineLabel(textOf(row['engine'])) || 'unknown',
    ...measurementOf(row, 'visibility'),
    colour: engineColour(textOf(row['engine'])),
  }));
  return (
    <ChartFrame
      title="Engines"
      about="Visibility by engine in the range of this report, with its 95 % interval."
      data={data}
      draw={(context: ChartContext) => drawBars({ label: 'Visibility by engine', unit: 'ratio', bars }, context)}
      note={<DataTable caption="Engines" rows={rows} columns={COLUMNS} />}
    />
  );
}
