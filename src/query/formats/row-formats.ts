import type { RowSet } from '../service.ts';

/** Formats of rows other than JSON. */
export type RowFormat = 'csv' | 'parquet' | 'arrow';

/**
 * Encodes rows as a file: RFC 4180 CSV in UTF-8, Parquet, or an Arrow IPC stream. Ids, texts and nested values are
 * strings, counts are 64-bit integers, times are UTC in microseconds; every column is nullable. The libraries are
 * loaded on first use.
 *
 * @throws TypeError naming the column if a value does not match the type of its column
 * @example
 * const bytes = await encodeRows('csv', answer.rows);
 */
export async function encodeRows(format: RowFormat, rows: RowSet): Promise<Uint8Array> {
  const whole = withColumns(rows);
  switch (format) {
    case 'csv': {
      const { toCsv } = await import('./csv.ts');
      const names = whole.columns.map(({ name }) => name);
      return new TextEncoder().encode(toCsv(names, whole.rows()));
    }
    case 'parquet': {
      const { toParquet } = await import('./parquet-rows.ts');
      return toParquet(whole);
    }
    case 'arrow': {
      const { toArrow } = await import('./arrow.ts');
      return toArrow(whole);
    }
  }
}

// Readers of all three formats reject a table without columns.
function withColumns(rows: RowSet): RowSet {
  if (rows.columns.length > 0) return rows;
  return { columns: [{ name: 'value', kind: 'json' }], rows: () => rows.rows().map(() => [null]) };
}
