import { type ChartContext, type SeriesPoint, tickDays, timeOf } from './drawing.ts';
import type { patternOf } from './palette.ts';

const SVG = 'http://www.w3.org/2000/svg';
/** Intervals between the labels of an axis of values, about. */
const TICKS = 5;

export type Attributes = Readonly<Record<string, string | number | null | undefined>>;
type Symbol = ReturnType<typeof patternOf>['symbol'];

export interface LinePlotSpec {
  readonly label: string;
  readonly days: readonly string[];
  readonly height: number;
  readonly margins: { readonly top: number; readonly right: number; readonly bottom: number; readonly left: number };
  /** Values that the axis has to include. */
  readonly values: readonly number[];
  readonly isReversed?: boolean;
  /** Ends the axis at round values. */
  readonly isNice?: boolean;
}

/** An SVG with the scales of days and values, to which lines are added. */
export interface LinePlot {
  readonly svg: SVGSVGElement;
  readonly ticks: readonly number[];
  readonly bounds: { readonly left: number; readonly right: number; readonly bottom: number };
  x(day: string): number;
  y(value: number): number;
  /** Adds an element, to the SVG unless another parent is given. */
  add(name: string, attributes: Attributes, text?: string, parent?: Element): Element;
}

/** Opens an empty plot. Charts with lines alone are drawn without a library, because every reader of the first page loads it. */
export function openLinePlot(spec: LinePlotSpec, { document, width, theme }: ChartContext): LinePlot {
  const { label, days, height, margins, values, isReversed = false, isNice = false } = spec;
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const step = stepOf(high - low || Math.abs(high) || 1);
  const least = isNice ? Math.floor(low / step) * step : low;
  const most = isNice ? Math.ceil(high / step) * step : high;
  const [first, last] = [timeOf(days[0] ?? '').getTime(), timeOf(days.at(-1) ?? '').getTime()];
  const bounds = { left: margins.left, right: width - margins.right, bottom: height - margins.bottom };
  const svg = document.createElementNS(SVG, 'svg');
  const add: LinePlot['add'] = (name, attributes, text, parent = svg) => {
    const element = document.createElementNS(SVG, name);
    for (const [attribute, value] of Object.entries(attributes))
      if (value !== null && value !== undefined) element.setAttribute(attribute, String(value));
    if (text !== undefined) element.textContent = text;
    parent.append(element);
    return element;
  };
  for (const [name, value] of Object.entries({
    class: 'plot',
    width,
    height,
    viewBox: `0 0 ${width} ${height}`,
    role: 'img',
    'aria-label': label,
    color: theme.muted,
    fill: 'currentColor',
    'font-size': 12,
  }))
    svg.setAttribute(name, String(value));
  const share = (value: number): number => (most === least ? 0.5 : (value - least) / (most - least));
  return {
    svg,
    ticks: ticksOf(least, most, step),
    bounds,
    add,
    x: (day) =>
      last === first
        ? (bounds.left + bounds.right) / 2
        : round(bounds.left + ((timeOf(day).getTime() - first) / (last - first)) * (bounds.right - bounds.left)),
    y: (value) => round(margins.top + (isReversed ? share(value) : 1 - share(value)) * (bounds.bottom - margins.top)),
  };
}

/** Draws the lines of the grid and the labels of both axes. */
export function drawAxes(
  { add, ticks, bounds, x, y }: LinePlot,
  days: readonly string[],
  tickOf: (value: number) => string,
  { theme, format }: ChartContext,
): void {
  const grid = add('g', { stroke: theme.line });
  for (const tick of ticks) {
    add('line', { x1: bounds.left, x2: bounds.right, y1: y(tick), y2: y(tick) }, undefined, grid);
    add('text', { x: bounds.left - 8, y: y(tick) + 4, 'text-anchor': 'end' }, tickOf(tick));
  }
  for (const day of tickDays(days, bounds.right))
    add('text', { x: x(day), y: bounds.bottom + 20, 'text-anchor': 'middle' }, format.shortDay(day));
}

/** Draws a line, which missing values interrupt. */
export function drawLine({ add, x, y }: LinePlot, points: readonly SeriesPoint[], attributes: Attributes): void {
  const { opacity, ...stroke } = attributes;
  const path = points.reduce(
    ({ text, isOpen }, { day, value }) =>
      value === null
        ? { text, isOpen: false }
        : { text: `${text}${isOpen ? 'L' : 'M'}${x(day)},${y(value)}`, isOpen: true },
    { text: '', isOpen: false },
  ).text;
  const group = add('g', { fill: 'none', 'stroke-linejoin': 'round', 'stroke-linecap': 'round', ...stroke });
  add('path', { d: path, opacity }, undefined, group);
}

/** Draws the intervals of points as a band, which points without one interrupt. */
export function drawBand(plot: LinePlot, points: readonly SeriesPoint[], fill: string, opacity: number): void {
  const { add, x, y } = plot;
  let path = '';
  let run: { readonly day: string; readonly lower: number; readonly upper: number }[] = [];
  const end = (): void => {
    const above = run.map(({ day, upper }) => `${x(day)},${y(upper)}`);
    const below = run.map(({ day, lower }) => `${x(day)},${y(lower)}`).reverse();
    if (run.length > 0) path += `M${[...above, ...below].join('L')}Z`;
    run = [];
  };
  for (const { day, lower, upper } of points) {
    if (typeof lower === 'number' && typeof upper === 'number') run.push({ day, lower, upper });
    else end();
  }
  end();
  if (path !== '') add('path', { d: path }, undefined, add('g', { fill, 'fill-opacity': opacity }));
}

/** Draws a dot of a shape at a place. */
export function drawDot(
  { add }: LinePlot,
  x: number,
  y: number,
  radius: number,
  symbol: Symbol,
  more: Attributes,
): void {
  if (symbol === 'circle') add('circle', { cx: x, cy: y, r: radius, ...more });
  else {
    const corners = { square: SQUARE, diamond: DIAMOND, triangle: TRIANGLE }[symbol];
    const at = corners.map(([dx, dy]) => `${round(x + dx * radius)},${round(y + dy * radius)}`);
    add('path', { d: `M${at.join('L')}Z`, ...more });
  }
}

type Corners = readonly (readonly [number, number])[];
const SQUARE: Corners = [
  [-0.9, -0.9],
  [0.9, -0.9],
  [0.9, 0.9],
  [-0.9, 0.9],
];
const DIAMOND: Corners = [
  [0, -1.25],
  [1, 0],
  [0, 1.25],
  [-1, 0],
];
const TRIANGLE: Corners = [
  [0, -1.2],
  [1.1, 0.8],
  [-1.1, 0.8],
];

// A step of 1, 2 or 5 times a power of ten.
function stepOf(span: number): number {
  const raw = span / TICKS;
  const power = 10 ** Math.floor(Math.log10(raw));
  const error = raw / power;
  return power * (error >= Math.sqrt(50) ? 10 : error >= Math.sqrt(10) ? 5 : error >= Math.SQRT2 ? 2 : 1);
}

function ticksOf(least: number, most: number, step: number): readonly number[] {
  const first = Math.ceil(least / step - 1e-9);
  const count = Math.floor(most / step + 1e-9) - first + 1;
  return Array.from({ length: Math.max(0, count) }, (_, index) => Number(((first + index) * step).toPrecision(12)));
}

const round = (pixels: number): number => Math.round(pixels * 100) / 100;
