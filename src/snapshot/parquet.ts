import { chmod, mkdir, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { SightlineError } from '../base/errors.ts';
import { syncToDisk } from '../base/files.ts';
import type { WarehouseTable } from '../contract/catalogue.ts';
import type { Column } from '../contract/tables.ts';
import type { Session } from '../warehouse/database.ts';
import { hashFile } from '../warehouse/file/hash-file.ts';
import { fileLiteral, INSTANT, literal, quoted } from '../warehouse/schema.ts';
import type { Scratch } from '../warehouse/scratch.ts';
import { hashedSql, sameSums, sumsSql, toSums } from './fingerprint.ts';
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
export function parquetColumns(table: WarehouseTable): { name: string; type: string; about: string }[] {
  return table.columns.map(({ name, kind, about }) => ({ name, type: parquetTypes[kind], about }));
}

/** Returns a text of everything besides the rows that determines a table's files; `writer` is DuckDB's version. */
export function formOf(table: WarehouseTable, compression: string, writer: string): string {
  return JSON.stringify([copySql(table, '', '', compression), writer]);
}

/** Writes the rows of a part to a temporary file below `folder` and returns its path. */
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
 * Reads a file of `copyPart` back, with another database than the one that wrote it, and names it by its content.
 * @throws `internal` if the rows differ from those of the warehouse; the temporary file then stays
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
  const details = JSON.stringify({ written: part.sums, read });
  throw new SightlineError(
    'internal',
    `${part.folder}: the rows read back from Parquet differ from those written: ${details}`,
  );
}

// Ordered by time, then by key, because readers prune by time and equal data must give equal files. Ids are converted
// after the sort, because text is longer than ids.
function copySql(table: WarehouseTable, where: string, path: string, compression: string): string {
  const columns = table.columns.map(
    ({ name, kind }) => `CAST(${quoted(name)} AS ${parquetTypes[kind]}) AS ${quoted(name)}`,
  );
  // Limited readers (parquetjs-lite 0.8) support only snappy and misread dictionaries: numbers become text and times
  // are lost. With snappy, dictionaries are therefore off, at 1.2 to 2.2 times the size. Readers of zstd support
  // dictionaries.
  const dictionary = compression === 'snappy' ? ', DICTIONARY_SIZE_LIMIT 0' : '';
  const order = [...(table.time === undefined ? [] : [table.time]), ...table.key].map(quoted);
  return `COPY (SELECT ${columns.join(', ')}
      FROM (SELECT * FROM ${quoted(table.name)} ${where} ORDER BY ${order.join(', ')}))
    TO ${literal(path)} (FORMAT parquet, COMPRESSION ${compression}, PARQUET_VERSION v1,
      ROW_GROUP_SIZE ${ROW_GROUP_ROWS}${dictionary}, KV_METADATA ${comments(table)})`;
}

// Parquet has no column comments. DuckDB's parquet_kv_metadata() and every library show this metadata.
function comments(table: WarehouseTable): string {
  const columns = Object.fromEntries(table.columns.map(({ name, about }) => [name, about]));
  return `{about: ${literal(table.about)}, columns: ${literal(JSON.stringify(columns))}}`;
}
