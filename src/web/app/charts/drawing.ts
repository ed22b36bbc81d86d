import { type Markish, type PlotOptions, plot } from '@observablehq/plot';
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

/** A drawn plot with the positions of its values. */
export interface Plotted {
  readonly svg: SVGSVGElement;
  x(value: unknown): number;
  y(value: unknown): number;
}

/** Margins in pixels. */
const MARGINS = { marginTop: 18, marginRight: 26, marginBottom: 26, marginLeft: 48 };

/** Draws marks without Plot's style element, so that the page's content security policy can forbid inline styles. */
export function drawPlot(
  context: ChartContext,
  label: string,
  options: Omit<PlotOptions, 'marks'> & { readonly marks: readonly Markish[] },
): Plotted {
  const { document, width, theme } = context;
  const drawn = plot({ ...MARGINS, width, document, className: 'plot', ...options, marks: [...options.marks] });
  const svg = drawn as unknown as SVGSVGElement & Pick<typeof drawn, 'scale'>;
  for (const style of [...svg.querySelectorAll('style')]) style.remove();
  svg.setAttribute('role', 'img');
  svg.setAttribute('aria-label', label);
  svg.setAttribute('color', theme.muted);
  svg.setAttribute('font-size', '12');
  // The page names the chart; the parts of Plot would be read one by one.
  for (const part of [...svg.querySelectorAll('[aria-label], [aria-description]')]) {
    part.removeAttribute('aria-label');
    part.removeAttribute('aria-description');
  }
  const position = (name: 'x' | 'y') => {
    const scale = drawn.scale(name);
    const middle = (scale?.bandwidth ?? 0) / 2;
    return (value: unknown): number => Number(scale?.apply(value) ?? 0) + middle;
  };
  return { svg, x: position('x'), y: position('y') };
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
