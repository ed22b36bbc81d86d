import type { SeriesPoint } from '../charts/drawing.ts';
import type { Series } from '../charts/time-series.ts';
import { groupedBy, type Measurement, numberOf, type Row, textOf } from './table.ts';

type Columns = Readonly<Record<string, unknown>>;

/** Columns of a measurement with another name than in the metrics layer. */
export interface MeasurementColumns {
  /** What the columns of the interval begin with; default: the name of the measure. */
  readonly bounds?: string;
  /** The column of the sample; default: the name of the measure and `_n`. */
  readonly n?: string;
}

/** Returns a measure in a row of the metrics layer; all null without a row. */
export function measurementOf(
  row: Columns | null | undefined,
  measure: string,
  { bounds = measure, n = `${measure}_n` }: MeasurementColumns = {},
): Measurement {
  return {
    value: numberOf(row?.[measure]),
    lower: numberOf(row?.[`${bounds}_lower`]),
    upper: numberOf(row?.[`${bounds}_upper`]),
    n: numberOf(row?.[n]),
  };
}

/** Returns a measure in a row with a period. */
export function pointOf(row: Row, measure: string, columns?: MeasurementColumns): SeriesPoint {
  return { day: textOf(row['period']), ...measurementOf(row, measure, columns) };
}

/** How the rows with one value of a column become a series. */
export interface SeriesParts {
  readonly labelOf: (row: Row) => string;
  /** Index of the colour of a value of the column; null leaves the series out. */
  readonly colourOf: (id: string, index: number) => number | null;
  readonly pointOf: (row: Row) => SeriesPoint;
  /** The page of a value of the column. */
  readonly linkOf?: (id: string) => string | undefined;
}

/** A series of a chart. The legend links its name if `to` is set. */
export type LinkedSeries = Series & { readonly to?: string };

/** Returns a series for each value of a column, in the order of their colours. */
export function seriesBy(rows: readonly Row[], column: string, parts: SeriesParts): readonly LinkedSeries[] {
  const ids = [...groupedBy(rows, column)].sort(([a], [b]) => (a < b ? -1 : 1));
  const series = ids.flatMap(([id, own], index): LinkedSeries[] => {
    const colour = parts.colourOf(id, index);
    const [first] = own;
    if (colour === null || first === undefined) return [];
    const to = parts.linkOf?.(id);
    const named = { label: parts.labelOf(first), colour, points: own.map(parts.pointOf) };
    return [to === undefined ? named : { ...named, to }];
  });
  return series.sort((a, b) => a.colour - b.colour);
}

/** The change of a measure against the comparison range, as `Mark` shows it. */
export interface Change {
  readonly change: number | null;
  readonly lower: number | null;
  readonly upper: number | null;
  /** Null if the change is not tested. */
  readonly isSignificant: boolean | null;
}

/** A value with its statistics, and its change against the comparison range. */
export interface Statistic extends Measurement {
  readonly before: number | null;
  readonly beforeSample: number | null;
  readonly change: Change;
  /** The p value of the change, corrected for the number of tested rows. */
  readonly p: number | null;
}

/** Returns a measure in a row of the metrics layer with its change; all null without a row. */
export function statisticOf(row: Columns | null | undefined, measure: string, columns?: MeasurementColumns): Statistic {
  return {
    ...measurementOf(row, measure, columns),
    before: numberOf(row?.[`${measure}_before`]),
    beforeSample: numberOf(row?.[`${measure}_before_n`]),
    change: changeOf(row ?? null, measure),
    p: numberOf(row?.[`${measure}_p_adjusted`]),
  };
}

/** Returns the change of a measure in a row of the metrics layer; all null without a comparison. */
export function changeOf(row: Columns | null, measure: string): Change {
  const isSignificant = row?.[`${measure}_significant`];
  return {
    change: numberOf(row?.[`${measure}_change`]),
    lower: numberOf(row?.[`${measure}_change_lower`]),
    upper: numberOf(row?.[`${measure}_change_upper`]),
    isSignificant: typeof isSignificant === 'boolean' ? isSignificant : null,
  };
}
