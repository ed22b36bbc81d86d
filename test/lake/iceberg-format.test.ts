import { avroRead } from 'icebird';
import { expect, test } from 'vitest';
import { type AvroRecord, type AvroSchema, readAvro, writeAvro } from '../../src/lake/iceberg/avro.ts';
import { describeManifest, writeManifest, writeManifestList } from '../../src/lake/iceberg/manifests.ts';
import { shapeOf, toMetadata } from '../../src/lake/iceberg/metadata.ts';

const COLUMNS = [
  { name: 'id', type: 'VARCHAR', about: 'Id.' },
  { name: 'created_at', type: 'TIMESTAMPTZ', about: 'When.' },
  { name: 'n', type: 'BIGINT', about: 'Count.' },
];
const AT = 's3://lake/tables/facts';
const FILES = [
  { path: `${AT}/data/a.parquet`, rows: 2 ** 40, bytes: 5 },
  { path: `${AT}/data/b.parquet`, rows: 3, bytes: 7 },
];

/** Reads a container with icebird, which is independent of the writer. */
async function readByIcebird(file: Buffer): Promise<Record<string, unknown>[]> {
  const { avroMetadata } = await import('icebird');
  const reader = { view: new DataView(file.buffer, file.byteOffset, file.byteLength), offset: 0 };
  const { metadata, syncMarker } = avroMetadata(reader);
  return avroRead({ reader, metadata, syncMarker });
}

test('Avro records are read back as they were written, up to the limits of 64-bit integers', () => {
  const schema = {
    type: 'record',
    fields: [
      { name: 'long', type: 'long' },
      { name: 'maybe', type: ['null', 'string'] },
      { name: 'bytes', type: ['null', 'bytes'] },
      { name: 'list', type: { type: 'array', items: 'int' } },
      { name: 'flag', type: 'boolean' },
    ],
  } as AvroSchema;
  const longs = [0n, -1n, 63n, 64n, -64n, -65n, 2n ** 62n, -(2n ** 63n), 2n ** 63n - 1n];
  const records = longs.map((long, index): AvroRecord => {
    return {
      long,
      maybe: index % 2 === 0 ? null : `ä ${index}`,
      bytes: Buffer.from([index]),
      list: [index, -1 - index],
      flag: true,
    };
  });
  const whole = writeAvro(schema, {}, records);
  expect(readAvro(whole)).toEqual(records);
  expect(readAvro(writeAvro(schema, {}, []))).toEqual([]);
  expect(() => readAvro(whole.subarray(0, whole.length - 1))).toThrow('is truncated');
  expect(() => readAvro(Buffer.from('PAR1'))).toThrow('is not an Avro container');
});

test('manifests and manifest lists can be read by an independent reader', async () => {
  const { shape } = shapeOf(null, AT, COLUMNS, 'created_at');
  const head = { sequence: 7, snapshotId: 2 ** 47, month: -1 };
  const manifest = writeManifest(shape, FILES, { columnId: 2, min: -5n, max: 10n ** 15n }, head);
  const entries = await readByIcebird(manifest);
  expect(entries.map((entry) => entry['data_file'])).toMatchObject([
    { file_path: FILES[0]?.path, record_count: BigInt(2 ** 40), partition: { created_at_month: -1 } },
    { file_path: FILES[1]?.path, record_count: 3n, file_size_in_bytes: 7n, file_format: 'PARQUET' },
  ]);
  expect(entries[0]).toMatchObject({ status: 1, snapshot_id: BigInt(2 ** 47), sequence_number: 7n });
  // Every field has an id, for readers that match by id.
  const [, schema = ''] = /avro\.schema..(\{.+?\})[^\]}]avro\.codec/s.exec(manifest.toString('latin1')) ?? [];
  const fields = JSON.stringify(JSON.parse(schema)).match(/"name":"[a-z_]+","type"/g)?.length ?? 0;
  expect(schema.match(/"field-id":\d+/g)).toHaveLength(fields);

  const entry = describeManifest(`${AT}/metadata/m.avro`, manifest.length, FILES, head);
  const list = await readByIcebird(writeManifestList(shape, [entry, { ...entry, month: null }], head));
  expect(list).toMatchObject([
    {
      manifest_path: `${AT}/metadata/m.avro`,
      manifest_length: BigInt(manifest.length),
      added_rows_count: BigInt(2 ** 40 + 3),
    },
    { added_files_count: 2, partitions: [{ contains_null: true }] },
  ]);
});

test('a column keeps its id while its name and type stay, and an id is never reused', () => {
  const { shape: first } = shapeOf(null, AT, COLUMNS, 'created_at');
  const idsOf = (shape: typeof first): Record<string, number> =>
    Object.fromEntries(shape.schemas.at(-1)?.fields.map(({ name, id }) => [name, id]) ?? []);
  expect(idsOf(first)).toEqual({ id: 1, created_at: 2, n: 3 });
  const same = shapeOf(first, AT, COLUMNS, 'created_at');
  expect([same.isKept, same.shape]).toEqual([true, first]);
  const less = shapeOf(first, AT, COLUMNS.slice(0, 2), 'created_at');
  const more = shapeOf(less.shape, AT, COLUMNS, 'created_at');
  expect([less.isKept, more.isKept, idsOf(more.shape)]).toEqual([true, true, { id: 1, created_at: 2, n: 4 }]);
  expect(more.shape.schemas.map((schema) => schema['schema-id'])).toEqual([0, 1, 2]);
  const typed = shapeOf(first, AT, [...COLUMNS.slice(0, 2), { name: 'n', type: 'DOUBLE', about: '' }], 'created_at');
  expect([typed.isKept, idsOf(typed.shape)['n'], typed.shape.uuid]).toEqual([false, 4, first.uuid]);
  const moved = shapeOf(first, 's3://other/facts', COLUMNS, 'created_at');
  expect([moved.isKept, moved.shape.uuid === first.uuid]).toEqual([false, false]);
  const taken = shapeOf(null, AT, [...COLUMNS, { name: 'created_at_month', type: 'BIGINT', about: '' }], 'created_at');
  expect(taken.shape.partition?.name).toBe('created_at_month_partition');
});

test('metadata name the last snapshot as the current one', () => {
  const { shape } = shapeOf(null, AT, COLUMNS, null);
  const snapshot = (id: number, sequence: number) => {
    const address = `${AT}/metadata/snap-${id}.avro`;
    return {
      'snapshot-id': id,
      'sequence-number': sequence,
      'timestamp-ms': sequence,
      'manifest-list': address,
      'schema-id': 0,
      summary: {},
    };
  };
  const metadata = toMetadata(shape, [snapshot(5, 1), snapshot(9, 3)], 'Facts.', 1000);
  expect(metadata).toMatchObject({ 'current-snapshot-id': 9, 'last-sequence-number': 3, 'last-updated-ms': 1000 });
  expect(metadata).toMatchObject({ 'partition-specs': [{ fields: [] }], refs: { main: { 'snapshot-id': 9 } } });
});
