import { setImmediate } from 'node:timers/promises';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { writeMetadata } from 'hyparquet-writer/src/metadata.js';
import type { RowSet } from '../service.ts';
import { type Storage, toColumns } from './arrow-columns.ts';

type SchemaElement = ConstructorParameters<typeof ParquetWriter>[0]['schema'][number];

/** Rows per row group: about 100 ms of work, then the writer yields to the event loop. */
const ROW_GROUP_ROWS = 10_000;
/** `PAR1`, the magic number at both ends of a file. */
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

/** Encodes rows as a Parquet file for basic readers: flat, snappy, plain encoding, no dictionaries. */
export async function toParquet(rows: RowSet): Promise<Uint8Array> {
  const columns = toColumns(rows);
  const schema: SchemaElement[] = [
    { name: 'root', num_children: columns.length },
    ...columns.map(({ name, storage }): SchemaElement => ({ name, repetition_type: 'OPTIONAL', ...types[storage] })),
  ];
  const writer = new PatientWriter();
  const file = new ParquetWriter({ writer, schema, codec: 'SNAPPY' });
  await file.write({
    // parquetjs-lite 0.8 reads dictionary-encoded numbers as texts, and cannot read run-length-encoded booleans.
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

// The library calls `flush` after each row group and awaits it.
class PatientWriter extends ByteWriter {
  flush(): Promise<void> {
    return setImmediate();
  }
}

// The library writes version 2 into the footer, which parquetjs-lite rejects. The format asks writers for version 1,
// because the meaning of 2 is disputed: https://github.com/apache/parquet-format, FileMetaData in parquet.thrift.
function finish(writer: ByteWriter, { schema, num_rows, row_groups }: ParquetWriter): void {
  writeMetadata(writer, { version: 1, created_by: 'sightline', schema, num_rows, row_groups, metadata_length: 0 });
  writer.appendUint32(MAGIC);
}
