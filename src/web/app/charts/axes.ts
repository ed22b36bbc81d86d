import { axisX, axisY, gridY, type Markish, type PlotOptions } from '@observablehq/plot';
import type { Unit } from '../state/format.ts';
import { type ChartContext, timeOf } from './drawing.ts';

/** Returns the days of all series, in order. */
export function daysOf(series: readonly { readonly points: readonly { readonly day: string }[] }[]): readonly string[] {
  return [...new Set(series.flatMap(({ points }) => points.map(({ day }) => day)))].sort();
}

/** Returns the grid and the axis of the values of a chart. `tickFormat` may leave labels out. */
export function valueAxis(
  { theme, format }: ChartContext,
  unit: Unit,
  tickFormat = (value: number): string => format.tick(value, unit),
): readonly Markish[] {
  return [
    gridY({ stroke: theme.grid, strokeOpacity: 1, ticks: 5 }),
    axisY({ ticks: 5, tickSize: 0, tickFormat, color: theme.muted, label: null }),
  ];
}

/** Returns the options of the scale of days; its labels are days that have values. */
export function dayScale({ width, format }: ChartContext, days: readonly string[]) {
  const most = Math.max(2, Math.min(8, Math.floor(width / 110)));
  const step = Math.max(1, Math.ceil(days.length / most));
  return {
    type: 'utc',
    label: null,
    // Counted from the last day, which readers look for.
    ticks: days.filter((_, index) => (days.length - 1 - index) % step === 0).map(timeOf),
    tickFormat: (day: Date) => format.shortDay(day.toISOString()),
    tickSize: 0,
    tickPadding: 8,
  } satisfies PlotOptions['x'];
}

/** Returns the axis of the days of a chart. */
export function dayAxis(context: ChartContext, days: readonly string[]): Markish {
  return axisX({ color: context.theme.muted, ...dayScale(context, days) });
}
