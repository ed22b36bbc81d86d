import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { drawStackedArea } from '../charts/stacked-area.ts';
import { SeriesFrame } from '../components/series-frame.tsx';
import { EventNote, useEvents } from '../pages/overview/events.tsx';
import { useMetrics, useQuery } from '../state/data.tsx';
import { useScope } from '../state/scope.tsx';
import { pointOf } from '../state/series.ts';
import { numberOf, textOf, toRecords } from '../state/table.ts';
import { useEngineSeries } from '../state/use-engine-series.ts';

const LABELS = ['positive', 'neutral', 'negative'] as const;

/** Sessions that AI assistants referred, which the filters on responses do not change. */
export function SessionsOverTime(): JSX.Element {
  const { params, grain } = useScope();
  const { brand = null, from = null, to = null } = params ?? {};
  const data = useMetrics(params && { brand, from, to, metrics: 'ai_sessions', grain, compare_to: 'none' });
  const series = useMemo(
    () => [{ label: 'Sessions', colour: 0, points: toRecords(data.table).map((row) => pointOf(row, 'ai_sessions')) }],
    [data.table],
  );
  return (
    <SeriesFrame
      title="Visits from AI assistants"
      about={`Sessions that AI assistants referred, per ${grain}.`}
      data={data}
      series={series}
      unit="count"
      empty="No visits are reported. Connect the analytics property in the app."
    />
  );
}

/** Sentiment labels of the mentions of the brand. */
export function SentimentOverTime(): JSX.Element {
  const { params } = useScope();
  const data = useQuery('sentiment_labels', params && { ...params, compare_to: 'none' });
  const series = useMemo(() => {
    const rows = toRecords(data.table);
    return LABELS.map((label, index) => ({
      label,
      colour: [0, 2, 1][index] ?? 0,
      points: rows.map((row) => ({ day: textOf(row['period']), value: numberOf(row[label]), n: numberOf(row['n']) })),
    }));
  }, [data.table]);
  return (
    <SeriesFrame
      drawAs={drawStackedArea}
      unit="ratio"
      title="Sentiment labels over time"
      about="Share of the mentions of the brand by sentiment label, per month."
      data={data}
      series={series}
      empty="No mention in these weeks has a sentiment label."
    />
  );
}

/** Visibility over time with one line per engine, and the events that may explain a jump. */
export function EngineVisibility(): JSX.Element {
  const { params, grain, linkTo } = useScope();
  const data = useMetrics(
    params && { ...params, metrics: 'visibility', group_by: 'engine', grain, compare_to: 'none' },
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
