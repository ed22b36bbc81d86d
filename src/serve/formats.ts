import type { RowSet } from './service.ts';

/** Formats of rows, beside JSON. */
export type RowFormat = 'csv' | 'parquet' | 'arrow';

/**
 * Writes rows as a file: RFC 4180 CSV in UTF-8, Parquet, or an Arrow IPC stream. Ids, texts and nested values are
 * texts, counts 64-bit integers, times UTC with microseconds; every column may be null. Throws a TypeError that names
 * the column where a value is not of its column's kind. The libraries are loaded when a format is first asked for.
 */
export async function encodeRows(format: RowFormat, rows: RowSet): Promise<Uint8Array> {
  const whole = withColumns(rows);
  switch (format) {
    case 'csv': {
      const { toCsv } = await import('./formats/csv.ts');
      const names = whole.columns.map(({ name }) => name);
      return new TextEncoder().encode(toCsv(names, whole.rows()));
    }
    case 'parquet': {
      const { toParquet } = await import('./formats/parquet.ts');
      return toParquet(whole);
    }
    case 'arrow': {
      const { toArrow } = await import('./formats/arrow.ts');
      return toArrow(whole);
    }
  }
}

// Readers of all three formats take a table without columns for a broken one.
function withColumns(rows: RowSet): RowSet {
  if (rows.columns.length > 0) return rows;
  return { columns: [{ name: 'value', kind: 'json' }], rows: () => rows.rows().map(() => [null]) };
}
