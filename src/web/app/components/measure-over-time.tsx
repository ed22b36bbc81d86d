import type { ComponentChildren, JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { ChartContext } from '../charts/drawing.ts';
import { drawStackedArea } from '../charts/stacked-area.ts';
import { BANDS_MAX, drawTimeSeries } from '../charts/time-series.ts';
import { grainOf } from '../state/calendar-days.ts';
import { useMetrics } from '../state/data.tsx';
import type { Unit } from '../state/format.ts';
import { useScope } from '../state/scope.tsx';
import { pointOf } from '../state/series.ts';
import { groupedBy, textOf, toRecords } from '../state/table.ts';
import { ChartFrame } from './chart-frame.tsx';

export interface MeasureOverTimeProps {
  readonly title: string;
  /** One sentence; the length of the periods is added. */
  readonly about: string;
  readonly measure: string;
  readonly unit: Unit;
  readonly groupBy: string;
  /** Column that identifies a group, and the column with its name. */
  readonly idColumn: string;
  readonly labelColumn: string;
  /** Index of the series colour of a group; null for groups that are not drawn. Memoise it. */
  readonly colourOf: (id: string | null) => number | null;
  readonly isReversed?: boolean;
  /** Draws parts of a whole instead of lines with intervals. */
  readonly isStacked?: boolean;
  readonly linkOf?: (id: string | null) => string;
  readonly empty?: ComponentChildren;
}

/** A measure over time with one series per group. */
export function MeasureOverTime(props: MeasureOverTimeProps): JSX.Element {
  const { title, about, measure, unit, groupBy, idColumn, labelColumn, colourOf, linkOf } = props;
  const { isReversed = false, isStacked = false, empty } = props;
  const { params, range } = useScope();
  const grain = range === null ? 'day' : grainOf(range.from, range.to);
  const data = useMetrics(
    params === null ? null : { ...params, metrics: measure, group_by: groupBy, grain, compare_to: 'none' },
  );
  const series = useMemo(() => {
    return [...groupedBy(toRecords(data.table), idColumn)]
      .flatMap(([group, rows]) => {
        const id = group === '' ? null : group;
        const colour = colourOf(id);
        if (colour === null) return [];
        const label = textOf(rows[0]?.[labelColumn]) || 'none';
        const points = rows.map((row) => pointOf(row, measure));
        return [{ label, colour, points, ...(linkOf === undefined ? {} : { to: linkOf(id) }) }];
      })
      .sort((a, b) => a.colour - b.colour);
  }, [data.table, measure, idColumn, labelColumn, colourOf, linkOf]);
  const draw = useMemo(
    () => (context: ChartContext) =>
      isStacked
        ? drawStackedArea({ label: title, unit, series }, context)
        : drawTimeSeries({ label: title, unit, series, isReversed, hasZero: unit === 'ratio' }, context),
    [title, unit, series, isReversed, isStacked],
  );
  return (
    <ChartFrame
      title={title}
      about={`${about} Per ${grain}.${isStacked ? '' : ` ${intervalNote(series.length)}`}`}
      data={data}
      draw={draw}
      legend={series}
      height={isStacked ? 260 : 280}
      empty={empty}
    />
  );
}

/** Says how to see the intervals of a chart with a number of series. */
export function intervalNote(count: number): string {
  return count > BANDS_MAX
    ? 'Choose an entry in the legend to see its 95 % intervals.'
    : 'The bands are 95 % intervals.';
}
