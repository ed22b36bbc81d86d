import { mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { SightlineError } from '../../base/errors.ts';
import { syncToDisk } from '../../base/files.ts';
import type { ColumnKind } from '../../contract/fields.ts';
import type { CopySource } from '../../warehouse/file/copy-out.ts';
import { hashFile } from '../../warehouse/file/hash-file.ts';
import { INSTANT, literal, quoted, utc } from '../../warehouse/schema.ts';
import type { ChangeCounts } from './changes.ts';
import { EXCEL_CSV, FILE_FORMATS, type FileFormat } from './file-formats.ts';
import { type ParquetForm, parquetOptions } from './parquet.ts';
import type { Selected } from './selection.ts';

/** A table that was written to a file; a workbook has all tables. */
export interface PlainFile {
  /** Name of the table. */
  readonly name: string;
  readonly file: string;
  /** Name of the sheet, in a workbook. */
  readonly sheet?: string;
  /** Numbers of changes, in an incremental export. */
  readonly changes?: ChangeCounts;
  readonly rows: number;
  readonly bytes: number;
  /** Hexadecimal. */
  readonly sha256: string;
  /** Column by which rows were selected by day; null if the rows have no day, so that all of them were written. */
  readonly time: string | null;
  readonly cut: Cut;
}

/** Effect of selected days on a table. Days are YYYY-MM-DD, both included; null without rows or without a day. */
export interface Cut {
  /** Rows that were not written, because none of their days was selected. */
  readonly omitted: number;
  /** Written rows whose week, month or range has days that were not selected. */
  readonly partial: number;
  /** Days that the written rows cover. */
  readonly from: string | null;
  readonly to: string | null;
}

/** A column of a file. */
export interface FileColumn {
  readonly name: string;
  readonly kind: ColumnKind;
}

/** Writes batches of rows to a file; for formats that DuckDB does not write. */
export type BatchWriter = (
  path: string,
  columns: readonly FileColumn[],
  batches: AsyncIterable<unknown[][]>,
) => Promise<void>;

/** Options of `writePlainFile`. */
export interface PlainOptions extends ParquetForm {
  readonly format: Exclude<FileFormat, 'xlsx'>;
  readonly writeArrow: BatchWriter;
}

/** Rows in memory at a time, for formats that DuckDB does not write. */
const BATCH_ROWS = 50_000;

/** The rows of a table in the form of a file. */
export interface FileRows {
  readonly columns: readonly (FileColumn & { readonly sql: string })[];
  readonly sql: string;
}

/** Returns the columns of a table or view in a format, and the SQL of its rows. */
export function rowsOf(selected: Selected, format: FileFormat): FileRows {
  const columns = selected.columns.map(({ name, type }, index) => ({
    name: format === 'csv-excel' && index === 0 ? `${EXCEL_CSV.mark}${name}` : name,
    ...formOf(name, type, format),
  }));
  const list = columns.map(({ name, sql }) => `${sql} AS ${quoted(name)}`).join(', ');
  const { source, ofBrands, ofDays, order } = selected;
  return { columns, sql: `SELECT ${list} FROM (SELECT * FROM ${source} WHERE ${ofBrands} AND ${ofDays} ${order})` };
}

/**
 * Writes a table or view to one file in `folder`: ids as text, times in UTC, integers with 64 bits, all other numbers
 * as doubles, nested values as JSON. Equal rows give equal bytes.
 * @throws `internal` if not every row was written
 */
export async function writePlainFile(
  source: CopySource,
  selected: Selected,
  folder: string,
  { format, writeArrow, ...form }: PlainOptions,
): Promise<PlainFile> {
  await mkdir(folder, { recursive: true });
  const file = `${selected.name}.${FILE_FORMATS[format]}`;
  const path = join(folder, file);
  const { columns, sql } = rowsOf(selected, format);
  const counted = await countRows(source, selected);
  let written = 0;
  if (format === 'arrow') {
    const counting = async function* (): AsyncGenerator<unknown[][]> {
      for await (const batch of source.batches(sql, BATCH_ROWS)) {
        written += batch.length;
        yield batch;
      }
    };
    await writeArrow(path, columns, counting());
  } else written = await source.run(`COPY (${sql}) TO ${literal(path)} (${optionsOf(format, form)})`);
  checkWritten(selected, counted, written);
  await syncToDisk(path);
  const { size } = await stat(path);
  return { name: selected.name, file, bytes: size, sha256: await hashFile(path), ...counted };
}

/** Throws `internal` if a stream of rows has ended early. */
export function checkWritten({ name }: Selected, { rows }: CountedRows, written: number): void {
  if (written !== rows) throw new SightlineError('internal', `${name}: ${written} of ${rows} rows were written`);
}

/** The number of selected rows, and the effect of the selected days. */
export type CountedRows = Pick<PlainFile, 'rows' | 'time' | 'cut'>;

/** Counts the selected rows of a table or view. */
export async function countRows(source: CopySource, selected: Selected): Promise<CountedRows> {
  const { source: table, period, ofBrands, ofDays, isPartial } = selected;
  const days = period === null ? ['NULL', 'NULL'] : [`min(${period.first})`, `max(${period.last})`];
  const [counted = []] = await source.query(
    `SELECT (SELECT count(*) FROM ${table} WHERE ${ofBrands}), count(*), count(*) FILTER (${isPartial}),
       ${days.map((day) => `CAST(${day} AS VARCHAR)`).join(', ')}
     FROM ${table} WHERE ${ofBrands} AND ${ofDays}`,
  );
  const [all, rows, partial] = counted.slice(0, 3).map(Number) as [number, number, number];
  const [from, to] = counted.slice(3).map((day) => (day === null ? null : String(day))) as [
    string | null,
    string | null,
  ];
  return { rows, time: period?.column ?? null, cut: { omitted: all - rows, partial, from, to } };
}

function optionsOf(format: Exclude<PlainOptions['format'], 'arrow'>, form: ParquetForm): string {
  if (format === 'csv') return 'FORMAT csv, HEADER';
  if (format === 'csv-excel') return `FORMAT csv, HEADER, DELIMITER ${literal(EXCEL_CSV.separator)}`;
  return format === 'ndjson' ? 'FORMAT json' : parquetOptions(form);
}

interface Form {
  readonly sql: string;
  readonly kind: ColumnKind;
}

function formOf(name: string, type: string, format: FileFormat): Form {
  const { sql, kind } = plainForm(name, type, format);
  if (format !== 'csv-excel' || kind !== 'text') return { sql, kind };
  const isFormula = `regexp_matches(${sql}, ${literal(EXCEL_CSV.formula)})`;
  return { sql: `CASE WHEN ${isFormula} THEN concat(${literal(EXCEL_CSV.prefix)}, ${sql}) ELSE ${sql} END`, kind };
}

// Uses DuckDB's type, because the computed columns of a view are not declared.
function plainForm(name: string, type: string, format: FileFormat): Form {
  const column = quoted(name);
  const asText = format !== 'parquet';
  if (/^(U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER)$/.test(type))
    return { sql: `CAST(${column} AS BIGINT)`, kind: 'integer' };
  if (/^(FLOAT|DOUBLE|DECIMAL)/.test(type)) {
    const double = `CAST(${column} AS DOUBLE)`;
    // JSON has no NaN or Infinity; write null.
    const sql = format === 'ndjson' ? `CASE WHEN isfinite(${double}) THEN ${double} END` : double;
    return { sql, kind: 'number' };
  }
  if (type === 'BOOLEAN') return { sql: column, kind: 'boolean' };
  if (type === 'DATE') return { sql: asText ? `strftime(${column}, '%Y-%m-%d')` : column, kind: 'day' };
  if (type.startsWith('TIMESTAMP')) {
    const instant = `CAST(${column} AS ${INSTANT})`;
    return { sql: asText ? `strftime(${utc(instant)}, '%Y-%m-%dT%H:%M:%S.%fZ')` : instant, kind: 'timestamp' };
  }
  if (type === 'JSON') return { sql: format === 'ndjson' ? column : `CAST(${column} AS VARCHAR)`, kind: 'text' };
  const isNested = /\[\d*\]$|^(STRUCT|MAP|UNION)/.test(type);
  if (isNested) return { sql: format === 'ndjson' ? column : `CAST(to_json(${column}) AS VARCHAR)`, kind: 'text' };
  return { sql: `CAST(${column} AS VARCHAR)`, kind: 'text' };
}
