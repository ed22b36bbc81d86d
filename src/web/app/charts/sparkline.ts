import { areaY, dot, lineY } from '@observablehq/plot';
import { type ChartContext, type Drawing, drawPlot, timeOf } from './drawing.ts';
import type { Series } from './time-series.ts';

export interface SparklineSpec {
  readonly label: string;
  readonly series: Pick<Series, 'points' | 'colour'>;
  readonly height?: number;
  readonly isReversed?: boolean;
}

/** Draws a line without axes; its last value has a dot. */
export function drawSparkline(
  { label, series, height = 36, isReversed }: SparklineSpec,
  context: ChartContext,
): Drawing {
  const stroke = context.theme.series(series.colour);
  const points = series.points.map((point) => ({ ...point, at: timeOf(point.day) }));
  const bands = points.filter(({ lower, upper }) => typeof lower === 'number' && typeof upper === 'number');
  const last = points.findLast(({ value }) => value !== null);
  const { svg } = drawPlot(context, label, {
    height,
    marginTop: 4,
    marginRight: 4,
    marginBottom: 4,
    marginLeft: 1,
    x: { type: 'utc', axis: null },
    y: { axis: null, reverse: isReversed ?? false },
    marks: [
      areaY(bands, { x: 'at', y1: 'lower', y2: 'upper', fill: stroke, fillOpacity: 0.13 }),
      lineY(points, {
        x: 'at',
        y: (point: { value: number | null }) => point.value ?? Number.NaN,
        stroke,
        strokeWidth: 1.75,
      }),
      dot(last === undefined ? [] : [last], { x: 'at', y: 'value', fill: stroke, r: 2.5 }),
    ],
  });
  return { svg, stops: [] };
}
