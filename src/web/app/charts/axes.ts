import { axisX, axisY, gridY, type Markish, type PlotOptions } from '@observablehq/plot';
import type { Unit } from '../state/format.ts';
import { type ChartContext, tickDays, timeOf } from './drawing.ts';

/** Returns the grid and the axis of the values of a chart. `tickFormat` may leave labels out. */
export function valueAxis(
  { theme, format }: ChartContext,
  unit: Unit,
  tickFormat = (value: number): string => format.tick(value, unit),
): readonly Markish[] {
  return [
    gridY({ stroke: theme.line, strokeOpacity: 1, ticks: 5 }),
    axisY({ ticks: 5, tickSize: 0, tickFormat, color: theme.muted, label: null }),
  ];
}

/** Returns the options of the scale of days; its labels are days that have values. */
export function dayScale({ width, format }: ChartContext, days: readonly string[]) {
  return {
    type: 'utc',
    label: null,
    ticks: tickDays(days, width).map(timeOf),
    tickFormat: (day: Date) => format.shortDay(day.toISOString()),
    tickSize: 0,
    tickPadding: 8,
  } satisfies PlotOptions['x'];
}

/** Returns the axis of the days of a chart. */
export function dayAxis(context: ChartContext, days: readonly string[]): Markish {
  return axisX({ color: context.theme.muted, ...dayScale(context, days) });
}
