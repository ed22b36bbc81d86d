import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { drawStackedArea } from '../charts/stacked-area.ts';
import { BANDS_MAX, drawTimeSeries } from '../charts/time-series.ts';
import { useMetrics } from '../state/data.tsx';
import { useScope } from '../state/scope.tsx';
import { pointOf, seriesBy } from '../state/series.ts';
import { textOf, toRecords } from '../state/table.ts';
import { SeriesFrame, type SeriesFrameProps } from './series-frame.tsx';

export interface MeasureOverTimeProps extends Pick<
  SeriesFrameProps,
  'title' | 'events' | 'to' | 'linkLabel' | 'empty'
> {
  /** One sentence; the length of the periods is added. */
  readonly about: string;
  /** A share of responses, mentions or citations. */
  readonly measure: string;
  readonly groupBy: string;
  /** Column that identifies a group, and the column with its name. */
  readonly idColumn: string;
  readonly labelColumn: string;
  /** Index of the series colour of a group; null for groups that are not drawn. Memoise it. */
  readonly colourOf: (id: string | null) => number | null;
  /** Draws parts of a whole instead of lines with intervals. */
  readonly isStacked?: boolean;
  readonly linkOf?: (id: string | null) => string;
}

/** A measure over time with one series per group. */
export function MeasureOverTime(props: MeasureOverTimeProps): JSX.Element {
  const { about, measure, groupBy, idColumn, labelColumn, colourOf, linkOf, isStacked = false, ...frame } = props;
  const { params, grain } = useScope();
  const data = useMetrics(params && { ...params, metrics: measure, group_by: groupBy, grain, compare_to: 'none' });
  const series = useMemo(
    () =>
      seriesBy(toRecords(data.table), idColumn, {
        labelOf: (row) => textOf(row[labelColumn]) || 'none',
        colourOf: (id) => colourOf(id || null),
        pointOf: (row) => pointOf(row, measure),
        linkOf: (id) => linkOf?.(id || null),
      }),
    [data.table, measure, idColumn, labelColumn, colourOf, linkOf],
  );
  return (
    <SeriesFrame
      drawAs={isStacked ? drawStackedArea : drawTimeSeries}
      {...frame}
      about={`${about} Per ${grain}.${isStacked ? '' : ` ${intervalNote(series.length)}`}`}
      data={data}
      unit="ratio"
      series={series}
    />
  );
}

/** Says how to see the intervals of a chart with a number of series. */
export function intervalNote(count: number): string {
  return count > BANDS_MAX
    ? 'Choose an entry in the legend to see its 95 % intervals.'
    : 'The bands are 95 % intervals.';
}
