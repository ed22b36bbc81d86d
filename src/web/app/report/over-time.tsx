import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { drawStackedArea } from '../charts/stacked-area.ts';
import { SeriesFrame } from '../components/series-frame.tsx';
import { type LoadedTable, useMetrics, useQuery } from '../state/data.tsx';
import { useScope } from '../state/scope.tsx';
import { pointOf } from '../state/series.ts';
import { numberOf, textOf, toRecords } from '../state/table.ts';

const LABELS = ['positive', 'neutral', 'negative'] as const;

/** Visibility over all engines. */
export function VisibilityOverTime(): JSX.Element {
  const { params, brand, grain } = useScope();
  const data = useMetrics(params && { ...params, metrics: 'visibility', grain, compare_to: 'none' });
  return (
    <LineFrame
      title="Visibility over time"
      about={`Share of responses that mention the brand, per ${grain}, with its 95 % interval.`}
      data={data}
      measure="visibility"
      name={brand?.name ?? ''}
      unit="ratio"
    />
  );
}

/** Sessions that AI assistants referred, which the filters on responses do not change. */
export function SessionsOverTime(): JSX.Element {
  const { params, grain } = useScope();
  const { brand = null, from = null, to = null } = params ?? {};
  const data = useMetrics(params && { brand, from, to, metrics: 'ai_sessions', grain, compare_to: 'none' });
  return (
    <LineFrame
      title="Visits from AI assistants"
      about={`Sessions that AI assistants referred, per ${grain}.`}
      data={data}
      measure="ai_sessions"
      name="Sessions"
      unit="count"
      empty="No visits are reported. Connect the analytics property in the app."
    />
  );
}

interface LineFrameProps {
  readonly title: string;
  readonly about: string;
  readonly data: LoadedTable;
  readonly measure: string;
  readonly name: string;
  readonly unit: 'ratio' | 'count';
  readonly empty?: string;
}

function LineFrame({ measure, name, ...frame }: LineFrameProps): JSX.Element {
  const { table } = frame.data;
  const series = useMemo(
    () => [{ label: name, colour: 0, points: toRecords(table).map((row) => pointOf(row, measure)) }],
    [table, measure, name],
  );
  return <SeriesFrame {...frame} series={series} />;
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
