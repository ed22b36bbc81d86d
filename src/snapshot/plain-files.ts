import { mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { SightlineError } from '../base/errors.ts';
import { syncToDisk } from '../base/files.ts';
import type { ColumnKind } from '../contract/fields.ts';
import type { CopySource } from '../warehouse/file/copy-out.ts';
import { hashFile } from '../warehouse/file/hash-file.ts';
import { INSTANT, literal, quoted, utc } from '../warehouse/schema.ts';
import { type ParquetForm, parquetOptions } from './parquet.ts';
import type { Selected } from './selection.ts';

/** Formats of plain files and their file name extensions. */
export const FILE_FORMATS = { parquet: 'parquet', csv: 'csv', ndjson: 'ndjson', arrow: 'arrows' } as const;

/** One of FILE_FORMATS. */
export type FileFormat = keyof typeof FILE_FORMATS;

/** A file that was written. */
export interface PlainFile {
  /** Name of the table. */
  readonly name: string;
  readonly file: string;
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

/** Writes batches of rows to a file; for formats that DuckDB does not write. */
export type BatchWriter = (
  path: string,
  columns: readonly { readonly name: string; readonly kind: ColumnKind }[],
  batches: AsyncIterable<unknown[][]>,
) => Promise<void>;

/** Options of `writePlainFile`. */
export interface PlainOptions extends ParquetForm {
  readonly format: FileFormat;
  readonly writeArrow: BatchWriter;
}

/** Rows in memory at a time, for formats that DuckDB does not write. */
const BATCH_ROWS = 50_000;

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
  const forms = selected.columns.map(({ name, type }) => ({ name, ...formOf(name, type, format) }));
  const list = forms.map(({ name, sql }) => `${sql} AS ${quoted(name)}`).join(', ');
  const rowsSql = `SELECT ${list} FROM (SELECT * FROM ${selected.source} WHERE ${selected.ofBrands} AND ${selected.ofDays} ${selected.order})`;
  const { rows, cut } = await count(source, selected);
  let written = 0;
  if (format === 'arrow') {
    const counting = async function* (): AsyncGenerator<unknown[][]> {
      for await (const batch of source.batches(rowsSql, BATCH_ROWS)) {
        written += batch.length;
        yield batch;
      }
    };
    await writeArrow(path, forms, counting());
  } else written = await source.run(`COPY (${rowsSql}) TO ${literal(path)} (${optionsOf(format, form)})`);
  if (written !== rows) {
    throw new SightlineError('internal', `${selected.name}: ${written} of ${rows} rows were written`);
  }
  await syncToDisk(path);
  const { size } = await stat(path);
  return {
    name: selected.name,
    file,
    rows,
    bytes: size,
    sha256: await hashFile(path),
    time: selected.period?.column ?? null,
    cut,
  };
}

async function count(source: CopySource, selected: Selected): Promise<{ rows: number; cut: Cut }> {
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
  return { rows, cut: { omitted: all - rows, partial, from, to } };
}

function optionsOf(format: Exclude<FileFormat, 'arrow'>, form: ParquetForm): string {
  if (format === 'csv') return 'FORMAT csv, HEADER';
  return format === 'ndjson' ? 'FORMAT json' : parquetOptions(form);
}

interface Form {
  readonly sql: string;
  readonly kind: ColumnKind;
}

// Uses DuckDB's type, because the computed columns of a view are not declared.
function formOf(name: string, type: string, format: FileFormat): Form {
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
