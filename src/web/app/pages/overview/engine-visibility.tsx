import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { ChartContext } from '../../charts/drawing.ts';
import { drawTimeSeries, type EventMark } from '../../charts/time-series.ts';
import { ChartFrame } from '../../components/chart-frame.tsx';
import { grainOf } from '../../state/calendar-days.ts';
import { useMetrics, useQuery } from '../../state/data.tsx';
import { Link } from '../../state/router.tsx';
import { useScope } from '../../state/scope.tsx';
import { textOf, toRecords } from '../../state/table.ts';
import { useEngineSeries } from '../../state/use-engine-series.ts';

const KINDS: Readonly<Record<EventMark['kind'], { readonly symbol: string; readonly label: string }>> = {
  alert: { symbol: '▲', label: 'alert' },
  article: { symbol: '■', label: 'published article' },
  prompts: { symbol: '◆', label: 'change of the set of prompts' },
};

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

function useEvents(): readonly EventMark[] {
  const { params } = useScope();
  const { table } = useQuery('series_events', params);
  return useMemo(
    () =>
      toRecords(table).map((row) => ({
        day: textOf(row['day']),
        kind: textOf(row['kind']) as EventMark['kind'],
        label: textOf(row['sentence']),
      })),
    [table],
  );
}

/** Events that are listed below the chart. */
const LISTED_MAX = 5;

function EventNote({ events }: { readonly events: readonly EventMark[] }): JSX.Element | null {
  const { format, linkTo } = useScope();
  if (events.length === 0) return <p>No alert, published article or change of the set of prompts in this range.</p>;
  const paths = { alert: '/alerts', article: '/content', prompts: '/prompts' } as const;
  const kinds = [...new Set(events.map(({ kind }) => kind))];
  return (
    <>
      <p>
        Marks: {kinds.map((kind) => `${KINDS[kind].symbol} ${KINDS[kind].label}`).join(', ')}.
        {kinds.includes('prompts') &&
          ' A change of the set of prompts changes which responses are counted, and explains many jumps: compare the same prompts before and after it.'}
      </p>
      <ul class="events">
        {events.slice(-LISTED_MAX).map(({ day, kind, label }) => (
          <li key={`${day}${kind}`}>
            <span aria-hidden="true">{KINDS[kind].symbol} </span>
            <Link to={linkTo(paths[kind])}>{format.shortDay(day)}</Link> <span dir="auto">{label}</span>
          </li>
        ))}
        {events.length > LISTED_MAX && <li>{events.length - LISTED_MAX} earlier marks are in the chart.</li>}
      </ul>
    </>
  );
}
