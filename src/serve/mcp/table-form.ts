import { isRecord } from '../../base/json.ts';

/**
 * Rows with the same fields: the names of the fields once, and the values of each row in this order. A field that contains lists of such
 * rows becomes a column `{ citations: ['url', 'domain'] }`, whose values are lists of rows.
 */
export interface Table {
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly unknown[])[];
}

type Column = string | Readonly<Record<string, readonly string[]>>;
type Row = Readonly<Record<string, unknown>>;

/** Returns rows as a table with all values; null if they do not have the same fields in the same order. */
export function toTable(rows: readonly unknown[]): Table | null {
  const [first] = rows;
  if (!isRecord(first)) return null;
  const names = Object.keys(first);
  if (!rows.every((row) => isRecord(row) && hasFields(row, names))) return null;
  const columns = names.map((name) => {
    const inner = innerFields((rows as readonly Row[]).map((row) => row[name]));
    return inner === null ? name : { [name]: inner };
  });
  const toValues = (row: Row): unknown[] =>
    columns.map((column, index) => {
      const value = row[names[index] as string];
      return typeof column === 'string' || !Array.isArray(value) ? value : value.map((item) => Object.values(item));
    });
  return { columns, rows: (rows as readonly Row[]).map(toValues) };
}

/** Returns a row in the form of a row of a table. */
export function toTableRow(row: unknown): unknown {
  if (!isRecord(row)) return row;
  return Object.values(row).map((value) =>
    Array.isArray(value) && value.every(isRecord) ? value.map((item) => Object.values(item)) : value,
  );
}

// Returns the fields of the rows in a column of lists; null if the column has other values, or rows with different fields, or only empty lists.
function innerFields(values: readonly unknown[]): string[] | null {
  if (!values.every((value) => value === null || (Array.isArray(value) && value.every(isRecord)))) return null;
  const items = values.flatMap((value) => (value ?? []) as readonly Row[]);
  const [first] = items;
  if (first === undefined) return null;
  const names = Object.keys(first);
  return names.length > 0 && items.every((item) => hasFields(item, names)) ? names : null;
}

function hasFields(row: Row, names: readonly string[]): boolean {
  const own = Object.keys(row);
  return own.length === names.length && own.every((name, index) => name === names[index]);
}
