import { setImmediate } from 'node:timers/promises';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { writeMetadata } from 'hyparquet-writer/src/metadata.js';
import type { RowSet } from '../service.ts';
import { type Storage, type StoredColumn, toColumns } from './arrow-columns.ts';

type SchemaElement = ConstructorParameters<typeof ParquetWriter>[0]['schema'][number];

/** Rows per row group: about 40 ms of work with long texts, then the writer yields to the event loop. */
const ROW_GROUP_ROWS = 2_000;
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

/** Creates an encoder of a Parquet file for basic readers: flat, snappy, plain encoding, no dictionaries. */
export function createParquetEncoder() {
  const writer = new PatientWriter();
  let file: ParquetWriter | null = null;
  let waiting: StoredColumn[] = [];
  const write = async (): Promise<void> => {
    await file?.write({
      // parquetjs-lite 0.8 reads dictionary-encoded numbers as texts, and cannot read run-length-encoded booleans.
      columnData: waiting.map(({ name, values }) => ({
        name,
        data: values as (typeof values)[number][],
        encoding: 'PLAIN',
        offsetIndex: false,
      })),
      rowGroupSize: ROW_GROUP_ROWS,
    });
    waiting = waiting.map((column) => ({ ...column, values: [] }));
  };
  return {
    encode: async (rows: RowSet): Promise<Uint8Array> => {
      const columns = toColumns(rows);
      file ??= new ParquetWriter({ writer, schema: schemaOf(columns), codec: 'SNAPPY' });
      waiting = columns.map((column, index) => {
        return { ...column, values: [...(waiting[index]?.values ?? []), ...column.values] };
      });
      if ((waiting[0]?.values.length ?? 0) >= ROW_GROUP_ROWS) await write();
      return writer.take();
    },
    end: async (): Promise<Uint8Array> => {
      await write();
      if (file !== null) finish(writer, file);
      return writer.take();
    },
  };
}

function schemaOf(columns: readonly StoredColumn[]): SchemaElement[] {
  return [
    { name: 'root', num_children: columns.length },
    ...columns.map(({ name, storage }): SchemaElement => ({ name, repetition_type: 'OPTIONAL', ...types[storage] })),
  ];
}

// The library calls `flush` after each row group and awaits it.
class PatientWriter extends ByteWriter {
  flush(): Promise<void> {
    return setImmediate();
  }

  /** Returns the bytes written since the last call. */
  take(): Uint8Array {
    const bytes = this.getBytes().slice();
    this.index = 0;
    return bytes;
  }
}

// The library writes version 2 into the footer, which parquetjs-lite rejects. The format asks writers for version 1,
// because the meaning of 2 is disputed: https://github.com/apache/parquet-format, FileMetaData in parquet.thrift.
function finish(writer: ByteWriter, { schema, num_rows, row_groups }: ParquetWriter): void {
  writeMetadata(writer, { version: 1, created_by: 'sightline', schema, num_rows, row_groups, metadata_length: 0 });
  writer.appendUint32(MAGIC);
}
