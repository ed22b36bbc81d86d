import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { SightlineError } from '../base/errors.ts';
import { syncToDisk } from '../base/files.ts';
import type { WarehouseTable } from '../contract/catalogue.ts';
import type { Column } from '../contract/tables.ts';
import type { Session } from '../warehouse/database.ts';
import { literal, quoted } from '../warehouse/schema.ts';

/** Rows of a row group: DuckDB's own default, at which its readers are best. */
const ROW_GROUP_ROWS = 122_880;
/** Digits of a file's SHA-256 that make up its name. */
const NAME_DIGITS = 32;

/** A Parquet file of a snapshot, as the manifest lists it. */
export interface SnapshotFile {
  /** Relative to the snapshot. */
  readonly path: string;
  readonly rows: number;
  readonly bytes: number;
  /** Hexadecimal. */
  readonly sha256: string;
  /** Least and greatest value of the table's time column, ISO 8601; null without rows or without such a column. */
  readonly min: string | null;
  readonly max: string | null;
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

/**
 * Writes a table into `folder`/<table>: one file, or one for each month where the table's rows have a time; a table
 * without rows still gets a file, so that its columns can be seen. Files are named by their content.
 */
export async function writeTable(
  session: Session,
  table: WarehouseTable,
  folder: string,
  options: { compression: string; month: string },
): Promise<SnapshotFile[]> {
  const files: SnapshotFile[] = [];
  for (const part of await partsOf(session, table, options.month)) {
    const subfolder = part.month === null ? table.name : `${table.name}/month=${part.month}`;
    await mkdir(join(folder, subfolder), { recursive: true });
    const aside = join(folder, subfolder, 'aside.parquet');
    const rows = await session.run(copySql(table, part.where, aside, options.compression));
    if (rows !== part.rows) {
      throw new SightlineError('internal', `${table.name}: ${rows} of ${part.rows} rows were written to Parquet`);
    }
    const sha256 = await hashFile(aside);
    const path = `${subfolder}/${sha256.slice(0, NAME_DIGITS)}.parquet`;
    await rename(aside, join(folder, path));
    await syncToDisk(join(folder, path));
    await syncToDisk(join(folder, subfolder));
    const { size } = await stat(join(folder, path));
    files.push({ path, rows, bytes: size, sha256, min: part.min, max: part.max });
  }
  return files;
}

interface Part {
  readonly month: string | null;
  readonly where: string;
  readonly rows: number;
  readonly min: string | null;
  readonly max: string | null;
}

async function partsOf(session: Session, table: WarehouseTable, month: string): Promise<Part[]> {
  const time = table.time === undefined ? null : quoted(table.time);
  const shown = (value: string): string => (time === null ? 'NULL' : `strftime(${value}, '%Y-%m-%dT%H:%M:%S.%fZ')`);
  const monthSql = time === null ? 'NULL' : `strftime(${time}, '%Y-%m')`;
  const startSql = time === null ? 'NULL' : `CAST(date_trunc('month', ${time}) AS VARCHAR)`;
  const found = await session.all(
    `SELECT ${monthSql} AS month, ${startSql} AS start, count(*) AS rows, ${shown(`min(${time ?? 'NULL'})`)} AS min,
       ${shown(`max(${time ?? 'NULL'})`)} AS max FROM ${quoted(table.name)} GROUP BY 1, 2 ORDER BY 2`,
  );
  if (time === null) return [{ month: null, where: '', rows: Number(found[0]?.['rows'] ?? 0), min: null, max: null }];
  if (found.length === 0) return [{ month, where: '', rows: 0, min: null, max: null }];
  return found.map((row) => {
    const of = row['month'] === null ? null : String(row['month']);
    // As a range, which lets DuckDB skip what other months hold.
    const start = `CAST(${literal(String(row['start']))} AS TIMESTAMP)`;
    const range = `WHERE ${time} >= ${start} AND ${time} < ${start} + INTERVAL 1 MONTH`;
    const where = of === null ? `WHERE ${time} IS NULL` : range;
    const text = (name: string): string | null => (row[name] === null ? null : String(row[name]));
    return { month: of ?? 'unknown', where, rows: Number(row['rows']), min: text('min'), max: text('max') };
  });
}

// In the order of time, and of the key within it: readers prune by time, and equal data give equal files.
function copySql(table: WarehouseTable, where: string, path: string, compression: string): string {
  const columns = table.columns.map(
    ({ name, kind }) => `CAST(${quoted(name)} AS ${parquetTypes[kind]}) AS ${quoted(name)}`,
  );
  // Weak readers take snappy only, and of a dictionary make texts out of numbers and nothing out of times
  // (parquetjs-lite 0.8): with snappy there is none, at 1.2 to 2.2 times the size. Who reads zstd reads both.
  const dictionary = compression === 'snappy' ? ', DICTIONARY_SIZE_LIMIT 0' : '';
  const order = [...(table.time === undefined ? [] : [table.time]), ...table.key].map(quoted);
  return `COPY (SELECT ${columns.join(', ')} FROM ${quoted(table.name)} ${where} ORDER BY ${order.join(', ')})
    TO ${literal(path)} (FORMAT parquet, COMPRESSION ${compression}, PARQUET_VERSION v1,
      ROW_GROUP_SIZE ${ROW_GROUP_ROWS}${dictionary})`;
}

async function hashFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk as Uint8Array);
  return hash.digest('hex');
}
