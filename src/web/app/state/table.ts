/** A value of a table as JSON has it; dates and times are text. */
export type Value = string | number | boolean | null | readonly unknown[] | Readonly<Record<string, unknown>>;

export interface TableColumn {
  readonly name: string;
  /** DuckDB type, such as `BIGINT`. */
  readonly type: string;
  readonly about?: string;
}

/** The response of `/data/queries/{name}`, `/data/metrics` and `/data/sql`. */
export interface Table {
  readonly name: string;
  readonly about?: string;
  readonly columns: readonly TableColumn[];
  readonly rows: readonly (readonly Value[])[];
  /** SQL that returns the same rows. */
  readonly sql: string;
  readonly asOf: string | null;
  /** Last day that is stored completely. */
  readonly completeTo?: string | null;
  /** Why rows have no comparison; null if all have one, or none was requested. */
  readonly notCompared?: string | null;
  readonly partial?: boolean;
  readonly from?: string | null;
  readonly to?: string | null;
  readonly truncated?: boolean;
  /** Rows of the complete result, if they were counted; only of `/data/sql`. */
  readonly rowsTotal?: number | null;
  readonly elapsedMs?: number;
}

export type Row = Readonly<Record<string, Value>>;

/** A value with its 95 % interval and the number of units in its sample. */
export interface Measurement {
  readonly value: number | null;
  readonly lower: number | null;
  readonly upper: number | null;
  readonly n: number | null;
}

/** Returns the rows of a table as objects; none while the table is missing. */
export function toRecords(table: Table | null): readonly Row[] {
  if (table === null) return [];
  const names = table.columns.map(({ name }) => name);
  return table.rows.map((row) => Object.fromEntries(names.map((name, index) => [name, row[index] ?? null])));
}

/** Returns the rows by the text of a column, which is empty for null. */
export function groupedBy(rows: readonly Row[], column: string): ReadonlyMap<string, readonly Row[]> {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const id = textOf(row[column]);
    const group = groups.get(id);
    if (group === undefined) groups.set(id, [row]);
    else group.push(row);
  }
  return groups;
}

/** Returns a value as a number, or null if it is not a finite one. */
export function numberOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

/** Returns a value as text; empty for null. */
export function textOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
