import type { AvroRecord, AvroSchema } from './avro.ts';
import { readAvro, writeAvro } from './avro.ts';
import { type IcebergShape, partitionFields } from './metadata.ts';

/** A data file as listed in a manifest. */
export interface DataFile {
  /** Address of the data file. */
  readonly path: string;
  readonly rows: number;
  readonly bytes: number;
}

/** A manifest as listed in the manifest list of a snapshot. */
export interface ManifestEntry {
  /** Address of the manifest. */
  readonly path: string;
  readonly bytes: number;
  /** Sequence number of the snapshot that added it. */
  readonly sequence: number;
  readonly snapshotId: number;
  readonly files: number;
  readonly rows: number;
  /** Month of all its rows, counted from January 1970; null for rows without a time and in unpartitioned tables. */
  readonly month: number | null;
}

/** The snapshot and partition of a manifest. */
export type ManifestHead = Pick<ManifestEntry, 'sequence' | 'snapshotId' | 'month'>;

/** Smallest and largest time in some files, microseconds since 1970, and the id of its column. */
export interface TimeBounds {
  readonly columnId: number;
  readonly min: bigint;
  readonly max: bigint;
}

const MONTH_BYTES = 4;
const TIME_BYTES = 8;

/** Reads a manifest that the engine wrote. Throws an Error if it lists anything but added data files. */
export function readEngineManifest(file: Buffer): DataFile[] {
  return readAvro(file).map((entry) => {
    const data = entry['data_file'] as AvroRecord;
    const rows = Number(data['record_count']);
    const bytes = Number(data['file_size_in_bytes']);
    if (entry['status'] !== 1 || data['content'] !== 0 || !Number.isSafeInteger(rows + bytes)) {
      throw new Error('lists something other than added data files');
    }
    return { path: String(data['file_path']), rows, bytes };
  });
}

/**
 * Builds a manifest of new data files, as in https://iceberg.apache.org/spec/#manifests. The engine's own manifest
 * lacks the field ids that most readers need, and names partitions after their column.
 */
export function writeManifest(
  shape: IcebergShape,
  files: readonly DataFile[],
  bounds: TimeBounds | null,
  { sequence, snapshotId, month }: ManifestHead,
): Buffer {
  const schema = shape.schemas.at(-1);
  const about = {
    schema: JSON.stringify(schema),
    'schema-id': String(schema?.['schema-id']),
    'partition-spec': JSON.stringify(partitionFields(shape)),
    'partition-spec-id': '0',
    'format-version': '2',
    content: 'data',
  };
  const bound = (value: bigint): AvroRecord[] => [{ key: bounds?.columnId ?? 0, value: toBytes(value, TIME_BYTES) }];
  const entries = files.map((file): AvroRecord => ({
    status: 1,
    snapshot_id: snapshotId,
    sequence_number: sequence,
    file_sequence_number: sequence,
    data_file: {
      content: 0,
      file_path: file.path,
      file_format: 'PARQUET',
      partition: shape.partition === null ? {} : { [shape.partition.name]: month },
      record_count: file.rows,
      file_size_in_bytes: file.bytes,
      lower_bounds: bounds === null ? null : bound(bounds.min),
      upper_bounds: bounds === null ? null : bound(bounds.max),
    },
  }));
  return writeAvro(entrySchema(shape), about, entries);
}

/** Returns the entry of a manifest list for a manifest of these files. */
export function describeManifest(
  path: string,
  bytes: number,
  files: readonly DataFile[],
  head: ManifestHead,
): ManifestEntry {
  const rows = files.reduce((sum, file) => sum + file.rows, 0);
  return { path, bytes, ...head, files: files.length, rows };
}

/** Builds the manifest list of a snapshot: https://iceberg.apache.org/spec/#manifest-lists. */
export function writeManifestList(
  shape: IcebergShape,
  manifests: readonly ManifestEntry[],
  { sequence, snapshotId }: Pick<ManifestEntry, 'sequence' | 'snapshotId'>,
): Buffer {
  const about = {
    'snapshot-id': String(snapshotId),
    'sequence-number': String(sequence),
    'format-version': '2',
  };
  const records = manifests.map((manifest): AvroRecord => {
    const month = manifest.month === null ? null : toBytes(manifest.month, MONTH_BYTES);
    const summary = { contains_null: month === null, contains_nan: false, lower_bound: month, upper_bound: month };
    return {
      manifest_path: manifest.path,
      manifest_length: manifest.bytes,
      partition_spec_id: 0,
      content: 0,
      sequence_number: manifest.sequence,
      min_sequence_number: manifest.sequence,
      added_snapshot_id: manifest.snapshotId,
      added_files_count: manifest.files,
      existing_files_count: 0,
      deleted_files_count: 0,
      added_rows_count: manifest.rows,
      existing_rows_count: 0,
      deleted_rows_count: 0,
      partitions: shape.partition === null ? [] : [summary],
    };
  });
  return writeAvro(LIST_SCHEMA, about, records);
}

