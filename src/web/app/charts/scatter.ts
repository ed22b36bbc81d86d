import { axisX, axisY, dot, gridX, gridY } from '@observablehq/plot';
import type { Unit } from '../state/format.ts';
import { drawPlot } from './draw-plot.ts';
import { type ChartContext, type Drawing } from './drawing.ts';
import { patternOf } from './palette.ts';

export interface ScatterPoint {
  readonly label: string;
  readonly x: number;
  readonly y: number;
  /** Area of the dot in relation to the others. */
  readonly size?: number;
  /** Index of the series colour. */
  readonly colour: number;
}

export interface ScatterAxis {
  readonly label: string;
  readonly unit: Unit;
  readonly isReversed?: boolean;
}

export interface ScatterSpec {
  readonly label: string;
  readonly x: ScatterAxis;
  readonly y: ScatterAxis;
  readonly points: readonly ScatterPoint[];
  readonly height?: number;
}

const HEIGHT = 320;

/** Draws one dot per entity over two measures. */
export function drawScatter(spec: ScatterSpec, context: ChartContext): Drawing {
  const { theme, format } = context;
  const points = spec.points.filter(({ x, y }) => Number.isFinite(x) && Number.isFinite(y));
  const { svg, x, y } = drawPlot(context, spec.label, {
    height: spec.height ?? HEIGHT,
    marginBottom: 42,
    marginTop: 28,
    inset: 10,
    x: { nice: true, reverse: spec.x.isReversed ?? false },
    y: { nice: true, reverse: spec.y.isReversed ?? false },
    r: { range: [3, 14] },
    marks: [
      gridX({ stroke: theme.line, strokeOpacity: 1, ticks: 5 }),
      gridY({ stroke: theme.line, strokeOpacity: 1, ticks: 5 }),
      axisX({
        ticks: 5,
        tickSize: 0,
        color: theme.muted,
        label: spec.x.label,
        labelArrow: 'none',
        tickFormat: (value: number) => format.tick(value, spec.x.unit),
      }),
      axisY({
        ticks: 5,
        tickSize: 0,
        color: theme.muted,
        label: spec.y.label,
        labelArrow: 'none',
        tickFormat: (value: number) => format.tick(value, spec.y.unit),
      }),
      dot(points, {
        x: 'x',
        y: 'y',
        r: ({ size }) => size ?? 1,
        fill: ({ colour }) => theme.series(colour),
        symbol: ({ colour }: ScatterPoint) => patternOf(colour).symbol,
        fillOpacity: 0.75,
        stroke: theme.surface,
      }),
    ],
    color: { type: 'identity' },
    symbol: { type: 'identity' } as never,
  });
  const stops = points
    .map((point) => ({
      x: x(point.x),
      y: y(point.y),
      title: point.label,
      lines: [
        { colour: point.colour, label: spec.x.label, value: format.value(point.x, spec.x.unit) },
        { colour: null, label: spec.y.label, value: format.value(point.y, spec.y.unit) },
      ],
    }))
    .sort((a, b) => a.x - b.x);
  return { svg, stops };
}
