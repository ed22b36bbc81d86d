import type { ListPage, RowSet } from '../service.ts';
import { endLine, itemLines } from './ndjson.ts';

/** Formats of flat rows. */
export type TableFormat = 'csv' | 'parquet' | 'arrow';

/** Formats of lists other than JSON. */
export type RowFormat = TableFormat | 'ndjson';

/** Encodes the pages of one list as one file. */
export interface RowEncoder {
  /**
   * Returns the next bytes of the file; none if the format waits for more rows. The columns of the first page are those of the
   * file.
   *
   * @throws TypeError naming the column if a value does not match the type of its column
   */
  encode(page: ListPage): Promise<Uint8Array>;
  /** Returns the rest of the file. Must follow at least one page. `nextCursor` is the cursor of the rows after the file, if any. */
  end(nextCursor?: string | null): Promise<Uint8Array>;
}

/**
 * Creates an encoder: RFC 4180 CSV in UTF-8, Parquet, an Arrow IPC stream, or a line of JSON per item. In the flat formats ids,
 * texts and nested values are strings, counts are 64-bit integers, times are UTC in microseconds; every column is nullable. The
 * last line of NDJSON is not an item but `{"_end":{"rows":n}}`, with `nextCursor` if more rows follow. The libraries are loaded on first use.
 *
 * @example
 * const encoder = await createRowEncoder('csv');
 * const file = Buffer.concat([await encoder.encode(page), await encoder.end()]);
 */
export async function createRowEncoder(format: RowFormat): Promise<RowEncoder> {
  if (format === 'ndjson') return createLineEncoder();
  const encoder = await createTableEncoder(format);
  return { encode: async ({ rows }) => encoder.encode(withColumns(rows)), end: async () => encoder.end() };
}

/** Encodes rows as a complete file, in a buffer of its own. */
export async function encodeRows(format: TableFormat, rows: RowSet): Promise<Uint8Array> {
  const encoder = await createRowEncoder(format);
  return new Uint8Array(Buffer.concat([await encoder.encode({ texts: [], rows }), await encoder.end()]));
}

/** Encodes flat rows, all with the same columns and at least one. */
interface TableEncoder {
  encode(rows: RowSet): Promise<Uint8Array> | Uint8Array;
  end(): Promise<Uint8Array> | Uint8Array;
}

async function createTableEncoder(format: TableFormat): Promise<TableEncoder> {
  switch (format) {
    case 'csv': {
      const { createCsvEncoder } = await import('./csv.ts');
      return createCsvEncoder();
    }
    case 'parquet': {
      const { createParquetEncoder } = await import('./parquet-rows.ts');
      return createParquetEncoder();
    }
    case 'arrow': {
      const { createArrowEncoder } = await import('./arrow.ts');
      return createArrowEncoder();
    }
  }
}

function createLineEncoder(): RowEncoder {
  let count = 0;
  return {
    encode: async ({ texts }) => {
      count += texts.length;
      return Buffer.from(itemLines(texts));
    },
    end: async (nextCursor = null) => Buffer.from(endLine(count, nextCursor)),
  };
}

// Readers of all flat formats reject a table without columns.
function withColumns(rows: RowSet): RowSet {
  if (rows.columns.length > 0) return rows;
  return { columns: [{ name: 'value', kind: 'json' }], rows: () => rows.rows().map(() => [null]) };
}
