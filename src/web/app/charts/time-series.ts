import type { Unit } from '../state/format.ts';
import { type ChartContext, cut, type Drawing, daysOf, type SeriesPoint, type Stop, valueText } from './drawing.ts';
import { drawAxes, drawBand, drawDot, drawLine, type LinePlot, openLinePlot } from './line-plot.ts';
import { patternOf } from './palette.ts';

export interface Series {
  readonly label: string;
  /** Index of the series colour. */
  readonly colour: number;
  readonly points: readonly SeriesPoint[];
  /** Comparisons are dashed. */
  readonly isDashed?: boolean;
}

/** An event that may explain a jump. */
export interface EventMark {
  readonly day: string;
  readonly kind: 'alert' | 'article' | 'prompts';
  readonly label: string;
}

export interface TimeSeriesSpec {
  /** Description of the chart for screen readers. */
  readonly label: string;
  readonly unit: Unit;
  readonly series: readonly Series[];
  readonly events?: readonly EventMark[];
  readonly height?: number;
  /** Draws small values at the top, for positions. */
  readonly isReversed?: boolean;
  /** Begins the axis at zero. */
  readonly hasZero?: boolean;
  /** Names the lines at their ends; the brand alone has its interval. */
  readonly hasEndLabels?: boolean;
  /** Greatest number of series with intervals when none is highlighted; default BANDS_MAX. */
  readonly bandsMax?: number;
}

const HEIGHT = 280;
/** Lines of fewer points show their points. */
const DOTTED_POINTS_MAX = 40;
/** Maximum number of series with intervals when none is highlighted; more bands would cover each other. */
export const BANDS_MAX = 2;
/** Opacity of the series that are not highlighted. */
const FADED = 0.2;
const SYMBOLS = { alert: 'triangle', article: 'square', prompts: 'diamond' } as const;

/** Space around the lines, in pixels. */
const MARGINS = { top: 18, right: 26, bottom: 30, left: 48 };

/**
 * Draws lines and the events of their time. Intervals are drawn as bands for one or two series and for the highlighted one. The other
 * series of a highlighted one are faded.
 */
export function drawTimeSeries(spec: TimeSeriesSpec, context: ChartContext): Drawing {
  const { theme, format } = context;
  const { label, unit, series, events = [], height = HEIGHT, hasZero = false, isReversed = false } = spec;
  const days = daysOf(series);
  const inRange = events.filter(({ day }) => day >= (days[0] ?? '') && day <= (days.at(-1) ?? ''));
  const lines = linesOf(spec, context.highlighted ?? null);
  const values = lines.flatMap(({ points, isBanded }) =>
    points
      .flatMap(({ value, lower, upper }) => (isBanded ? [value, lower, upper] : [value]))
      .filter((each) => each != null),
  );
  const hasValues = series.some(({ points }) => points.some(({ value }) => value !== null));
  const margins = spec.hasEndLabels === true ? { ...MARGINS, right: LABEL_WIDTH } : MARGINS;
  const domain = hasValues ? [...values, ...(hasZero ? [0] : [])] : [0, 1];
  const plot = openLinePlot({ label, days, height, margins, values: domain, isReversed, isNice: true }, context);
  if (hasValues) {
    drawAxes(plot, days, (value) => format.tick(value, unit), context);
    for (const line of lines) drawSeries(plot, line, context);
    for (const { day, kind } of inRange)
      drawDot(plot, plot.x(day), plot.bounds.bottom - 4, 3.5, SYMBOLS[kind], { fill: theme.muted });
    if (spec.hasEndLabels === true) drawEndLabels(plot, spec, context);
  }
  return { svg: plot.svg, stops: days.map((day) => stopAt(day, spec, days, inRange, plot, format)) };
}

interface DrawnSeries extends Series {
  readonly isBanded: boolean;
  readonly isDotted: boolean;
  readonly opacity: number;
}

// The highlighted series is drawn last, above the others.
function linesOf(
  { series, bandsMax = BANDS_MAX, hasEndLabels = false }: TimeSeriesSpec,
  highlighted: string | null,
): readonly DrawnSeries[] {
  const only = series.length === 1 ? series[0] : series.find(({ label }) => label === highlighted);
  // The brand is above its competitors.
  const ordered = hasEndLabels ? [...series].reverse() : series;
  return [...ordered.filter((each) => each !== only), ...(only === undefined ? [] : [only])].map((each) => ({
    ...each,
    isBanded: only !== undefined ? each === only : hasEndLabels ? each.colour === 0 : series.length <= bandsMax,
    isDotted: !hasEndLabels && each.points.length <= DOTTED_POINTS_MAX,
    opacity: only === undefined || each === only ? 1 : FADED,
  }));
}

