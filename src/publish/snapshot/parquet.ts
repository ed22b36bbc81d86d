import { chmod, mkdir, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { SightlineError } from '../../base/errors.ts';
import { syncToDisk } from '../../base/files.ts';
import type { Column } from '../../contract/tables.ts';
import type { Session } from '../../warehouse/database.ts';
import { hashFile } from '../../warehouse/file/hash-file.ts';
import { fileLiteral, INSTANT, literal, quoted } from '../../warehouse/schema.ts';
import type { Scratch } from '../../warehouse/scratch.ts';
import { type ExportedTable, sourceOf } from './exported-table.ts';
import { sumsOf } from './fingerprint.ts';
import type { Part } from './parts.ts';

/** Rows of a row group: DuckDB's default, at which its readers are fastest. */
const ROW_GROUP_ROWS = 122_880;
/** Digits of a file's SHA-256 in its name. */
const NAME_DIGITS = 32;
/** Readable by all and writable by nobody, because a file may be part of many snapshots. */
const READ_ONLY = 0o444;

/** A written file. */
export interface WrittenFile {
  /** Relative to the snapshot. */
  readonly path: string;
  readonly bytes: number;
  /** Hexadecimal. */
  readonly sha256: string;
}

/** Settings that determine how Parquet files are written. */
export interface ParquetForm {
  readonly compression: string;
  /** `compatible` omits dictionaries and bloom filters, for readers that misread dictionaries; default: `standard`. */
  readonly parquet?: 'standard' | 'compatible';
}

/** Returns the options of a COPY statement that writes Parquet. DuckDB adds bloom filters to columns with a dictionary. */
export function parquetOptions({ compression, parquet }: ParquetForm): string {
  const dictionary = parquet === 'compatible' ? ', DICTIONARY_SIZE_LIMIT 0' : '';
  return `FORMAT parquet, COMPRESSION ${compression}, PARQUET_VERSION v1${dictionary}`;
}

/** Parquet types of the column kinds; every BI tool reads them. */
const parquetTypes: Readonly<Record<Column['kind'], string>> = {
  uuid: 'VARCHAR',
  text: 'VARCHAR',
  json: 'VARCHAR',
  integer: 'BIGINT',
  number: 'DOUBLE',
  boolean: 'BOOLEAN',
  timestamp: INSTANT,
  day: 'DATE',
};

/** Returns the columns of a table's Parquet files. */
export function parquetColumns(table: ExportedTable): { name: string; type: string; about: string }[] {
  return table.columns.map(({ name, kind, about }) => ({ name, type: parquetTypes[kind], about }));
}

/** Returns a text of everything besides the rows that determines a table's files; `writer` is DuckDB's version. */
export function formOf(table: ExportedTable, form: ParquetForm, writer: string): string {
  return JSON.stringify([copySql(table, '', '', form), writer]);
}

/** Writes the rows of a part to a temporary file below `folder` and returns its path. */
export async function copyPart(
  session: Session,
  table: ExportedTable,
  part: Part,
  folder: string,
  form: ParquetForm,
): Promise<string> {
  await mkdir(join(folder, part.folder), { recursive: true });
  // Parts of a month are written at the same time.
  const aside = join(folder, part.folder, `aside-${part.sums.sum}.parquet`);
  await session.run(copySql(table, part.where, aside, form));
  return aside;
}

/**
 * Reads a file of `copyPart` back, with another database than the one that wrote it, and names it by its content.
 * @throws `internal` if the rows differ from those of the warehouse; the temporary file then stays
 */
export async function settlePart(
  scratch: Scratch,
  table: ExportedTable,
  part: Part,
  folder: string,
  aside: string,
): Promise<WrittenFile> {
  await checkFile(scratch, table, part, aside);
  const sha256 = await hashFile(aside);
  const path = `${part.folder}/${sha256.slice(0, NAME_DIGITS)}.parquet`;
  await chmod(aside, (await stat(aside)).mode & READ_ONLY);
  await rename(aside, join(folder, path));
  await syncToDisk(join(folder, path));
  await syncToDisk(join(folder, part.folder));
  const { size } = await stat(join(folder, path));
  return { path, bytes: size, sha256 };
}

async function checkFile(scratch: Scratch, table: ExportedTable, part: Part, path: string): Promise<void> {
  const source = `read_parquet(${fileLiteral(path)}, hive_partitioning = false)`;
  const read = await sumsOf(scratch, table, source);
  if (isDeepStrictEqual(read, part.sums)) return;
  const details = JSON.stringify({ written: part.sums, read });
  throw new SightlineError(
    'internal',
    `${part.folder}: the rows read back from Parquet differ from those written: ${details}`,
  );
}

/**
 * Returns the columns by which a table's files are sorted. Tables with a time and a brand are sorted by brand first: a
 * file has one month, so readers skip other months by file, and other brands and days by row group.
 */
export function sortOf({ time, key, columns }: ExportedTable): string[] {
  const brand = columns.filter(({ name }) => time !== undefined && name === 'brand_id').map(({ name }) => name);
  return [...new Set([...brand, ...(time === undefined ? [] : [time]), ...key])];
}

// Sorted completely, because equal data must give equal files. Ids are converted after the sort, because text is longer
// than ids.
function copySql(table: ExportedTable, where: string, path: string, form: ParquetForm): string {
  const columns = table.columns.map(
    ({ name, kind }) => `CAST(${quoted(name)} AS ${parquetTypes[kind]}) AS ${quoted(name)}`,
  );
  return `COPY (SELECT ${columns.join(', ')}
      FROM (SELECT * FROM ${sourceOf(table)} ${where} ORDER BY ${sortOf(table).map(quoted).join(', ')}))
    TO ${literal(path)} (${parquetOptions(form)}, ROW_GROUP_SIZE ${ROW_GROUP_ROWS}, KV_METADATA ${metadata(table)})`;
}

// Parquet has no column comments, and DuckDB does not write sorting_columns. DuckDB's parquet_kv_metadata() and every
// library show this metadata.
function metadata(table: ExportedTable): string {
  const columns = Object.fromEntries(table.columns.map(({ name, about }) => [name, about]));
  const sorted = literal(JSON.stringify(sortOf(table)));
  return `{about: ${literal(table.about)}, columns: ${literal(JSON.stringify(columns))}, sorted_by: ${sorted}}`;
}
