import { setImmediate } from 'node:timers/promises';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { writeMetadata } from 'hyparquet-writer/src/metadata.js';
import type { RowSet } from '../service.ts';
import { type Storage, toColumns } from './columns.ts';

type SchemaElement = ConstructorParameters<typeof ParquetWriter>[0]['schema'][number];

/** Rows of a row group: about 100 ms of work, after which others get their turn. */
const ROW_GROUP_ROWS = 10_000;
/** `PAR1`, the four bytes at both ends of a file. */
const MAGIC = 0x31_52_41_50;

const types: Readonly<Record<Storage, Pick<SchemaElement, 'type' | 'converted_type' | 'logical_type'>>> = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  integer: { type: 'INT64' },
  number: { type: 'DOUBLE' },
  boolean: { type: 'BOOLEAN' },
  micros: {
    type: 'INT64',
    converted_type: 'TIMESTAMP_MICROS',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' },
  },
  days: { type: 'INT32', converted_type: 'DATE', logical_type: { type: 'DATE' } },
};

/** Writes rows as a Parquet file that weak readers take too: flat, snappy, plain values, no dictionaries. */
export async function toParquet(rows: RowSet): Promise<Uint8Array> {
  const columns = toColumns(rows);
  const schema: SchemaElement[] = [
    { name: 'root', num_children: columns.length },
    ...columns.map(({ name, storage }): SchemaElement => ({ name, repetition_type: 'OPTIONAL', ...types[storage] })),
  ];
  const writer = new PatientWriter();
  const file = new ParquetWriter({ writer, schema, codec: 'SNAPPY' });
  await file.write({
    // Of a dictionary, parquetjs-lite 0.8 makes texts out of numbers; booleans in runs it cannot read at all.
    columnData: columns.map(({ name, values }) => ({
      name,
      data: values as (typeof values)[number][],
      encoding: 'PLAIN',
      offsetIndex: false,
    })),
    rowGroupSize: ROW_GROUP_ROWS,
  });
  finish(writer, file);
  return writer.getBytes();
}

// The library calls `flush` after each row group, and waits for it.
class PatientWriter extends ByteWriter {
  flush(): Promise<void> {
    return setImmediate();
  }
}

// The library's own end of a file says version 2, at which parquetjs-lite gives up. The format asks writers for 1,
// since nobody agrees on what 2 is: https://github.com/apache/parquet-format, FileMetaData in parquet.thrift.
function finish(writer: ByteWriter, { schema, num_rows, row_groups }: ParquetWriter): void {
  writeMetadata(writer, { version: 1, created_by: 'sightline', schema, num_rows, row_groups, metadata_length: 0 });
  writer.appendUint32(MAGIC);
}