function drawSeries(plot: LinePlot, line: DrawnSeries, { theme }: ChartContext): void {
  const { points, colour, isDashed, isBanded, isDotted, opacity } = line;
  const stroke = theme.series(colour);
  const { dashes, symbol } = patternOf(colour);
  if (isBanded) drawBand(plot, points, stroke, 0.15);
  drawLine(plot, points, {
    stroke,
    'stroke-width': colour === 0 ? 2.6 : 1.6,
    'stroke-dasharray': isDashed === true ? '5 4' : dashes,
    opacity,
  });
  if (!isDotted) return;
  for (const { day, value } of points)
    if (value !== null) drawDot(plot, plot.x(day), plot.y(value), 2.5, symbol, { fill: stroke, opacity });
}

/** Width of the labels at the ends of the lines, their characters, and the space of each, in pixels. */
const LABEL_WIDTH = 140;
const LABEL_LENGTH_MAX = 12;
const LABEL_HEIGHT = 15;

// Labels of near values are moved apart.
function drawEndLabels(plot: LinePlot, { series, unit }: TimeSeriesSpec, { theme, format }: ChartContext): void {
  const ends = series
    .flatMap(({ label, colour, points }) => {
      const last = points.findLast(({ value }) => value !== null);
      return last === undefined || last.value === null ? [] : [{ label, colour, day: last.day, value: last.value }];
    })
    .sort((a, b) => plot.y(a.value) - plot.y(b.value));
  let above = Number.NEGATIVE_INFINITY;
  for (const { label, colour, day, value } of ends) {
    const [x, y] = [plot.x(day), plot.y(value)];
    above = Math.max(y + 4, above + LABEL_HEIGHT);
    const fill = theme.series(colour);
    drawDot(plot, x, y, colour === 0 ? 3.5 : 2.5, 'circle', { fill });
    const text = `${cut(label, LABEL_LENGTH_MAX)} ${format.value(value, unit).replace(/\s*%/u, '')}`;
    plot.add(
      'text',
      { x: x + 9, y: above, fill, 'text-anchor': 'start', 'font-weight': colour === 0 ? 650 : 500 },
      text,
    );
  }
}

function stopAt(
  day: string,
  spec: TimeSeriesSpec,
  days: readonly string[],
  inRange: readonly EventMark[],
  plot: LinePlot,
  format: ChartContext['format'],
): Stop {
  const lines = spec.series.flatMap(({ points, label, colour }) => {
    const point = points.find((each) => each.day === day);
    if (point === undefined) return [];
    return [{ colour, label, value: pointText(point, spec.unit, format), at: point.value }];
  });
  const values = lines.flatMap(({ at }) => (at === null ? [] : [at]));
  return {
    x: plot.x(day),
    y: values.length === 0 ? null : plot.y(Math.max(...values)),
    title: format.day(day),
    lines: [
      ...lines.map(({ colour, label, value }) => ({ colour, label, value })),
      ...inRange
        .filter((event) => nearest(days, event.day) === day)
        .map((event) => ({ colour: null, label: event.label, value: format.shortDay(event.day) })),
    ],
  };
}

function pointText(point: SeriesPoint, unit: Unit, format: ChartContext['format']): string {
  const { n } = point;
  const sample = typeof n === 'number' ? `, n = ${format.value(n, 'count')}` : '';
  return `${valueText(point, unit, format)}${sample}`;
}

// The last period that begins on or before the day.
function nearest(days: readonly string[], day: string): string | undefined {
  return days.findLast((each) => each <= day);
}

export interface SparklineSpec {
  readonly label: string;
  readonly series: Pick<Series, 'points' | 'colour'>;
  readonly height?: number;
  readonly isReversed?: boolean;
}

const SPARK_MARGINS = { top: 4, right: 4, bottom: 4, left: 1 };

/** Draws a line without axes; its last value has a dot. */
export function drawSparkline(
  { label, series, height = 36, isReversed = false }: SparklineSpec,
  context: ChartContext,
): Drawing {
  const { points, colour } = series;
  const stroke = context.theme.series(colour);
  const values = points.flatMap(({ value, lower, upper }) => [value, lower, upper].filter((each) => each != null));
  const days = points.map(({ day }) => day);
  const spec = { label, days, height, margins: SPARK_MARGINS, values, isReversed };
  const plot = openLinePlot(spec, context);
  const last = points.findLast(({ value }) => value !== null);
  if (last === undefined || last.value === null) return { svg: plot.svg, stops: [] };
  drawBand(plot, points, stroke, 0.13);
  drawLine(plot, points, { stroke, 'stroke-width': 1.6 });
  drawDot(plot, plot.x(last.day), plot.y(last.value), 2.5, 'circle', { fill: stroke });
  return { svg: plot.svg, stops: [] };
}
