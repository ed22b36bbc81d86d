import { axisX, axisY, barX, barY, gridX, ruleX, ruleY, text } from '@observablehq/plot';
import type { Unit } from '../state/format.ts';
import { valueAxis } from './axes.ts';
import { drawPlot } from './draw-plot.ts';
import { type ChartContext, type Drawing, valueText } from './drawing.ts';

export interface Bar {
  readonly label: string;
  readonly value: number | null;
  readonly lower?: number | null;
  readonly upper?: number | null;
  /** Index of the series colour. */
  readonly colour: number;
  /** Text at the end of a lying bar. */
  readonly note?: string;
}

export interface BarsSpec {
  readonly label: string;
  readonly unit: Unit;
  readonly bars: readonly Bar[];
  /** Bars from left to right; without it they lie below each other, with space for long labels. */
  readonly isUpright?: boolean;
  readonly height?: number;
}

const HEIGHT = 260;
const ROW_HEIGHT = 30;
/** Space for notes right of lying bars. */
const NOTE_WIDTH = 130;
/** Space between the labels and lying bars. */
const LABEL_PADDING = 10;
/** Characters of a label; longer ones are cut and complete in the tooltip. */
const LABEL_LENGTH_MAX = 28;

/** Draws one bar per category with its interval, in the given order. */
export function drawBars(spec: BarsSpec, context: ChartContext): Drawing {
  return spec.isUpright === true ? drawUpright(spec, context) : drawLying(spec, context);
}

function drawLying(spec: BarsSpec, context: ChartContext): Drawing {
  const { theme, format, width } = context;
  const rows = rowsOf(spec);
  const marginLeft = Math.min(190, Math.floor(width * 0.4));
  const { svg, x, y } = drawPlot(context, spec.label, {
    marginLeft,
    ...(rows.some(({ note }) => note !== undefined) ? { marginRight: NOTE_WIDTH } : {}),
    height: spec.height ?? rows.length * ROW_HEIGHT + 44,
    x: { label: null, zero: true },
    y: { type: 'band', label: null, domain: rows.map(({ key }) => key), padding: 0.25 },
    marks: [
      gridX({ stroke: theme.line, strokeOpacity: 1, ticks: 4 }),
      axisX({
        ticks: 4,
        tickSize: 0,
        tickFormat: (value: number) => format.tick(value, spec.unit),
        color: theme.muted,
        label: null,
      }),
      axisY({
        tickSize: 0,
        tickFormat: (key: number) => short(rows[key]?.label ?? '', marginLeft - LABEL_PADDING),
        color: theme.ink,
        label: null,
      }),
      barX(rows, { x: 'value', y: 'key', fill: ({ colour }) => theme.series(colour) }),
      ruleY(intervalsOf(rows), { y: 'key', x1: 'lower', x2: 'upper', stroke: theme.ink, strokeWidth: 1.5 }),
      text(rows, {
        x: ({ value, upper }) => Math.max(0, value ?? 0, upper ?? 0),
        y: 'key',
        text: ({ note }) => note ?? '',
        textAnchor: 'start',
        dx: 6,
        fill: theme.ink,
      }),
    ],
    color: { type: 'identity' },
  });
  return { svg, stops: rows.map((row) => ({ x: x(row.value ?? 0), y: y(row.key), ...textOf(row, spec, format) })) };
}

function drawUpright(spec: BarsSpec, context: ChartContext): Drawing {
  const { theme, format } = context;
  const rows = rowsOf(spec);
  const { svg, x, y } = drawPlot(context, spec.label, {
    height: spec.height ?? HEIGHT,
    x: { type: 'band', label: null, domain: rows.map(({ key }) => key), padding: 0.25 },
    y: { label: null, zero: true, nice: true },
    marks: [
      ...valueAxis(context, spec.unit),
      axisX({
        tickSize: 0,
        tickFormat: (key: number) => short(rows[key]?.label ?? '', 110),
        color: theme.ink,
        label: null,
      }),
      barY(rows, { x: 'key', y: 'value', fill: ({ colour }) => theme.series(colour) }),
      ruleX(intervalsOf(rows), { x: 'key', y1: 'lower', y2: 'upper', stroke: theme.ink, strokeWidth: 1.5 }),
    ],
    color: { type: 'identity' },
  });
  return { svg, stops: rows.map((row) => ({ x: x(row.key), y: y(row.value ?? 0), ...textOf(row, spec, format) })) };
}

type KeyedBar = Bar & { readonly key: number };

// Two categories may have the same label.
function rowsOf({ bars }: BarsSpec): readonly KeyedBar[] {
  return bars.map((bar, key) => ({ ...bar, key }));
}

function intervalsOf(rows: readonly KeyedBar[]): readonly KeyedBar[] {
  return rows.filter(({ lower, upper }) => typeof lower === 'number' && typeof upper === 'number');
}

function textOf(bar: Bar, { unit }: BarsSpec, format: ChartContext['format']) {
  const { label, colour } = bar;
  return { title: label, lines: [{ colour, label: '', value: valueText(bar, unit, format) }] };
}

function short(label: string, pixels: number): string {
  const max = Math.min(LABEL_LENGTH_MAX, Math.floor(pixels / 7));
  const letters = [...label];
  return letters.length <= max ? label : `${letters.slice(0, max - 1).join('')}…`;
}
