/** Returns a line per item. */
export function itemLines(texts: readonly string[]): string {
  return texts.map((text) => `${text}\n`).join('');
}

/**
 * Returns the last line of a file, which no item can equal: its only field is `_end`. A page that more rows follow has the cursor of
 * the next page there.
 */
export function endLine(rows: number, nextCursor: string | null): string {
  return `${JSON.stringify({ _end: nextCursor === null ? { rows } : { rows, nextCursor } })}\n`;
}
