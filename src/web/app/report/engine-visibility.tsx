import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { ChartContext } from '../charts/drawing.ts';
import { drawTimeSeries } from '../charts/time-series.ts';
import { ChartFrame } from '../components/chart-frame.tsx';
import { EventNote, useEvents } from '../pages/overview/events.tsx';
import { grainOf } from '../state/calendar-days.ts';
import { useMetrics } from '../state/data.tsx';
import { useScope } from '../state/scope.tsx';
import { useEngineSeries } from '../state/use-engine-series.ts';

/** Visibility over time with one line per engine, and the events that may explain a jump. */
export function EngineVisibility(): JSX.Element {
  const { params, range, linkTo } = useScope();
  const grain = range === null ? 'day' : grainOf(range.from, range.to);
  const data = useMetrics(
    params === null ? null : { ...params, metrics: 'visibility', group_by: 'engine', grain, compare_to: 'none' },
  );
  const events = useEvents();
  const series = useEngineSeries(data.table, 'visibility');
  const draw = useMemo(
    () => (context: ChartContext) =>
      drawTimeSeries(
        { label: 'Visibility by engine over time', unit: 'ratio', series, events, hasZero: true },
        context,
      ),
    [series, events],
  );
  return (
    <div class="full">
      <ChartFrame
        title="Visibility by engine"
        about={`Share of responses that mention the brand, per ${grain}. Choose an engine in the legend to see its 95 % intervals.`}
        data={data}
        to={linkTo('/prompts')}
        draw={draw}
        legend={series}
        note={<EventNote events={events} />}
      />
    </div>
  );
}
