import Negotiator from 'negotiator';
import type { ColumnKind } from '../../contract/fields.ts';
import { encodeRows, type RowFormat } from '../../query/formats/row-formats.ts';
import type { RowSet } from '../../query/service.ts';
import { encodeWorkbook } from '../../snapshot/row-workbook.ts';
import type { QueryResult } from '../../warehouse/reader.ts';
import { attachment, contentTypeOf, fileOf, formatOf } from '../http/content/negotiation.ts';
import { toListPage } from './page-tables.ts';

const XLSX = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';
const NAME = 'query';
const INT64_MAX = 2n ** 63n;

/** Format of a result; all but JSON are files to save. */
export type SqlFormat = 'json' | RowFormat | 'xlsx';

/** Returns the format that Accept prefers; JSON if no available format matches. */
export function sqlFormatOf(accept: string | undefined): SqlFormat {
  const chosen = new Negotiator({ headers: { accept } }).mediaType(['application/json', XLSX]);
  return chosen === XLSX ? 'xlsx' : formatOf(accept);
}

/** Encodes a result as a file. Throws `query_limit` if it does not fit into a sheet. */
export async function encodeFile(
  { columns, rows }: QueryResult,
  format: Exclude<SqlFormat, 'json'>,
): Promise<{ readonly headers: Record<string, string>; readonly bytes: Buffer }> {
  const page = toListPage({ columns: columns.map((column) => ({ ...column, about: '' })), rows });
  if (format === 'xlsx') {
    const headers = { 'content-type': XLSX, 'content-disposition': attachment(`${NAME}.xlsx`) };
    return { headers, bytes: await encodeWorkbook(NAME, page.rows.columns, page.rows.rows()) };
  }
  const headers = { 'content-type': contentTypeOf(format), 'content-disposition': fileOf(NAME, format) };
  if (format === 'ndjson') {
    return { headers, bytes: Buffer.from(page.items.map((item) => `${JSON.stringify(item)}\n`).join('')) };
  }
  return { headers, bytes: Buffer.from(await encodeRows(format, fitted(page.rows))) };
}

// JSON has no integers of 64 bits, NaN or infinite times, so the rows have texts for them. Columns with other texts become
// text.
function fitted({ columns, rows }: RowSet): RowSet {
  const all = rows();
  const fits = columns.map(({ kind }, index) => all.every((row) => isFitting(kind, row[index])));
  return {
    columns: columns.map((column, index) => (fits[index] === true ? column : { ...column, kind: 'text' })),
    rows: () =>
      all.map((row) => row.map((value, index) => toKind(fits[index] === true ? columns[index]?.kind : 'text', value))),
  };
}

function isFitting(kind: ColumnKind, value: unknown): boolean {
  if (typeof value !== 'string') return true;
  if (kind === 'integer') return BigInt(value) < INT64_MAX && BigInt(value) >= -INT64_MAX;
  return kind !== 'timestamp' || value.endsWith('Z');
}

function toKind(kind: ColumnKind | undefined, value: unknown): unknown {
  if (value === null) return null;
  if (kind === 'text') return typeof value === 'string' ? value : String(value);
  if (typeof value !== 'string') return value;
  if (kind === 'integer') return BigInt(value);
  return kind === 'number' ? Number(value) : value;
}
