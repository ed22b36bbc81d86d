import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { ChartContext, Drawing } from '../charts/drawing.ts';
import { drawTimeSeries, type TimeSeriesSpec } from '../charts/time-series.ts';
import type { LinkedSeries } from '../state/series.ts';
import { ChartFrame, type ChartFrameProps } from './chart-frame.tsx';

type Plot = Pick<TimeSeriesSpec, 'unit' | 'events' | 'isReversed' | 'hasEndLabels'>;

/** Memoise the lists. */
export interface SeriesFrameProps extends Plot, Omit<ChartFrameProps, 'draw' | 'legend'> {
  readonly series: readonly LinkedSeries[];
  /** Draws something other than lines. It is given, because the code of the other drawings is large. */
  readonly drawAs?: (spec: TimeSeriesSpec, context: ChartContext) => Drawing;
}

const HEIGHT = 280;

/** A block with a chart of values over time: lines with intervals, unless it is drawn in another way. */
export function SeriesFrame({ drawAs = drawTimeSeries, ...props }: SeriesFrameProps): JSX.Element {
  const { unit, series, events, isReversed = false, hasEndLabels = false, ...frame } = props;
  const { title, height = HEIGHT } = frame;
  const draw = useMemo(() => {
    const hasZero = unit === 'ratio' || unit === 'count';
    const spec = { label: title, unit, series, isReversed, hasEndLabels, hasZero, height };
    const marked = events === undefined ? spec : { ...spec, events };
    return (context: ChartContext) => drawAs(marked, context);
  }, [drawAs, title, unit, series, events, isReversed, hasEndLabels, height]);
  const legend = series.length > 1 && !hasEndLabels ? series : [];
  return <ChartFrame {...frame} height={height} draw={draw} legend={legend} />;
}
