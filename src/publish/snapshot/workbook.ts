import { createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import type { Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { WorkbookWriter } from '@cj-tech-master/excelts';
import { SightlineError } from '../../base/errors.ts';
import { syncToDisk } from '../../base/files.ts';
import type { CopySource } from '../../warehouse/file/copy-out.ts';
import { hashFile } from '../../warehouse/file/hash-file.ts';
import { type CountedRows, checkWritten, countRows, type FileColumn, type PlainFile, rowsOf } from './plain-files.ts';
import type { Selected } from './selection.ts';

/** Rows of a sheet below the header. */
export const ROWS_MAX = 1_048_575;
/** UTF-16 units of a cell. */
export const CELL_MAX = 32_767;
const SHEET_NAME_MAX = 31;
/** Rows between two waits for the compression. */
export const BATCH_ROWS = 1_000;
/** Widths of columns, in characters. */
export const WIDTH_MIN = 8;
export const WIDTH_MAX = 60;
/** Width of the button of a filter. */
const FILTER_WIDTH = 4;
/** Excel has no earlier dates, and counts days before it wrongly. */
const DAY_MIN = Date.UTC(1900, 2, 1);
const DAY_END = Date.UTC(10000, 0, 1);
/** Widths of columns whose values have a fixed form. */
export const WIDTHS: Partial<Record<FileColumn['kind'], number>> = {
  timestamp: 20,
  day: 12,
  integer: 12,
  number: 14,
  boolean: 10,
};
/** Formats of dates. */
const NUMBER_FORMATS: Partial<Record<FileColumn['kind'], string>> = {
  timestamp: 'yyyy-mm-dd hh:mm:ss',
  day: 'yyyy-mm-dd',
};

/** A table that fits into a sheet. */
interface Sheet {
  readonly selected: Selected;
  readonly name: string;
  readonly counted: CountedRows;
  readonly widths: readonly number[];
}

/**
 * Writes tables and views to one Excel workbook: a sheet for each, with a frozen header, a filter and column widths. Times are dates
 * in UTC. Integers beyond 2^53 and dates before March 1900 are text. Text is never a formula. The rows of one batch are in memory.
 *
 * @throws `usage` before anything is written if a table does not fit into a sheet
 */
export async function writeWorkbook(
  source: CopySource,
  all: readonly Selected[],
  path: string,
  onTable: (table: Selected, done: number) => void,
): Promise<PlainFile[]> {
  const sheets: Sheet[] = [];
  for (const selected of all) {
    const counted = await countRows(source, selected);
    if (counted.rows > ROWS_MAX)
      throw tooLarge(`${selected.name} has ${counted.rows} rows`, `${ROWS_MAX} rows in a sheet`);
    const name = sheetName(selected.name, new Set(sheets.map((sheet) => sheet.name.toLowerCase())));
    sheets.push({ selected, name, counted, widths: await measure(source, selected) });
  }
  const output = createWriteStream(path);
  const { book, compressed } = await openBook(output);
  const closed = finished(output);
  try {
    for (const [done, sheet] of sheets.entries()) {
      onTable(sheet.selected, done);
      await Promise.race([writeSheet(source, sheet, book, compressed), closed]);
    }
    await Promise.race([book.commit(), closed]);
    await closed;
  } catch (thrown) {
    output.destroy();
    throw thrown;
  }
  await syncToDisk(path);
  const { size } = await stat(path);
  const sha256 = await hashFile(path);
  return sheets.map(({ selected, name, counted }) => {
    return { name: selected.name, file: basename(path), sheet: name, bytes: size, sha256, ...counted };
  });
}

async function writeSheet(
  source: CopySource,
  { selected, name, counted, widths }: Sheet,
  book: WorkbookWriter,
  compressed: () => Promise<unknown>,
): Promise<void> {
  const { columns, sql } = rowsOf(selected, 'xlsx');
  const sheet = addSheet(book, name, columns, widths, counted.rows);
  let written = 0;
  for await (const batch of source.batches(sql, BATCH_ROWS)) {
    for (const row of batch) sheet.addRow(row.map((value, index) => toCell(value, columns[index]?.kind))).commit();
    written += batch.length;
    await compressed();
  }
  checkWritten(selected, counted, written);
  sheet.commit();
  await compressed();
}

/** Creates a workbook that is written to a stream, and a function that waits for the compression of the rows so far. */
export async function openBook(
  stream: Writable,
): Promise<{ readonly book: WorkbookWriter; readonly compressed: () => Promise<unknown> }> {
  const { WorkbookWriter: Writer } = await import('@cj-tech-master/excelts');
  // Fixed times, so that equal rows give equal content.
  const epoch = new Date(0);
  const book = new Writer({ stream, useStyles: true, useSharedStrings: false, created: epoch, modified: epoch });
  return { book, compressed: followCompression(book) };
}

/** Adds a sheet with a frozen header, a filter over `rows` rows, column widths and formats. */
export function addSheet(
  book: WorkbookWriter,
  name: string,
  columns: readonly Pick<FileColumn, 'name' | 'kind'>[],
  widths: readonly number[],
  rows: number,
): ReturnType<WorkbookWriter['addWorksheet']> {
  const sheet = book.addWorksheet(name, { views: [{ state: 'frozen', ySplit: 1 }] });
  sheet.columns = columns.map(({ name: header, kind }, index) => {
    const numFmt = NUMBER_FORMATS[kind];
    return { header, width: widths[index] as number, ...(numFmt === undefined ? {} : { style: { numFmt } }) };
  });
  if (columns.length > 0) {
    sheet.autoFilter = { from: { row: 1, column: 1 }, to: { row: rows + 1, column: columns.length } };
  }
  return sheet;
}

/**
 * Returns a function that waits for the compression of the rows so far. The library returns no promise for a row, so that
 * rows would pile up in memory if they are read faster than compressed.
 */
function followCompression(book: WorkbookWriter): () => Promise<unknown> {
  let last: Promise<unknown> = Promise.resolve();
  const { zip } = book;
  const add = zip.add.bind(zip);
  zip.add = (file) => {
    const push = file.push.bind(file);
    file.push = (...given) => {
      const pushed = push(...given);
      last = Promise.resolve(pushed);
      return pushed;
    };
    add(file);
  };
  return () => last;
}

/** Returns the value of a cell. */
export function toCell(value: unknown, kind: FileColumn['kind'] | undefined): string | number | boolean | Date | null {
  if (value === null || typeof value === 'boolean') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  const text = String(value);
  if (kind === 'timestamp' || kind === 'day') {
    const at = Date.parse(text);
    if (at >= DAY_MIN && at < DAY_END) return new Date(at);
  }
  return escaped(text);
}

// XML cannot contain these characters. Excel writes them as _x000B_, and such text itself with an escaped underscore.
function escaped(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/_(?=x[0-9A-Fa-f]{4}_)/g, '_x005F_')
    .replaceAll(/(?![\t\n])\p{Cc}|[\uFFFE\uFFFF]/gu, (found) => {
      return `_x${found.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}_`;
    });
}

// Returns the widths of the columns.
async function measure(source: CopySource, selected: Selected): Promise<number[]> {
  const { columns } = rowsOf(selected, 'xlsx');
  const texts = columns.filter(({ kind }) => WIDTHS[kind] === undefined);
  const units = texts.map(({ sql }) => {
    // DuckDB counts code points; those beyond the basic plane have two units.
    return `length(${sql}) + CASE WHEN length(${sql}) > ${CELL_MAX / 2}
      THEN length(regexp_replace(${sql}, '[^\\x{10000}-\\x{10FFFF}]', '', 'g')) ELSE 0 END`;
  });
  const sums = units.flatMap((of) => [`max(${of})`, `count(*) FILTER (${of} > ${CELL_MAX})`]);
  const { source: from, ofBrands, ofDays } = selected;
  const [found = []] =
    sums.length === 0
      ? []
      : await source.query(`SELECT ${sums.join(', ')} FROM ${from} WHERE ${ofBrands} AND ${ofDays}`);
  for (const [index, { name }] of texts.entries()) {
    const long = Number(found[2 * index + 1]);
    if (long === 0) continue;
    const cells = `${selected.name} has ${long} values of ${name} with more than ${CELL_MAX} characters`;
    throw tooLarge(cells, `${CELL_MAX} characters in a cell`);
  }
  return columns.map(({ name, kind }) => {
    const longest = WIDTHS[kind] ?? Number(found[2 * texts.findIndex((one) => one.name === name)] ?? 0);
    return Math.min(WIDTH_MAX, Math.max(WIDTH_MIN, longest, name.length + FILTER_WIDTH));
  });
}

function tooLarge(problem: string, allowed: string): SightlineError {
  const hint = 'Select fewer rows with --from, --to and --brand, or other tables with --tables, or use --format csv.';
  return new SightlineError('usage', `--format xlsx: ${problem}; allowed: at most ${allowed}`, { hint });
}

// Excel compares the names of sheets without case.
function sheetName(table: string, taken: ReadonlySet<string>): string {
  const name = table.replaceAll(/[[\]:*?/\\]/g, '_');
  if (name.length <= SHEET_NAME_MAX && !taken.has(name.toLowerCase())) return name;
  for (let number = 2; ; number++) {
    const suffix = `~${number}`;
    const short = `${name.slice(0, SHEET_NAME_MAX - suffix.length)}${suffix}`;
    if (!taken.has(short.toLowerCase())) return short;
  }
}
