import type { Format, Unit } from '../state/format.ts';
import type { ChartTheme } from './palette.ts';

/** Input of a chart in addition to its data. Charts are equal in browsers and in Node. */
export interface ChartContext {
  readonly document: Document;
  readonly theme: ChartTheme;
  /** Width in pixels. */
  readonly width: number;
  readonly format: Format;
  /** Label of the series that stands out; null or undefined if all are equal. */
  readonly highlighted?: string | null;
}

/** A place of a chart with the values that a tooltip shows there. */
export interface Stop {
  /** Position in the coordinates of the drawing. */
  readonly x: number;
  readonly y: number | null;
  readonly title: string;
  readonly lines: readonly StopLine[];
}

export interface StopLine {
  /** Index of the series colour; null without a colour. */
  readonly colour: number | null;
  readonly label: string;
  readonly value: string;
}

/** A drawn chart and its places from left to right. */
export interface Drawing {
  readonly svg: SVGSVGElement;
  readonly stops: readonly Stop[];
}

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

/** Returns a day, or a time in UTC, as the time that the scales of charts use. */
export const timeOf = (day: string): Date => new Date(day.length > 10 ? day : `${day}T00:00:00Z`);

/** Returns a value and its interval as text. */
export function valueText(
  { value, lower, upper }: { value: number | null; lower?: number | null; upper?: number | null },
  unit: Unit,
  format: Format,
): string {
  const hasInterval = typeof lower === 'number' && typeof upper === 'number';
  const interval = hasInterval ? ` (${format.value(lower, unit)} – ${format.value(upper, unit)})` : '';
  return `${format.value(value, unit)}${interval}`;
}

/** Returns the days of all series, in order. */
export function daysOf(series: readonly { readonly points: readonly { readonly day: string }[] }[]): readonly string[] {
  return [...new Set(series.flatMap(({ points }) => points.map(({ day }) => day)))].sort();
}

/** Returns the days with a label on an axis. They are counted from the last day, which readers look for. */
export function tickDays(days: readonly string[], width: number): readonly string[] {
  const most = Math.max(width < 150 ? 1 : 2, Math.min(8, Math.floor(width / 110)));
  const step = Math.max(1, Math.ceil(days.length / most));
  return days.filter((_, index) => (days.length - 1 - index) % step === 0);
}

/** Chinese, Japanese and Korean letters, which are twice as wide as Latin letters. */
const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60]/;

/** Shortens a text to the width of `most` Latin letters. */
export function cut(text: string, most: number): string {
  let width = 0;
  let short = '';
  for (const letter of text) {
    width += WIDE.test(letter) ? 2 : 1;
    if (width < most) short += letter;
  }
  return width <= most ? text : `${short.trimEnd()}…`;
}
