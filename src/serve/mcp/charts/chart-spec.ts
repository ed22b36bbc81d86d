import { shownDays } from '../../../contract/time.ts';
import { type DimensionName, dimensions } from '../../../metrics/model/dimensions.ts';
import { type Measure, measures } from '../../../metrics/model/measures.ts';
import type { TableResult } from '../../../read/metrics/table-result.ts';
import type { ChartSpec } from '../../../web/report/report-types.ts';

/** Width in pixels, for conversations. */
const WIDTH = 720;
/** Maximum number of lines, so that a reader can distinguish them. */
const LINES_MAX = 8;
const BARS_MAX = 20;
/** Maximum number of lines with bands. Bands of more lines would cover each other. */
const BANDS_MAX = 3;
/** Maximum length of a label in the legend, without its n. */
const LABEL_CHARACTERS_MAX = 18;

const UNITS: Readonly<Record<Measure['unit'], ChartSpec['unit']>> = {
  count: 'count',
  ratio: 'ratio',
  position: 'position',
  worth: 'score',
  lean: 'score',
  currency: 'money',
};

/** A chart of a result, and sentences about values that it does not show. The subtitle of the chart names them, too. */
export interface ResultChart {
  readonly spec: ChartSpec;
  readonly remarks: readonly string[];
}

/** A result of `runMetrics` and its request. */
export interface Charted {
  /** All rows of the request up to the maximum of the layer; with a grain in the order of time. */
  readonly result: TableResult;
  readonly groupBy: readonly string[];
  readonly grain: string | null;
  /** Name of the brand; null for several. */
  readonly brand: string | null;
  /** Greatest number of bars, besides `BARS_MAX`. */
  readonly limit: number;
}

/**
 * Returns the chart of the first measure of a result: lines over time with a grain, otherwise bars, with intervals and n. Returns null if
 * the result has no values.
 */
export function chartSpecOf(charted: Charted): ResultChart | null {
  const { result, groupBy, grain, brand, limit } = charted;
  const asked = measures.filter(({ name }) => result.columns.some((column) => column.name === name));
  const [measure] = asked.toSorted((a, b) => placeOf(result, a.name) - placeOf(result, b.name));
  if (measure === undefined || result.rows.every((row) => row[placeOf(result, measure.name)] === null)) return null;
  const all = seriesOf(charted, measure);
  // Lines with the greatest samples; bars keep the order of the result.
  const shown =
    grain === null
      ? all.slice(0, Math.min(BARS_MAX, limit))
      : all.toSorted((a, b) => b.n - a.n || (a.label < b.label ? -1 : 1)).slice(0, LINES_MAX);
  const hasIntervals = grain === null || shown.length <= BANDS_MAX;
  const omitted = omittedOf(charted, all, shown.length);
  const by = groupBy.filter((name) => name !== 'brand' || brand === null).map(labelOf);
  const remarks = [
    ...(asked.length > 1 ? [`The chart shows ${measure.label}, the first metric.`] : []),
    ...omitted.map((text) => `The chart shows ${text}.`),
    ...(measure.kind !== 'count' && !hasIntervals
      ? [`The chart has no intervals, because it has more than ${BANDS_MAX} lines.`]
      : []),
  ];
  const spec: ChartSpec = {
    kind: grain === null ? 'bars' : 'lines',
    title: `${measure.label}${by.length === 0 ? '' : ` by ${by.join(' and ')}`}${brand === null ? '' : `, ${brand}`}`,
    about: aboutOf(charted, measure, { hasIntervals, shown, omitted }),
    unit: UNITS[measure.unit],
    series: shown.map(({ label, points, n, isOwn }) => {
      const sample = measure.kind === 'count' ? '' : `n = ${n.toLocaleString('en-US')}`;
      if (grain === null)
        return {
          label: label === '' ? measure.label : label,
          points,
          note: noteOf(points[0]?.value ?? null, measure, sample),
          isOwn,
        };
      // A single line needs no legend.
      const texts = label === '' ? [] : [shortened(label), sample];
      return { label: texts.filter((text) => text !== '').join(', '), points };
    }),
    width: WIDTH,
    bandsMax: BANDS_MAX,
  };
  return { spec, remarks };
}

interface ChartSeries {
  readonly label: string;
  readonly points: readonly {
    readonly day: string;
    readonly value: number | null;
    readonly lower: number | null;
    readonly upper: number | null;
    readonly n: number | null;
  }[];
  /** Sum of the sample units of all points. */
  readonly n: number;
  readonly isOwn: boolean;
}

