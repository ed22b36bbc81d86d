import { scaleBand, scaleLinear, scaleUtc } from 'd3-scale';
import { area, line } from 'd3-shape';
import { monthName, shortDay, toDate } from './dates.ts';
import { cut, element, escaped, label, svgDocument } from './svg.ts';
import type { Theme } from './theme.ts';

/** A chart's title, and one sentence that describes the chart for readers who cannot see it. */
export interface ChartHead {
  readonly title: string;
  readonly about: string;
}

/** A line over time; a null value leaves a gap in the line. */
export interface Series {
  readonly name: string;
  readonly values: readonly (number | null)[];
  /** Bounds of an interval around each value. */
  readonly lower?: readonly (number | null)[];
  readonly upper?: readonly (number | null)[];
}

/** Lines over `days` (`YYYY-MM-DD`, ascending). The first series is drawn in front, and bolder if `hasOwn` is true. */
export interface LineChart extends ChartHead {
  readonly days: readonly string[];
  readonly series: readonly Series[];
  readonly hasOwn: boolean;
  readonly format: (value: number) => string;
  /** Period that one value covers; default `week`. */
  readonly each?: 'week' | 'day';
}

/** Horizontal bars, one per row. */
export interface BarChart extends ChartHead {
  readonly rows: readonly {
    readonly name: string;
    readonly value: number | null;
    readonly lower?: number | null;
    readonly upper?: number | null;
    /** Text behind the bar of a wide chart; default: the formatted value. */
    readonly note?: string;
    readonly isOwn?: boolean;
  }[];
  readonly format: (value: number) => string;
}

/** Stacked columns over weeks or months, each named by its first day. Each part is a fraction of 1. */
export interface StackChart extends ChartHead {
  readonly days: readonly string[];
  readonly parts: readonly {
    readonly name: string;
    readonly values: readonly (number | null)[];
    /** Index of the colour in the theme; default: the part's place. */
    readonly colour?: number;
  }[];
  /** Period that one column covers; default `week`. */
  readonly each?: 'week' | 'month';
}

/** Chart width: `wide` for a desktop, `narrow` for a phone. */
export type Width = 'wide' | 'narrow';

const sizes = {
  wide: { width: 720, height: 280, right: 140, left: 48, ticks: 7, names: 16 },
  narrow: { width: 360, height: 260, right: 98, left: 40, ticks: 4, names: 11 },
} as const;
const TOP = 12;
const BOTTOM = 28;
const LABEL_HEIGHT = 15;
const ROW_HEIGHT = 30;
/** Above this number of values, only isolated values get a dot. */
const DOTS_MAX = 120;
const YEAR_MS = 365 * 86_400_000;

/** Draws lines over time. Each line is labelled at its end; its interval is drawn as a band. */
export function lineChart(chart: LineChart, width: Width, theme: Theme): string {
  const size = sizes[width];
  const { days, series, hasOwn, format, each = 'week' } = chart;
  const most = Math.max(0, ...series.flatMap(({ values, upper }) => [...values, ...(upper ?? [])].map((v) => v ?? 0)));
  const x = timeScale(days, size);
  const y = scaleLinear([0, most === 0 ? 1 : most], [size.height - BOTTOM, TOP]).nice(4);
  const at = days.map((day) => x(toDate(day)));
  const drawn = series.map((one, index) =>
    drawSeries(one, index, { at, y, theme, format, days, each, isStrong: hasOwn && index === 0 }),
  );
  const ends = placeLabels(
    series.map(({ name, values }, index) => {
      const last = values.findLastIndex((value) => value !== null);
      return { name, index, y: last < 0 ? null : y(values[last] as number) };
    }),
    size.height,
  );
  const names = ends.map(({ name, index, y: place }) =>
    label(cut(name, size.names), {
      x: size.width - size.right + 8,
      y: place + 4,
      fill: theme.series(index),
      'font-weight': hasOwn && index === 0 ? 700 : null,
    }),
  );
  const content = [axes(chart, x, y, size, theme), ...drawn.reverse(), ...names].join('');
  return svgDocument({ ...chart, width: size.width, height: size.height }, theme, content);
}