function toBytes(value: number | bigint, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  if (length === MONTH_BYTES) bytes.writeInt32LE(Number(value));
  else bytes.writeBigInt64LE(BigInt(value));
  return bytes;
}

const field = (id: number, name: string, type: AvroSchema) => ({ name, type, 'field-id': id });
const optional = (id: number, name: string, type: AvroSchema) => {
  return { name, type: ['null', type] as const, default: null, 'field-id': id };
};
// Avro maps have only string keys, so other maps are arrays of pairs.
const byColumn = (id: number, name: string, key: number, value: number, type: string) =>
  optional(id, name, {
    type: 'array',
    items: {
      type: 'record',
      name: `k${key}_v${value}`,
      fields: [field(key, 'key', 'int'), field(value, 'value', type)],
    },
    logicalType: 'map',
  } as AvroSchema);

function entrySchema({ partition }: IcebergShape): AvroSchema {
  const fields = partition === null ? [] : [optional(1000, partition.name, 'int')];
  const dataFile = [
    field(134, 'content', 'int'),
    field(100, 'file_path', 'string'),
    field(101, 'file_format', 'string'),
    field(102, 'partition', { type: 'record', name: 'r102', fields } as AvroSchema),
    field(103, 'record_count', 'long'),
    field(104, 'file_size_in_bytes', 'long'),
    byColumn(108, 'column_sizes', 117, 118, 'long'),
    byColumn(109, 'value_counts', 119, 120, 'long'),
    byColumn(110, 'null_value_counts', 121, 122, 'long'),
    byColumn(137, 'nan_value_counts', 138, 139, 'long'),
    byColumn(125, 'lower_bounds', 126, 127, 'bytes'),
    byColumn(128, 'upper_bounds', 129, 130, 'bytes'),
    optional(131, 'key_metadata', 'bytes'),
    optional(132, 'split_offsets', { type: 'array', items: 'long', 'element-id': 133 } as AvroSchema),
    optional(135, 'equality_ids', { type: 'array', items: 'int', 'element-id': 136 } as AvroSchema),
    optional(140, 'sort_order_id', 'int'),
  ];
  return {
    type: 'record',
    name: 'manifest_entry',
    fields: [
      field(0, 'status', 'int'),
      optional(1, 'snapshot_id', 'long'),
      optional(3, 'sequence_number', 'long'),
      optional(4, 'file_sequence_number', 'long'),
      field(2, 'data_file', { type: 'record', name: 'r2', fields: dataFile } as AvroSchema),
    ],
  } as AvroSchema;
}

const LIST_SCHEMA = {
  type: 'record',
  name: 'manifest_file',
  fields: [
    field(500, 'manifest_path', 'string'),
    field(501, 'manifest_length', 'long'),
    field(502, 'partition_spec_id', 'int'),
    field(517, 'content', 'int'),
    field(515, 'sequence_number', 'long'),
    field(516, 'min_sequence_number', 'long'),
    field(503, 'added_snapshot_id', 'long'),
    field(504, 'added_files_count', 'int'),
    field(505, 'existing_files_count', 'int'),
    field(506, 'deleted_files_count', 'int'),
    field(512, 'added_rows_count', 'long'),
    field(513, 'existing_rows_count', 'long'),
    field(514, 'deleted_rows_count', 'long'),
    optional(507, 'partitions', {
      type: 'array',
      items: {
        type: 'record',
        name: 'r508',
        fields: [
          field(509, 'contains_null', 'boolean'),
          optional(518, 'contains_nan', 'boolean'),
          optional(510, 'lower_bound', 'bytes'),
          optional(511, 'upper_bound', 'bytes'),
        ],
      },
      'element-id': 508,
    } as AvroSchema),
    optional(519, 'key_metadata', 'bytes'),
  ],
} as AvroSchema;
