import { PassThrough } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { SightlineError } from '../../base/errors.ts';
import type { FileColumn } from './plain-files.ts';
import {
  addSheet,
  BATCH_ROWS,
  CELL_MAX,
  openBook,
  ROWS_MAX,
  toCell,
  WIDTH_MAX,
  WIDTH_MIN,
  WIDTHS,
} from './workbook.ts';

/** Rows that determine the widths of columns. */
const MEASURED_ROWS = 1_000;

/**
 * Encodes rows as an Excel workbook with one sheet, in the form of `writeWorkbook`.
 * @throws `query_limit` if the rows or a text do not fit into a sheet
 */
export async function encodeWorkbook(
  name: string,
  columns: readonly FileColumn[],
  rows: readonly (readonly unknown[])[],
): Promise<Buffer> {
  if (rows.length > ROWS_MAX) throw tooLarge(`${rows.length} rows`, `${ROWS_MAX} rows`);
  const output = new PassThrough();
  const written = buffer(output);
  const { book, compressed } = await openBook(output);
  const widths = columns.map((column, index) => widthOf(column, rows, index));
  const sheet = addSheet(book, name, columns, widths, rows.length);
  for (const [index, row] of rows.entries()) {
    const cells = row.map((value, column) => toCell(value, columns[column]?.kind));
    const long = cells.find((cell) => typeof cell === 'string' && cell.length > CELL_MAX);
    if (long !== undefined) throw tooLarge(`a text of ${String(long).length} characters`, `${CELL_MAX} in a cell`);
    sheet.addRow(cells).commit();
    if (index % BATCH_ROWS === 0) await compressed();
  }
  sheet.commit();
  await compressed();
  await book.commit();
  return written;
}

function widthOf({ name, kind }: FileColumn, rows: readonly (readonly unknown[])[], index: number): number {
  const texts = rows.slice(0, MEASURED_ROWS).map((row) => String(row[index] ?? '').length);
  return Math.min(WIDTH_MAX, WIDTHS[kind] ?? Math.max(WIDTH_MIN, name.length, ...texts));
}

function tooLarge(found: string, allowed: string): SightlineError {
  return new SightlineError('query_limit', `the result has ${found}; allowed in an Excel file: ${allowed}`);
}
