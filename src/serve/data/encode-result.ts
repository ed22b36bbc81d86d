import type { ColumnKind } from '../../contract/fields.ts';
import { encodeWorkbook } from '../../publish/snapshot/row-workbook.ts';
import { toExcelCsv } from '../../read/formats/csv.ts';
import { itemLines } from '../../read/formats/ndjson.ts';
import { encodeRows, type RowFormat, type TableFormat } from '../../read/formats/row-formats.ts';
import type { RowSet } from '../../read/service.ts';
import type { EncodeResult } from '../../warehouse/sql/guarded-protocol.ts';
import { toListPage } from './list-page.ts';

/** Format of a file with a result. */
export type FileFormat = RowFormat | 'csv-excel' | 'xlsx';

const NAME = 'query';
const INT64_MAX = 2n ** 63n;

/**
 * Encodes a result as a file, in the process that ran the query.
 *
 * @throws `query_limit` if it does not fit into a sheet
 */
export const encodeResult: EncodeResult = async (format, { columns, rows }) => {
  const page = toListPage({ columns: columns.map((column) => ({ ...column, about: '' })), rows });
  switch (format as FileFormat) {
    case 'xlsx':
      return encodeWorkbook(NAME, page.rows.columns, page.rows.rows());
    case 'csv-excel': {
      const { columns: shown, rows: values } = page.rows;
      const names = shown.map(({ name }) => name);
      return Buffer.from(toExcelCsv(names, values()));
    }
    case 'ndjson':
      return Buffer.from(itemLines(page.texts));
    default:
      return encodeRows(format as TableFormat, fitted(page.rows));
  }
};

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
