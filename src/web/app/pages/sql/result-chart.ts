import { drawBars } from '../../charts/bars.ts';
import type { ChartContext, Drawing } from '../../charts/drawing.ts';
import type { SeriesPoint } from '../../charts/drawing.ts';
import { drawScatter } from '../../charts/scatter.ts';
import { drawTimeSeries, type Series } from '../../charts/time-series.ts';
import { numberOf, type Table, textOf } from '../../state/table.ts';

export const CHART_KINDS = ['lines', 'bars', 'scatter'] as const;
export type ChartKind = (typeof CHART_KINDS)[number];

/** A chart of a result. Columns are indices, because names may repeat. */
export interface ResultChart {
  readonly kind: ChartKind;
  readonly x: number;
  readonly y: number;
  /** Column of the series, of the colour or of the labels of points; null without one. */
  readonly by: number | null;
}

/** Kind of the values of a column in charts. */
export type ColumnRole = 'time' | 'number' | 'category';

/** Rows of a result that are drawn. */
export const ROWS_DRAWN = { lines: 3_000, bars: 40, scatter: 2_000 } as const;
/** Series of a chart with lines: as many as there are colours. */
const SERIES_MAX = 10;
/** Names of columns that are numbers but rather label rows. */
const ORDINAL = /(^|_)(id|year|rank|number)$/i;

/** Returns the role of each column, from its type. */
export function rolesOf({ columns }: Pick<Table, 'columns'>): readonly ColumnRole[] {
  return columns.map(({ type }) => {
    if (/^(DATE|TIMESTAMP)/.test(type)) return 'time';
    if (/^(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|DECIMAL|DOUBLE|FLOAT|REAL|BIGNUM)\b/.test(type)) return 'number';
    return 'category';
  });
}

/** Suggests a chart: lines over time, bars of categories, or a scatter plot of two numbers; null if no chart fits. */
export function suggestChart(table: Table): ResultChart | null {
  if (table.rows.length === 0) return null;
  const roles = rolesOf(table);
  const all = (role: ColumnRole): number[] => [...roles.keys()].filter((index) => roles[index] === role);
  const [time] = all('time');
  const numbers = all('number').sort(
    (a, b) => Number(ORDINAL.test(table.columns[a]?.name ?? '')) - Number(ORDINAL.test(table.columns[b]?.name ?? '')),
  );
  const categories = all('category').filter((index) => table.columns[index]?.type !== 'UUID');
  const [y] = numbers;
  if (y === undefined) return null;
  if (time !== undefined) return { kind: 'lines', x: time, y, by: seriesColumn(table, time, categories) };
  const label = categories.toSorted((a, b) => distinct(table, b) - distinct(table, a))[0];
  if (label !== undefined && distinct(table, label) > 1) return { kind: 'bars', x: label, y, by: null };
  if (numbers.length > 1) return { kind: 'scatter', x: y, y: numbers[1] as number, by: label ?? null };
  return label === undefined ? null : { kind: 'bars', x: label, y, by: null };
}

/** Whether a chart can be drawn from these columns. */
export function fits({ kind, x, y }: ResultChart, roles: readonly ColumnRole[]): boolean {
  if (roles[y] !== 'number') return false;
  return kind === 'bars' ? roles[x] !== undefined : roles[x] === (kind === 'lines' ? 'time' : 'number');
}

/** Draws the first rows of a result. */
export function drawResult(table: Table, chart: ResultChart, context: ChartContext): Drawing {
  const name = (index: number): string => table.columns[index]?.name ?? '';
  const label = `${name(chart.y)} by ${name(chart.x)}`;
  const rows = table.rows.slice(0, ROWS_DRAWN[chart.kind]);
  if (chart.kind === 'lines') {
    return drawTimeSeries({ label, unit: 'number', series: seriesOf(table, chart) }, context);
  }
  if (chart.kind === 'bars') {
    const bars = rows.map((row) => ({ label: textOf(row[chart.x]), value: numberOf(row[chart.y]), colour: 0 }));
    return drawBars({ label, unit: 'number', bars }, context);
  }
  const points = rows.map((row, index) => {
    const text = chart.by === null ? '' : textOf(row[chart.by]);
    return {
      label: text === '' ? `Row ${index + 1}` : text,
      x: numberOf(row[chart.x]) ?? Number.NaN,
      y: numberOf(row[chart.y]) ?? Number.NaN,
      colour: 0,
    };
  });
  const axis = (index: number) => ({ label: name(index), unit: 'number' as const });
  return drawScatter({ label, x: axis(chart.x), y: axis(chart.y), points }, context);
}

/**
 * Returns the lines of a chart over time. The first values of the column `by` are lines; a later row of the same time replaces one.
 * The columns `<y>_lower` and `<y>_upper` are the interval.
 */
export function seriesOf(table: Table, { x, y, by }: ResultChart): readonly Series[] {
  const lines = new Map<string, Map<string, SeriesPoint>>();
  const name = table.columns[y]?.name ?? '';
  const column = (wanted: string): number => table.columns.findIndex((each) => each.name === wanted);
  const [lower, upper] = [column(`${name}_lower`), column(`${name}_upper`)];
  for (const row of table.rows.slice(0, ROWS_DRAWN.lines)) {
    const label = by === null ? name : textOf(row[by]) || '(none)';
    const day = textOf(row[x]);
    if (day === '') continue;
    const line = lines.get(label) ?? new Map<string, SeriesPoint>();
    if (lines.size === SERIES_MAX && !lines.has(label)) continue;
    const point = { day, value: numberOf(row[y]), lower: numberOf(row[lower]), upper: numberOf(row[upper]) };
    lines.set(label, line.set(day, point));
  }
  return [...lines].map(([label, values], colour) => ({
    label,
    colour,
    points: [...values.values()].sort((a, b) => (a.day < b.day ? -1 : 1)),
  }));
}

// The first column that identifies rows together with the time, and has more than one value but few enough.
function seriesColumn(table: Table, time: number, categories: readonly number[]): number | null {
  const times = new Set(table.rows.map((row) => textOf(row[time]))).size;
  if (times === table.rows.length) return null;
  return categories.find((index) => distinct(table, index) > 1) ?? null;
}

function distinct({ rows }: Table, index: number): number {
  return new Set(rows.map((row) => textOf(row[index]))).size;
}
