import { rectY } from '@observablehq/plot';
import { dayAxis, dayScale, valueAxis } from './axes.ts';
import { drawPlot } from './draw-plot.ts';
import { type ChartContext, type Drawing, daysOf, timeOf } from './drawing.ts';
import { patternOf } from './palette.ts';
import type { StackedSpec } from './stacked-area.ts';

const HEIGHT = 240;
const DAY_MS = 86_400_000;
/** Minimum number of periods of the axis, so that a single bar is not as wide as the chart. */
const PERIODS_MIN = 7;
/** Share of a period that its bar covers. */
const BAR = 0.85;
/** Opacity of the series that are not highlighted. */
const FADED = 0.3;

/** Draws counts per period as bars on top of each other. Bars begin at the first day of their period. */
export function drawStackedBars(spec: StackedSpec, context: ChartContext): Drawing {
  const { theme, format, highlighted = null } = context;
  const days = daysOf(spec.series);
  const length = periodOf(days);
  const hasHighlight = spec.series.some(({ label }) => label === highlighted);
  const tops = new Map<string, number>();
  const layers = spec.series.map(({ points, colour, label }) => {
    const bars = points.map(({ day, value }) => {
      const bottom = tops.get(day) ?? 0;
      tops.set(day, bottom + (value ?? 0));
      const from = timeOf(day);
      return { from, to: new Date(from.getTime() + length * BAR), bottom, top: tops.get(day) };
    });
    const { dashes } = patternOf(colour);
    return rectY(bars, {
      x1: 'from',
      x2: 'to',
      y1: 'bottom',
      y2: 'top',
      fill: theme.series(colour),
      fillOpacity: dashes === null ? 1 : 0.55,
      opacity: hasHighlight && label !== highlighted ? FADED : 1,
      ...(dashes === null ? {} : { stroke: theme.series(colour), strokeDasharray: dashes }),
    });
  });
  const { svg, x, y } = drawPlot(context, spec.label, {
    height: spec.height ?? HEIGHT,
    x: { ...dayScale(context, days), ...domainOf(days, length) },
    y: { label: null, zero: true, nice: true },
    marks:
      days.length === 0
        ? []
        : [
            ...valueAxis(context, spec.unit, (value) => (Number.isInteger(value) ? format.tick(value, spec.unit) : '')),
            dayAxis(context, days),
            ...layers,
          ],
  });
  const stops = days.map((day) => ({
    x: x(new Date(timeOf(day).getTime() + (length * BAR) / 2)),
    y: y(tops.get(day) ?? 0),
    title: format.day(day),
    lines: spec.series.map(({ label, colour, points }) => ({
      colour,
      label,
      value: format.value(points.find((point) => point.day === day)?.value ?? 0, spec.unit),
    })),
  }));
  return { svg, stops };
}

function domainOf(days: readonly string[], length: number): { readonly domain?: Date[] } {
  const [first, last] = [days[0], days.at(-1)];
  if (first === undefined || last === undefined) return {};
  const end = timeOf(last).getTime() + length;
  const start = Math.min(timeOf(first).getTime(), end - PERIODS_MIN * length);
  return { domain: [new Date(start), new Date(end)] };
}

// The least distance of two periods; a day for a single one.
function periodOf(days: readonly string[]): number {
  const times = days.map((day) => timeOf(day).getTime());
  const gaps = times.slice(1).map((time, index) => time - (times[index] ?? 0));
  return gaps.length === 0 ? DAY_MS : Math.min(...gaps);
}
