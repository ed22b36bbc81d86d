import { toExactJson } from '../../base/json.ts';

/** RFC 4180 line ending. Every reader accepts it and some spreadsheets require it. */
const LINE_END = '\r\n';

/**
 * Returns RFC 4180 CSV with a header and without a byte order mark. A null is an empty field and an empty text is `""`;
 * booleans are true and false; arrays and objects are JSON text. In a table with one column a null is also `""`,
 * because readers skip empty lines.
 */
export function toCsv(names: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const isAlone = names.length === 1;
  const header = names.map(field).join(',');
  const lines = rows.map((row) => {
    const line = row.map((value) => (value === null || value === undefined ? '' : field(textOf(value)))).join(',');
    return isAlone && line === '' ? '""' : line;
  });
  return [header, ...lines].map((line) => `${line}${LINE_END}`).join('');
}

function field(text: string): string {
  return text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function textOf(value: unknown): string {
  return typeof value === 'object' ? toExactJson(value) : String(value);
}
