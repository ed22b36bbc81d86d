import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from 'hyparquet';
import parquetjs from 'parquetjs-lite';
import type { WarehouseTable } from '../../../src/contract/catalogue.ts';
import { parquetColumns } from '../../../src/publish/snapshot/parquet.ts';
import { INSTANT } from '../../../src/warehouse/schema.ts';
import type { OddWorkspace } from './odd-workspace.ts';

/** A row as comparable texts, by column. */
export type Comparable = Readonly<Record<string, string | null>>;

/** A Parquet reader that is independent of DuckDB. */
export interface ParquetReader {
  readonly name: string;
  /** Fractional digits of seconds that it keeps. */
  readonly digits: 3 | 6;
  read(path: string, types: Readonly<Record<string, string>>): Promise<Comparable[]>;
}

/** Two independent readers. */
export const readers = {
  hyparquet: {
    name: 'hyparquet',
    digits: 6,
    read: async (path, types) => {
      const parsers = { timestampFromMicroseconds: (micros: bigint) => micros };
      const rows = await parquetReadObjects({ file: await asyncBufferFromFile(path), parsers });
      return rows.map((row) => comparable(row, types));
    },
  },
  parquetjs: {
    name: 'parquetjs-lite',
    digits: 3,
    read: async (path, types) => {
      const reader = await parquetjs.ParquetReader.openFile(path);
      const cursor = reader.getCursor();
      const rows: Comparable[] = [];
      for (let row = await cursor.next(); row !== null; row = await cursor.next()) rows.push(comparable(row, types));
      await reader.close();
      return rows;
    },
  },
} as const satisfies Readonly<Record<string, ParquetReader>>;

/** Column types of a table's files, by name. */
export function typesOf(table: WarehouseTable): Readonly<Record<string, string>> {
  return Object.fromEntries(parquetColumns(table).map(({ name, type }) => [name, type]));
}

/** Returns the rows of a warehouse table as comparable texts; times with as many digits as the reader keeps. */
export async function warehouseRows(
  { query }: Pick<OddWorkspace, 'query'>,
  table: WarehouseTable,
  digits: 3 | 6,
): Promise<string[]> {
  const types = typesOf(table);
  const list = Object.entries(types).map(([name, type]) => {
    const divisor = digits === 3 ? ' // 1000' : '';
    if (type === INSTANT) return `CAST(epoch_us("${name}")${divisor} AS VARCHAR) AS "${name}"`;
    return type === 'DOUBLE' ? `"${name}"` : `CAST("${name}" AS VARCHAR) AS "${name}"`;
  });
  const rows = await query(`SELECT ${list.join(', ')} FROM "${table.name}"`);
  return lines(rows.map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, text(value)]))));
}

/** Returns rows as sorted lines, so that they can be compared as a multiset. */
export function lines(rows: readonly Comparable[]): string[] {
  return rows.map((row) => JSON.stringify(row)).sort();
}

/** Returns every file below a folder with its SHA-256. */
export function hashes(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return Object.fromEntries(
    files.map(({ parentPath, name }) => {
      const path = join(parentPath, name);
      return [path.slice(folder.length + 1), createHash('sha256').update(readFileSync(path)).digest('hex')];
    }),
  );
}

/** A file's metadata. */
export async function metadataOf(path: string) {
  return parquetMetadataAsync(await asyncBufferFromFile(path));
}

/** Converts a row to comparable texts. Times are bigint microseconds from one reader, and Date from the others. */
export function comparable(
  row: Readonly<Record<string, unknown>>,
  types: Readonly<Record<string, string>>,
): Comparable {
  const unknown = Object.keys(row).filter((name) => !(name in types));
  if (unknown.length > 0) throw new Error(`unknown columns: ${unknown.join(', ')}`);
  return Object.fromEntries(
    Object.entries(types).map(([name, type]) => {
      const value = row[name];
      if (typeof value === 'string' && type !== 'VARCHAR') throw new Error(`${name} is a string; expected: ${type}`);
      if (value instanceof Date)
        return [name, type === 'DATE' ? value.toISOString().slice(0, 10) : text(value.getTime())];
      return [name, text(value)];
    }),
  );
}

function text(value: unknown): string | null {
  return value === null || value === undefined ? null : String(value);
}
