import { areaY, dot, lineY, type Markish, ruleX } from '@observablehq/plot';
import type { Unit } from '../state/format.ts';
import { dayAxis, dayScale, daysOf, valueAxis } from './axes.ts';
import { type ChartContext, type Drawing, drawPlot, type Plotted, type Stop, timeOf, valueText } from './drawing.ts';
import { patternOf } from './palette.ts';

/** A value of a day, week or month. */
export interface SeriesPoint {
  /** First day of the period. */
  readonly day: string;
  /** Null interrupts the line. */
  readonly value: number | null;
  /** The 95 % interval. */
  readonly lower?: number | null;
  readonly upper?: number | null;
  /** Number of units in the sample. */
  readonly n?: number | null;
}

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

/**
 * Draws lines and the events of their time. Intervals are drawn as bands for one or two series and for the highlighted one. The other
 * series of a highlighted one are faded.
 */
export function drawTimeSeries(spec: TimeSeriesSpec, context: ChartContext): Drawing {
  const { theme, format } = context;
  const events = spec.events ?? [];
  const marks = linesOf(spec, context);
  const hasValues = spec.series.some(({ points }) => points.some(({ value }) => value !== null));
  const days = daysOf(spec.series);
  const inRange = events.filter(({ day }) => day >= (days[0] ?? '') && day <= (days.at(-1) ?? ''));
  const plotted = drawPlot(context, spec.label, {
    height: spec.height ?? HEIGHT,
    x: dayScale(context, days),
    y: { label: null, nice: true, zero: spec.hasZero ?? false, reverse: spec.isReversed ?? false },
    marks: !hasValues
      ? []
      : [
          ...valueAxis(context, spec.unit),
          dayAxis(context, days),
          ruleX(inRange, {
            x: ({ day }) => timeOf(day),
            stroke: theme.muted,
            strokeOpacity: 0.7,
            strokeDasharray: '2 3',
          }),
          ...marks,
          dot(inRange, {
            x: ({ day }) => timeOf(day),
            frameAnchor: 'top',
            dy: -8,
            r: 4.5,
            symbol: (event: EventMark) => SYMBOLS[event.kind],
            fill: theme.ink,
          }),
        ],
    symbol: { type: 'identity' } as never,
  });
  return { svg: plotted.svg, stops: days.map((day) => stopAt(day, spec, days, inRange, plotted, format)) };
}

// The highlighted series is drawn last, above the others.
function linesOf(
  { series, bandsMax = BANDS_MAX }: TimeSeriesSpec,
  { theme, highlighted = null }: ChartContext,
): readonly Markish[] {
  const only = series.length === 1 ? series[0] : series.find(({ label }) => label === highlighted);
  const ordered = only === undefined ? series : [...series.filter((each) => each !== only), only];
  return ordered.flatMap((each) => {
    const { points, colour, isDashed } = each;
    const stroke = theme.series(colour);
    const opacity = only === undefined || each === only ? 1 : FADED;
    const known = points.map((point) => ({ ...point, at: timeOf(point.day) }));
    const isBanded = only === undefined ? series.length <= bandsMax : each === only;
    const bands = isBanded ? known.filter(hasInterval) : [];
    const shown = known.length > DOTTED_POINTS_MAX ? [] : known.filter(({ value }) => value !== null);
    const { dashes, symbol } = patternOf(colour);
    const strokeDasharray = isDashed === true ? '5 4' : dashes;
    return [
      areaY(bands, { x: 'at', y1: 'lower', y2: 'upper', fill: stroke, fillOpacity: 0.15 }),
      lineY(known, {
        x: 'at',
        y: (point: { value: number | null }) => point.value ?? Number.NaN,
        stroke,
        strokeWidth: 2,
        opacity,
        ...(strokeDasharray === null ? {} : { strokeDasharray }),
      }),
      dot(shown, { x: 'at', y: 'value', fill: stroke, r: 2.5, symbol, opacity }),
    ];
  });
}

const hasInterval = ({ lower, upper }: SeriesPoint): boolean => typeof lower === 'number' && typeof upper === 'number';

function stopAt(
  day: string,
  spec: TimeSeriesSpec,
  days: readonly string[],
  inRange: readonly EventMark[],
  plotted: Plotted,
  format: ChartContext['format'],
): Stop {
  const lines = spec.series.flatMap(({ points, label, colour }) => {
    const point = points.find((each) => each.day === day);
    if (point === undefined) return [];
    return [{ colour, label, value: pointText(point, spec.unit, format), at: point.value }];
  });
  const values = lines.flatMap(({ at }) => (at === null ? [] : [at]));
  return {
    x: plotted.x(timeOf(day)),
    y: values.length === 0 ? null : plotted.y(Math.max(...values)),
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