// Returns the part that is shown of groups and of days, if it is not everything.
function omittedOf({ result, grain }: Charted, all: readonly ChartSeries[], shown: number): string[] {
  const groups = `${result.truncated ? 'more than ' : ''}${all.length.toLocaleString('en-US')}`;
  const isCut = result.truncated && grain !== null;
  return [
    ...(all.length > shown ? [`${shown} of ${groups} groups`] : []),
    ...(isCut
      ? [`only the first ${result.rows.length.toLocaleString('en-US')} rows, none after ${lastPeriod(result)}`]
      : []),
  ];
}

// A result in the order of time may lack groups of its last period if it is cut, so the chart ends with the period before.
function lastPeriod(result: TableResult): string | null {
  const periods = result.rows.map((row) => String(row[placeOf(result, 'period')]));
  const last = periods.at(-1);
  return periods.findLast((period) => !result.truncated || period !== last) ?? last ?? null;
}

function seriesOf({ result, groupBy, grain }: Charted, { name }: Measure): ChartSeries[] {
  const cell = (row: readonly unknown[], column: string): unknown => row[placeOf(result, column)];
  const number = (row: readonly unknown[], column: string): number | null => {
    const value = cell(row, column);
    return typeof value === 'number' ? value : null;
  };
  const keys = groupBy.flatMap((dimension) => columnsOf(dimension));
  const groups = new Map<string, (readonly unknown[])[]>();
  const end = grain === null ? null : lastPeriod(result);
  for (const row of result.rows) {
    if (end !== null && String(cell(row, 'period')) > end) continue;
    const key = JSON.stringify(keys.map((column) => cell(row, column)));
    const rows = groups.get(key) ?? [];
    rows.push(row);
    groups.set(key, rows);
  }
  return [...groups.values()].map((rows) => {
    const [first = []] = rows;
    const label = groupBy
      .map((dimension) => String(cell(first, columnsOf(dimension).at(-1) ?? '') ?? 'none'))
      .join(', ');
    const points = rows.map((row) => ({
      day: String(cell(row, 'period') ?? ''),
      value: number(row, name),
      lower: number(row, `${name}_lower`),
      upper: number(row, `${name}_upper`),
      n: number(row, `${name}_n`),
    }));
    return {
      label,
      points: points.toSorted((a, b) => (a.day < b.day ? -1 : 1)),
      n: rows.reduce((sum, row) => sum + (number(row, `${name}_n`) ?? 0), 0),
      isOwn: placeOf(result, 'entity_type') < 0 || cell(first, 'entity_type') === 'brand',
    };
  });
}

function aboutOf(
  { result, grain }: Charted,
  { kind, sampleUnit }: Measure,
  {
    hasIntervals,
    shown,
    omitted,
  }: { readonly hasIntervals: boolean; readonly shown: readonly ChartSeries[]; readonly omitted: readonly string[] },
): string {
  const points = shown.flatMap((one) => one.points);
  const samples = points.flatMap(({ n }) => (n === null ? [] : [n]));
  const [least, most] = [Math.min(...samples), Math.max(...samples)].map((n) => n.toLocaleString('en-US'));
  const intervals = points.some(({ lower }) => lower !== null) ? '95 % intervals' : 'too few for intervals';
  const { from, to } = result;
  return [
    `${from === null || to === null ? 'all days' : shownDays(from, to)}${grain === null ? '' : `, by ${grain}`}`,
    ...omitted,
    ...(kind === 'count' || samples.length === 0
      ? []
      : [
          `n = ${least === most ? most : `${least} to ${most}`} ${sampleUnit}s${grain === null ? '' : ` per ${grain}`}`,
          hasIntervals ? intervals : 'intervals not shown',
        ]),
    ...(result.partial ? ['incomplete days'] : []),
  ].join('; ');
}

function noteOf(value: number | null, { unit }: Measure, sample: string): string {
  if (value === null) return 'no value';
  const shown = unit === 'ratio' ? `${(value * 100).toFixed(1)}%` : String(Number(value.toFixed(2)));
  return sample === '' ? shown : `${shown}, ${sample}`;
}

function columnsOf(dimension: string): readonly string[] {
  return dimensions.find(({ name }) => name === dimension)?.columns.map(({ name }) => name) ?? [];
}

function labelOf(dimension: string): string {
  const names: Partial<Record<DimensionName, string>> = { entity: 'brand and competitor' };
  return names[dimension as DimensionName] ?? dimension.replaceAll('_', ' ');
}

function placeOf({ columns }: TableResult, name: string): number {
  return columns.findIndex((column) => column.name === name);
}

function shortened(label: string): string {
  const letters = [...label];
  return letters.length <= LABEL_CHARACTERS_MAX ? label : `${letters.slice(0, LABEL_CHARACTERS_MAX - 1).join('')}…`;
}