/** Draws one bar per row. The interval is drawn as a whisker across the end of the bar. */
export function barChart(chart: BarChart, width: Width, theme: Theme): string {
  const size = sizes[width];
  const left = width === 'wide' ? 170 : 110;
  const height = TOP + chart.rows.length * ROW_HEIGHT + 8;
  const most = Math.max(0, ...chart.rows.map(({ value, upper }) => Math.max(value ?? 0, upper ?? 0)));
  const x = scaleLinear([0, most === 0 ? 1 : most], [left, size.width - (width === 'wide' ? 165 : 60)]);
  const rows = chart.rows.map(({ name, value, lower, upper, note, isOwn }, index) => {
    const top = TOP + index * ROW_HEIGHT;
    const middle = top + ROW_HEIGHT / 2 - 2;
    const figure = value === null ? 'none' : chart.format(value);
    const noteText = width === 'wide' ? (note ?? figure) : figure;
    const bar =
      value === null
        ? ''
        : element('rect', {
            x: left,
            y: top + 4,
            width: Math.max(1, x(value) - left),
            height: ROW_HEIGHT - 12,
            rx: 2,
            fill: theme.series(isOwn === false ? 6 : 0),
          });
    const whisker =
      typeof lower === 'number' && typeof upper === 'number'
        ? element('path', {
            d: `M${round(x(lower))},${middle}H${round(x(upper))}M${round(x(lower))},${middle - 4}v8M${round(x(upper))},${middle - 4}v8`,
            stroke: theme.ink,
            fill: 'none',
          })
        : '';
    const end = Math.max(value === null ? left : x(value), typeof upper === 'number' ? x(upper) : 0);
    return [
      label(cut(name, width === 'wide' ? 24 : 15), { x: left - 8, y: middle + 4, 'text-anchor': 'end' }),
      bar,
      whisker,
      label(noteText, { x: end + 6, y: middle + 4, fill: theme.muted }),
    ].join('');
  });
  return svgDocument({ ...chart, width: size.width, height }, theme, rows.join(''));
}

/** Draws one stacked column per week or month. Parts are fractions of 1, stacked from the bottom up. */
export function stackChart(chart: StackChart, width: Width, theme: Theme): string {
  const size = sizes[width];
  const isMonthly = chart.each === 'month';
  const hasYear = isLong(chart.days);
  const y = scaleLinear([0, 1], [size.height - BOTTOM, TOP + 22]);
  const x = scaleBand(chart.days, [size.left, size.width - 12]).padding(0.2);
  const columns = chart.days.flatMap((day, place) => {
    let below = 0;
    return chart.parts.map(({ name, values, colour }, index) => {
      const value = values[place] ?? null;
      if (value === null || value === 0) return '';
      const top = y(below + value);
      const bar = element(
        'rect',
        { x: x(day) ?? 0, y: top, width: x.bandwidth(), height: y(below) - top, fill: theme.series(colour ?? index) },
        element('title', {}, escaped(`${name}, ${isMonthly ? monthName(day) : `week of ${day}`}: ${percent(value)}`)),
      );
      below += value;
      return bar;
    });
  });
  const marks = everyFew(chart.days, size.ticks).map((day) =>
    label(isMonthly ? monthName(day) : shortDay(day, hasYear), {
      x: (x(day) ?? 0) + x.bandwidth() / 2,
      y: size.height - 8,
      'text-anchor': 'middle',
      fill: theme.muted,
    }),
  );
  const step = (size.width - size.left) / chart.parts.length;
  const legend = chart.parts.map(({ name, colour }, index) => {
    const left = size.left + index * Math.min(150, step);
    const box = element('rect', { x: left, y: 4, width: 12, height: 12, rx: 2, fill: theme.series(colour ?? index) });
    return box + label(name, { x: left + 17, y: 14 });
  });
  const scale = gridLines(y, size, theme, percent, 12);
  return svgDocument(
    { ...chart, width: size.width, height: size.height },
    theme,
    [scale, ...columns, ...marks, ...legend].join(''),
  );
}

/** Formats a fraction as a percentage with one decimal. */
export function percent(value: number): string {
  return `${(100 * value).toFixed(1)} %`;
}

type TimeScale = ReturnType<typeof scaleUtc<number, number>>;
type Scale = ReturnType<typeof scaleLinear<number, number>>;
type Size = (typeof sizes)[Width];

function timeScale(days: readonly string[], size: Size): TimeScale {
  const first = toDate(days[0] ?? '1970-01-01');
  return scaleUtc([first, toDate(days.at(-1) ?? '1970-01-02')], [size.left, size.width - size.right]);
}

