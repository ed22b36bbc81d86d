/** Input of a report. */
export interface ReportInput {
  /** ID of the brand. */
  readonly brand: string;
  /** Days of the numbers, both included; null for the 28 days up to the last complete day. */
  readonly range: { readonly from: string; readonly to: string } | null;
  readonly compareTo: 'previous' | 'year' | 'none';
  /** Complete weeks that the charts over time show, at most. */
  readonly weeks: number;
  /** Address of the data pages without a slash at its end, for links; empty for a report without links. */
  readonly address: string;
  /** State of the data, as pairs of a name and a value. */
  readonly health: readonly (readonly [string, string])[];
  /** The measures of the model. */
  readonly measures: readonly {
    readonly name: string;
    readonly label: string;
    readonly about: string;
    readonly formula: string;
  }[];
  /** Returns the table of a path of the data endpoints, such as `/data/metrics`, as its JSON form has it. */
  read(path: string, parameters: URLSearchParams): Promise<object>;
}

/** A drawn report. */
export interface DrawnReport {
  /** A page without scripts and other files. */
  readonly html: string;
  /** Charts as complete SVG documents; `name` has letters, digits and hyphens. */
  readonly charts: readonly { readonly name: string; readonly svg: string }[];
}

interface Point {
  /** First day of the period. */
  readonly day: string;
  readonly value: number | null;
  readonly lower?: number | null;
  readonly upper?: number | null;
}

/** A chart of a result: lines or stacked areas over time, or one bar per category. */
export interface ChartSpec {
  readonly kind: 'lines' | 'areas' | 'bars';
  readonly title: string;
  /** One sentence below the title. */
  readonly about: string;
  readonly unit: 'ratio' | 'count' | 'number' | 'position' | 'score' | 'money';
  /**
   * In bars, each series has one point, and its day is not shown. `note` is written at the end of a bar. `isOwn` marks the brand among its
   * competitors.
   */
  readonly series: readonly {
    readonly label: string;
    readonly points: readonly Point[];
    readonly note?: string;
    readonly isOwn?: boolean;
  }[];
  /** Width in pixels; default 820. */
  readonly width?: number;
  /** Greatest number of lines with bands for their intervals; default 2. */
  readonly bandsMax?: number;
}

/** The functions of the built pages that draw without a browser. */
export interface ReportApp {
  drawReport(input: ReportInput): Promise<DrawnReport>;
  /** Returns a chart as a complete SVG document with literal colours, a title and a legend. */
  renderChart(spec: ChartSpec): string;
}
