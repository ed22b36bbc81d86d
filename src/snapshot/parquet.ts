import { createHash } from 'node:crypto';
import { chmod, mkdir, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { SightlineError } from '../base/errors.ts';
import { syncToDisk } from '../base/files.ts';
import type { WarehouseTable } from '../contract/catalogue.ts';
import type { Column } from '../contract/tables.ts';
import type { Session } from '../warehouse/database.ts';
import { readOpened } from '../warehouse/open-files.ts';
import { fileLiteral, literal, quoted } from '../warehouse/schema.ts';
import type { Scratch } from '../warehouse/scratch.ts';
import { hashedSql, sameSums, sumsSql, toSums } from './fingerprint.ts';
import type { Part } from './parts.ts';

/** Rows of a row group: DuckDB's own default, at which its readers are best. */
const ROW_GROUP_ROWS = 122_880;
/** Digits of a file's SHA-256 that make up its name. */
const NAME_DIGITS = 32;
const HASHED_AT_A_TIME_BYTES = 1024 * 1024;
/** For all to read and for nobody to write: a file may be part of many snapshots. */
const READ_ONLY = 0o444;

/** A file as it was written. */
export interface WrittenFile {
  /** Relative to the snapshot. */
  readonly path: string;
  readonly bytes: number;
  /** Hexadecimal. */
  readonly sha256: string;
}

/** How columns are written: the types that every BI tool reads. */
const parquetTypes: Readonly<Record<Column['kind'], string>> = {
  uuid: 'VARCHAR',
  text: 'VARCHAR',
  json: 'VARCHAR',
  integer: 'BIGINT',
  number: 'DOUBLE',
  boolean: 'BOOLEAN',
  timestamp: 'TIMESTAMP',
  day: 'DATE',
};

/** A table's columns as its Parquet files have them. */
export function parquetColumns(table: WarehouseTable): { name: string; type: string; about: string }[] {
  return table.columns.map(({ name, kind, about }) => ({ name, type: parquetTypes[kind], about }));
}

/** All that decides, beside the rows, what a table's files look like; `writer` is DuckDB's version. */
export function formOf(table: WarehouseTable, compression: string, writer: string): string {
  return JSON.stringify([copySql(table, '', '', compression), writer]);
}

/** Writes the rows of a part into a file aside, below `folder`; returns its path. */
export async function copyPart(
  session: Session,
  table: WarehouseTable,
  part: Part,
  folder: string,
  compression: string,
): Promise<string> {
  await mkdir(join(folder, part.folder), { recursive: true });
  const aside = join(folder, part.folder, 'aside.parquet');
  await session.run(copySql(table, part.where, aside, compression));
  return aside;
}

/**
 * Reads a file back that `copyPart` has written, with a database that has not written it, and names it by its content. What
 * was read must be what the warehouse holds, or `internal` is thrown and the file stays aside.
 */
export async function settlePart(
  scratch: Scratch,
  table: WarehouseTable,
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

async function checkFile(scratch: Scratch, table: WarehouseTable, part: Part, path: string): Promise<void> {
  const source = `read_parquet(${fileLiteral(path)}, hive_partitioning = false)`;
  const [row] = await scratch.all(`SELECT ${sumsSql} FROM (${hashedSql(table, source)})`);
  const read = toSums(row ?? {});
  if (sameSums(read, part.sums)) return;
  const told = JSON.stringify({ written: part.sums, read });
  throw new SightlineError('internal', `${part.folder}: what was written to Parquet does not read back: ${told}`);
}

// In the order of time, and of the key within it: readers prune by time, and equal data give equal files. Converted after
// they were put in order: texts are longer than ids.
function copySql(table: WarehouseTable, where: string, path: string, compression: string): string {
  const columns = table.columns.map(
    ({ name, kind }) => `CAST(${quoted(name)} AS ${parquetTypes[kind]}) AS ${quoted(name)}`,
  );
  // Weak readers take snappy only, and of a dictionary make texts out of numbers and nothing out of times
  // (parquetjs-lite 0.8): with snappy there is none, at 1.2 to 2.2 times the size. Who reads zstd reads both.
  const dictionary = compression === 'snappy' ? ', DICTIONARY_SIZE_LIMIT 0' : '';
  const order = [...(table.time === undefined ? [] : [table.time]), ...table.key].map(quoted);
  return `COPY (SELECT ${columns.join(', ')}
      FROM (SELECT * FROM ${quoted(table.name)} ${where} ORDER BY ${order.join(', ')}))
    TO ${literal(path)} (FORMAT parquet, COMPRESSION ${compression}, PARQUET_VERSION v1,
      ROW_GROUP_SIZE ${ROW_GROUP_ROWS}${dictionary}, KV_METADATA ${comments(table)})`;
}

// Parquet has no comments of its own; DuckDB's parquet_kv_metadata() and every library show these.
function comments(table: WarehouseTable): string {
  const columns = Object.fromEntries(table.columns.map(({ name, about }) => [name, about]));
  return `{about: ${literal(table.about)}, columns: ${literal(JSON.stringify(columns))}}`;
}

/**
 * Returns a file's SHA-256, hexadecimal. It uses one buffer, because those of a stream pile up until they are collected. The
 * file may be one that DuckDB has open.
 */
export async function hashFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  const buffer = Buffer.allocUnsafe(HASHED_AT_A_TIME_BYTES);
  return readOpened(path, async (readAt) => {
    for (let position = 0; ; ) {
      const bytesRead = await readAt(buffer, position);
      if (bytesRead === 0) return hash.digest('hex');
      hash.update(buffer.subarray(0, bytesRead));
      position += bytesRead;
    }
  });
}
