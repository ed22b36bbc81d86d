import Table from 'cli-table3';
import { visibleLine } from '../../base/visible.ts';
import { uniqueNames } from '../../read/formats/arrow-columns.ts';
import { toCsv, toExcelCsv } from '../../read/formats/csv.ts';
import type { QueryResult } from '../../warehouse/reader.ts';

/** Formats for the rows of a query. */
export const FORMATS = ['table', 'csv', 'json', 'ndjson', 'csv-excel'] as const;

/** One of FORMATS. */
export type Format = (typeof FORMATS)[number];

/** Longest text in a cell of a terminal table. CSV and JSON are never truncated. */
const CELL_CHARACTERS_MAX = 80;

/** Formats rows as a terminal table, RFC 4180 CSV with a header, CSV for Excel, a JSON array of objects, or one JSON object per line. */
export function formatRows(result: QueryResult, format: Format): string {
  switch (format) {
    case 'table':
      return toTable(result);
    case 'csv':
      return toCsv(namesOf(result), result.rows);
    case 'csv-excel':
      return toExcelCsv(namesOf(result), result.rows);
    case 'json':
      return JSON.stringify(toObjects(result));
    case 'ndjson':
      return toObjects(result)
        .map((row) => `${JSON.stringify(row)}\n`)
        .join('');
  }
}

/** Whether the text of a format is printed as it is, because its line ends belong to it. */
export function isExactFormat(format: string): boolean {
  return format === 'csv' || format === 'csv-excel';
}

function namesOf({ columns }: QueryResult): string[] {
  return columns.map(({ name }) => name);
}

function toTable({ columns, rows }: QueryResult): string {
  const numeric = columns.map((_column, index) => rows.some((row) => typeof row[index] === 'number'));
  const table = new Table({
    head: columns.map((column) => cell(column.name)),
    colAligns: numeric.map((right) => (right ? 'right' : 'left')),
    style: { head: [], border: [], compact: true },
  });
  for (const row of rows) table.push(row.map((value) => cell(value)));
  return `${table.toString()}\n${rows.length} ${rows.length === 1 ? 'row' : 'rows'}`;
}

function cell(value: unknown): string {
  const text = visibleLine(plain(value));
  const characters = [...text];
  return characters.length <= CELL_CHARACTERS_MAX ? text : `${characters.slice(0, CELL_CHARACTERS_MAX - 1).join('')}…`;
}

// Columns of a query may have the same name. Without unique names an object would contain only the last of them.
function toObjects({ columns, rows }: QueryResult): Record<string, unknown>[] {
  const names = uniqueNames(columns.map(({ name }) => name));
  return rows.map((row) => Object.fromEntries(row.map((value, index) => [names[index] as string, value])));
}

function plain(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
