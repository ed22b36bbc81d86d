import { areaY } from '@observablehq/plot';
import type { Unit } from '../state/format.ts';
import { dayAxis, dayScale, valueAxis } from './axes.ts';
import { drawPlot } from './draw-plot.ts';
import { type ChartContext, type Drawing, daysOf, timeOf } from './drawing.ts';
import { patternOf } from './palette.ts';
import type { Series } from './time-series.ts';

/** Parts of a whole over time. A missing value counts as zero. */
export interface StackedSpec {
  readonly label: string;
  readonly unit: Unit;
  /** The first series is at the bottom. */
  readonly series: readonly Series[];
  readonly height?: number;
}

const HEIGHT = 260;
/** Opacity of the series that are not highlighted. */
const FADED = 0.35;

/** Draws parts of a whole as areas on top of each other. */
export function drawStackedArea(spec: StackedSpec, context: ChartContext): Drawing {
  const { theme, format } = context;
  const hasValues = spec.series.some(({ points }) => points.some(({ value }) => value !== null));
  const days = daysOf(spec.series);
  const tops = new Map(days.map((day) => [day, 0]));
  const { highlighted = null } = context;
  const hasHighlight = spec.series.some(({ label }) => label === highlighted);
  const areas = spec.series.map(({ points, colour, label }) => {
    const values = new Map(points.map(({ day, value }) => [day, value ?? 0]));
    const layer = days.map((day) => {
      const bottom = tops.get(day) ?? 0;
      const top = bottom + (values.get(day) ?? 0);
      tops.set(day, top);
      return { at: timeOf(day), bottom, top };
    });
    const { dashes } = patternOf(colour);
    return areaY(layer, {
      x: 'at',
      y1: 'bottom',
      y2: 'top',
      fill: theme.series(colour),
      // A second series of the same colour is paler and has a dashed border.
      fillOpacity: dashes === null ? 1 : 0.55,
      opacity: hasHighlight && label !== highlighted ? FADED : 1,
      ...(dashes === null
        ? { stroke: theme.surface, strokeWidth: 1 }
        : { stroke: theme.series(colour), strokeWidth: 1.5, strokeDasharray: dashes }),
    });
  });
  const { svg, x, y } = drawPlot(context, spec.label, {
    height: spec.height ?? HEIGHT,
    x: dayScale(context, days),
    y: { label: null, zero: true },
    marks: !hasValues ? [] : [...valueAxis(context, spec.unit), dayAxis(context, days), ...areas],
  });
  const stops = days.map((day) => ({
    x: x(timeOf(day)),
    y: y(tops.get(day) ?? 0),
    title: format.day(day),
    lines: spec.series.map(({ label, colour, points }) => ({
      colour,
      label,
      value: format.value(points.find((point) => point.day === day)?.value ?? null, spec.unit),
    })),
  }));
  return { svg, stops };
}
