import { toExactJson } from '../../base/json.ts';
import { EXCEL_CSV } from '../../publish/snapshot/file-formats.ts';
import type { RowSet } from '../service.ts';

/** RFC 4180 line ending. Every reader accepts it and some spreadsheets require it. */
const LINE_END = '\r\n';

/** Returns RFC 4180 CSV of a complete table. */
export function toCsv(names: readonly string[], rows: readonly (readonly unknown[])[]): string {
  return toLines([names.map((name) => field(name)).join(','), ...rowLines(names, rows)]);
}

/** Returns CSV of a complete table in the form of `EXCEL_CSV`. */
export function toExcelCsv(names: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const { mark, separator, formula, prefix } = EXCEL_CSV;
  const isFormula = new RegExp(formula);
  const safe = (value: unknown): unknown =>
    typeof value === 'string' && isFormula.test(value) ? `${prefix}${value}` : value;
  const header = names.map((name) => field(String(safe(name)), separator)).join(separator);
  const lines = rowLines(
    names,
    rows.map((row) => row.map(safe)),
    separator,
  );
  return `${mark}${toLines([header, ...lines])}`;
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
function rowLines(names: readonly string[], rows: readonly (readonly unknown[])[], separator = ','): string[] {
  const isAlone = names.length === 1;
  return rows.map((row) => {
    const fields = row.map((value) => (value === null || value === undefined ? '' : field(textOf(value), separator)));
    const line = fields.join(separator);
    return isAlone && line === '' ? '""' : line;
  });
}

function toLines(lines: readonly string[]): string {
  return lines.map((line) => `${line}${LINE_END}`).join('');
}

function field(text: string, separator = ','): string {
  return text === '' || text.includes(separator) || /["\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function textOf(value: unknown): string {
  return typeof value === 'object' ? toExactJson(value) : String(value);
}
