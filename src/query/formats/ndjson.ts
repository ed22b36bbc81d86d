import { toExactJson } from '../../base/json.ts';

/** Returns a line of JSON per item. */
export function itemLines(items: readonly unknown[]): string {
  return items.map((item) => `${toExactJson(item)}\n`).join('');
}

/** Returns the last line of a complete file, which no item can equal: its only field is `_end`. */
export function endLine(rows: number): string {
  return `${JSON.stringify({ _end: { rows } })}\n`;
}
