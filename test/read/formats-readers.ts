import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import type { Table } from 'apache-arrow';
import type { ColumnKind } from '../../src/contract/fields.ts';
import type { RowSet } from '../../src/read/service.ts';
import { sharedBefore } from '../serve/served-world.ts';
import { temporaryFolder } from '../support/folders.ts';

/** A value as a comparable text. */
export type Cell = string | null;

/** DuckDB's column type for each kind. */
export const DUCKDB_TYPES: Readonly<Record<ColumnKind, string>> = {
  uuid: 'VARCHAR',
  text: 'VARCHAR',
  json: 'VARCHAR',
  integer: 'BIGINT',
  number: 'DOUBLE',
  boolean: 'BOOLEAN',
  timestamp: 'TIMESTAMP WITH TIME ZONE',
  day: 'DATE',
};

/** Arrow's column type for each kind. */
export const ARROW_TYPES: Readonly<Record<ColumnKind, string>> = {
  uuid: 'Utf8',
  text: 'Utf8',
  json: 'Utf8',
  integer: 'Int64',
  number: 'Float64',
  boolean: 'Bool',
  timestamp: 'Timestamp<MICROSECOND, UTC>',
  day: 'Date32<DAY>',
};

/** Rows as the read server encodes them. */
export function rowSet(columns: RowSet['columns'], rows: readonly (readonly unknown[])[]): RowSet {
  return { columns, rows: () => rows };
}

/** Converts every value to text in the smallest unit: microseconds and days since 1970. */
export function comparable({ columns, rows }: RowSet): Cell[][] {
  return rows().map((row) =>
    row.map((value, index) => {
      if (value === null) return null;
      const { kind } = columns[index] as RowSet['columns'][number];
      if (kind === 'timestamp') return String(microsOf(String(value)));
      return kind === 'day' ? String(Date.parse(`${value}T00:00:00Z`) / 86_400_000) : String(value);
    }),
  );
}

function microsOf(text: string): bigint {
  const [, whole = '', fraction = ''] = /^(.{19})(?:\.(\d+))?Z$/.exec(text) ?? [];
  return BigInt(Date.parse(`${whole}Z`)) * 1000n + BigInt(fraction.padEnd(6, '0'));
}

/** Converts a value from a Parquet reader to such a text. */
export function cell(value: unknown, kind: ColumnKind | undefined): Cell {
  if (value === null || value === undefined) return null;
  if (!(value instanceof Date)) return String(value);
  return String(kind === 'day' ? value.getTime() / 86_400_000 : value.getTime() * 1000);
}

/** Returns the rows of an Arrow table as such texts. */
export function fromArrow(table: Table, { columns }: RowSet): Cell[][] {
  return Array.from({ length: table.numRows }, (_, row) =>
    columns.map(({ kind }, index) => {
      const column = table.getChildAt(index);
      const value: unknown = column?.get(row);
      if (value === null || value === undefined) return null;
      // The library returns times as milliseconds in a double; the stream itself has more precision.
      if (kind === 'timestamp' || kind === 'day') return String(column?.data[0]?.values[row]);
      return String(value);
    }),
  );
}

/** Opens DuckDB before the tests of a file; returns a function that returns a connection. */
export function duckDbBefore(): () => DuckDBConnection {
  return sharedBefore(async (closeLater) => {
    const instance = await DuckDBInstance.create(':memory:');
    closeLater(async () => instance.closeSync());
    const connection = await instance.connect();
    closeLater(async () => connection.closeSync());
    return connection;
  });
}

/** Returns the types and rows that DuckDB reads from a file. */
export async function readWithDuckDb(
  connection: DuckDBConnection,
  source: string,
  { columns }: RowSet,
): Promise<[string[], Cell[][]]> {
  const described = await connection.runAndReadAll(`DESCRIBE SELECT * FROM ${source}`);
  const names = described.getRows().map(([name]) => `"${String(name).replaceAll('"', '""')}"`);
  const list = names.map((name, index) => {
    const { kind } = columns[index] as RowSet['columns'][number];
    if (kind === 'timestamp') return `CAST(epoch_us(${name}) AS VARCHAR)`;
    if (kind === 'day') return `CAST(datediff('day', DATE '1970-01-01', ${name}) AS VARCHAR)`;
    return kind === 'number' ? name : `CAST(${name} AS VARCHAR)`;
  });
  const read = await connection.runAndReadAll(`SELECT ${list.join(', ')} FROM ${source}`);
  const types = described.getRows().map(([, type]) => String(type));
  return [types, read.getRows().map((row) => row.map((value) => (value === null ? null : String(value))))];
}

/** Parses exactly RFC 4180; an unquoted empty field is a null. */
export function parseCsv(text: string): Cell[][] {
  const rows: Cell[][] = [[]];
  const pattern = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/y;
  while (pattern.lastIndex < text.length) {
    const at = pattern.lastIndex;
    const match = pattern.exec(text);
    if (match === null) throw new Error(`malformed at ${at}: ${JSON.stringify(text.slice(at, at + 40))}`);
    const [, quoted, bare, end] = match;
    rows.at(-1)?.push(quoted?.replaceAll('""', '"') ?? (bare === '' ? null : (bare ?? null)));
    if (end === '\r\n') rows.push([]);
  }
  return rows.slice(0, -1);
}

/** Decodes UTF-8 and rejects malformed input. */
export function decode(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
}

/** Returns only the bytes of a view, without the rest of its buffer. */
export function bufferOf(bytes: Uint8Array): ArrayBuffer {
  return bytes.slice().buffer as ArrayBuffer;
}

/** Writes a file that is deleted after the test. */
export async function save(name: string, bytes: Uint8Array): Promise<string> {
  const path = join(await temporaryFolder(), name);
  await writeFile(path, bytes);
  return path;
}
