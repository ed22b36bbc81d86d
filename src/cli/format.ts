import Table from 'cli-table3';
import { visibleLine } from '../base/visible.ts';
import { uniqueNames } from '../serve/formats/columns.ts';
import { toCsv } from '../serve/formats/csv.ts';
import type { QueryResult } from '../warehouse/reader.ts';

/** How a query's rows can be printed. */
export const FORMATS = ['table', 'csv', 'json', 'ndjson'] as const;

/** One of FORMATS. */
export type Format = (typeof FORMATS)[number];

/** Longest text shown in a cell of a table on a terminal; csv and json are never cut. */
const CELL_CHARACTERS_MAX = 80;

/** Renders a query's rows: a table for people, RFC 4180 CSV with a header, a JSON array of objects, or one object a line. */
export function formatRows(result: QueryResult, format: Format): string {
  switch (format) {
    case 'table':
      return toTable(result);
    case 'csv':
      return toCsv(
        result.columns.map(({ name }) => name),
        result.rows,
      );
    case 'json':
      return JSON.stringify(toObjects(result));
    case 'ndjson':
      return toObjects(result)
        .map((row) => `${JSON.stringify(row)}\n`)
        .join('');
  }
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

// A query may give two columns one name; an object would keep the last one only.
function toObjects({ columns, rows }: QueryResult): Record<string, unknown>[] {
  const names = uniqueNames(columns.map(({ name }) => name));
  return rows.map((row) => Object.fromEntries(row.map((value, index) => [names[index] as string, value])));
}

function plain(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