function drawSeries(
  { name, values, lower, upper }: Series,
  index: number,
  {
    at,
    y,
    theme,
    format,
    days,
    each,
    isStrong,
  }: Required<Pick<LineChart, 'days' | 'format' | 'each'>> & {
    at: number[];
    y: Scale;
    theme: Theme;
    isStrong: boolean;
  },
): string {
  const places = values.map((value, place) => ({ value, place }));
  const path = line<(typeof places)[number]>()
    .defined(({ value }) => value !== null)
    .x(({ place }) => at[place] as number)
    .y(({ value }) => y(value as number))
    .digits(1)(places);
  const band =
    lower === undefined || upper === undefined
      ? null
      : area<(typeof places)[number]>()
          .defined(({ place }) => typeof lower[place] === 'number' && typeof upper[place] === 'number')
          .x(({ place }) => at[place] as number)
          .y0(({ place }) => y(lower[place] as number))
          .y1(({ place }) => y(upper[place] as number))
          .digits(1)(places);
  const hasManyPoints = places.length > DOTS_MAX;
  const isJoined = (place: number): boolean => (values[place - 1] ?? values[place + 1] ?? null) !== null;
  const dots = places.flatMap(({ value, place }) =>
    value === null || (hasManyPoints && isJoined(place))
      ? []
      : [
          element(
            'circle',
            { cx: at[place] as number, cy: y(value), r: isStrong ? 3 : 2, fill: theme.series(index) },
            element(
              'title',
              {},
              escaped(`${name}, ${each === 'week' ? 'week of ' : ''}${days[place]}: ${format(value)}`),
            ),
          ),
        ],
  );
  return [
    band === null ? '' : element('path', { d: band, fill: theme.series(index), 'fill-opacity': 0.15 }),
    path === null
      ? ''
      : element('path', {
          d: path,
          fill: 'none',
          stroke: theme.series(index),
          'stroke-width': isStrong ? 2.5 : 1.5,
          'stroke-linejoin': 'round',
        }),
    ...dots,
  ].join('');
}

// Labels the days of values only: the ticks of a time scale are Sundays, but weeks begin on Monday.
function axes({ days, format }: LineChart, x: TimeScale, y: Scale, size: Size, theme: Theme): string {
  const hasYear = isLong(days);
  const marks = everyFew(days, size.ticks).map((day) =>
    label(shortDay(day, hasYear), {
      x: x(toDate(day)),
      y: size.height - 8,
      'text-anchor': 'middle',
      fill: theme.muted,
    }),
  );
  return [gridLines(y, size, theme, format, size.right), ...marks].join('');
}

/** Returns at most `most` of the days at equal distances, the last day among them. */
function everyFew(days: readonly string[], most: number): string[] {
  const step = Math.max(1, Math.ceil(days.length / most));
  return days.filter((_, index) => (days.length - 1 - index) % step === 0);
}

/** Whether days without a year would be ambiguous. */
function isLong(days: readonly string[]): boolean {
  return toDate(days.at(-1) ?? '1970-01-01').getTime() - toDate(days[0] ?? '1970-01-01').getTime() > YEAR_MS;
}

function gridLines(y: Scale, size: Size, theme: Theme, format: (value: number) => string, right: number): string {
  return y
    .ticks(4)
    .map((value) => {
      const place = round(y(value));
      const text = format(value).replace(/\.0(?= %)/, '');
      return (
        element('path', { d: `M${size.left},${place}H${size.width - right}`, stroke: theme.grid, fill: 'none' }) +
        label(text, { x: size.left - 6, y: place + 4, 'text-anchor': 'end', fill: theme.muted })
      );
    })
    .join('');
}

interface Placed {
  readonly name: string;
  readonly index: number;
  readonly y: number;
}

// Moves overlapping labels apart: first down, then up if the lowest label would leave the chart.
function placeLabels(ends: readonly { name: string; index: number; y: number | null }[], height: number): Placed[] {
  const placed = ends
    .flatMap(({ y, ...end }) => (y === null ? [] : [{ ...end, y }]))
    .sort((a, b) => a.y - b.y)
    .map((end) => ({ ...end }));
  for (let index = 1; index < placed.length; index++) {
    const [before, one] = [placed[index - 1] as Placed, placed[index] as { y: number }];
    one.y = Math.max(one.y, before.y + LABEL_HEIGHT);
  }
  let lowest = height - BOTTOM;
  for (const one of placed.toReversed()) {
    one.y = Math.min(one.y, lowest);
    lowest = one.y - LABEL_HEIGHT;
  }
  return placed;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
