import { isRecord } from '../../base/json.ts';

/**
 * Rows with the same fields: their names once, and the values of each row in this order. A field with lists of such rows is a column
 * `{ citations: ['url', 'domain'] }`, and its values are lists of rows.
 */
export interface Table {
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly unknown[])[];
}

type Column = string | Readonly<Record<string, readonly string[]>>;
type Row = Readonly<Record<string, unknown>>;

/** Returns rows as a table; null if they do not have the same fields in the same order. No value is lost. */
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

/** Returns the values of a row as they would be in a table whose rows all have its fields. */
export function toTableRow(row: unknown): unknown {
  if (!isRecord(row)) return row;
  return Object.values(row).map((value) =>
    Array.isArray(value) && value.every(isRecord) ? value.map((item) => Object.values(item)) : value,
  );
}

// The fields of the rows in a column of lists; null if other values are in it, or the rows differ, or there are none.
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
