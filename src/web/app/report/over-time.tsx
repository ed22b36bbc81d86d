import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { ChartContext } from '../charts/drawing.ts';
import { drawStackedArea } from '../charts/stacked-area.ts';
import { drawTimeSeries, type Series } from '../charts/time-series.ts';
import { ChartFrame, Frame } from '../components/chart-frame.tsx';
import { EmptyState } from '../components/parts.tsx';
import { grainOf } from '../state/calendar-days.ts';
import { type LoadedTable, useMetrics, useQuery } from '../state/data.tsx';
import { useScope } from '../state/scope.tsx';
import { pointOf } from '../state/series.ts';
import { numberOf, textOf, toRecords } from '../state/table.ts';

const LABELS = ['positive', 'neutral', 'negative'] as const;
/** Owners of cited pages in the order of the model, with the colours of the series. */
const OWNERS = ['owned', 'competitor', 'third party', 'unknown'];

function useGrain(): 'day' | 'week' | 'month' {
  const { range } = useScope();
  return range === null ? 'day' : grainOf(range.from, range.to);
}

/** Visibility over all engines. */
export function VisibilityOverTime(): JSX.Element {
  const { params, brand } = useScope();
  const grain = useGrain();
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
  const { params } = useScope();
  const grain = useGrain();
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

function LineFrame({ title, about, data, measure, name, unit, empty }: LineFrameProps): JSX.Element {
  const draw = useMemo(() => {
    const points = toRecords(data.table).map((row) => pointOf(row, measure));
    const series: readonly Series[] = [{ label: name, colour: 0, points }];
    return (context: ChartContext) => drawTimeSeries({ label: title, unit, series, hasZero: true }, context);
  }, [data.table, measure, name, title, unit]);
  return <ChartFrame title={title} about={about} data={data} draw={draw} {...(empty === undefined ? {} : { empty })} />;
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
    <AreaFrame
      title="Sentiment labels over time"
      about="Share of the mentions of the brand by sentiment label, per month."
      data={data}
      series={series}
      empty="No mention in these weeks has a sentiment label."
    />
  );
}

/** Share of citations by the owner of the cited page. */
export function OwnersOverTime(): JSX.Element {
  const { params } = useScope();
  const grain = useGrain();
  const data = useMetrics(
    params && { ...params, metrics: 'citation_share', group_by: 'owner', grain, compare_to: 'none' },
  );
  const series = useMemo(() => {
    const rows = toRecords(data.table);
    return OWNERS.map((owner, colour) => ({
      label: owner,
      colour,
      points: rows.filter((row) => row['owner'] === owner).map((row) => pointOf(row, 'citation_share')),
    })).filter(({ points }) => points.length > 0);
  }, [data.table]);
  // One part of the whole shows nothing.
  if (series.length === 1 && series[0]?.label === 'unknown') {
    return (
      <Frame title="Cited pages by owner" data={data}>
        <EmptyState>No cited page is known to belong to the brand or to a competitor.</EmptyState>
      </Frame>
    );
  }
  return (
    <AreaFrame
      title="Cited pages by owner"
      about={`Share of citations by the owner of the cited page, per ${grain}.`}
      data={data}
      series={series}
      empty="No response in these weeks cites a page."
    />
  );
}

interface AreaFrameProps {
  readonly title: string;
  readonly about: string;
  readonly data: LoadedTable;
  readonly series: readonly Series[];
  readonly empty: string;
}

function AreaFrame({ title, about, data, series, empty }: AreaFrameProps): JSX.Element {
  const draw = useMemo(
    () => (context: ChartContext) => drawStackedArea({ label: title, unit: 'ratio', series }, context),
    [title, series],
  );
  return <ChartFrame title={title} about={about} data={data} draw={draw} legend={series} empty={empty} />;
}
