import { toExactJson } from '../../base/json.ts';
import type { RowSet } from '../service.ts';

/** RFC 4180 line ending. Every reader accepts it and some spreadsheets require it. */
const LINE_END = '\r\n';

/** Returns RFC 4180 CSV of a complete table. */
export function toCsv(names: readonly string[], rows: readonly (readonly unknown[])[]): string {
  return toLines([names.map(field).join(','), ...rowLines(names, rows)]);
}

/** Creates an encoder that writes the header before the first rows. */
export function createCsvEncoder() {
  let hasHeader = false;
  return {
    encode: ({ columns, rows }: RowSet): Uint8Array => {
      const names = columns.map(({ name }) => name);
      const text = hasHeader ? toLines(rowLines(names, rows())) : toCsv(names, rows());
      hasHeader = true;
      return new TextEncoder().encode(text);
    },
    end: (): Uint8Array => new Uint8Array(),
  };
}

// Without a byte order mark. A null is an empty field and an empty text is `""`; booleans are true and false; arrays and objects
// are JSON text. In a table with one column a null is also `""`, because readers skip empty lines.
function rowLines(names: readonly string[], rows: readonly (readonly unknown[])[]): string[] {
  const isAlone = names.length === 1;
  return rows.map((row) => {
    const line = row.map((value) => (value === null || value === undefined ? '' : field(textOf(value)))).join(',');
    return isAlone && line === '' ? '""' : line;
  });
}

function toLines(lines: readonly string[]): string {
  return lines.map((line) => `${line}${LINE_END}`).join('');
}

function field(text: string): string {
  return text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function textOf(value: unknown): string {
  return typeof value === 'object' ? toExactJson(value) : String(value);
}
