import { createHash, randomInt } from 'node:crypto';

/** A column of an Iceberg table. Readers match columns of files by id, not by name. */
export interface IcebergField {
  readonly id: number;
  readonly name: string;
  readonly required: false;
  readonly type: string;
  readonly doc: string;
}

/** One version of the columns of an Iceberg table. */
export interface IcebergSchema {
  readonly type: 'struct';
  readonly 'schema-id': number;
  readonly fields: readonly IcebergField[];
}

/** One version of the rows of an Iceberg table. */
export interface IcebergSnapshot {
  readonly 'snapshot-id': number;
  readonly 'parent-snapshot-id'?: number;
  readonly 'sequence-number': number;
  /** Epoch milliseconds. */
  readonly 'timestamp-ms': number;
  /** Address of its manifest list. */
  readonly 'manifest-list': string;
  readonly 'schema-id': number;
  readonly summary: Readonly<Record<string, string>>;
}

/** Partition of a table: the month of a time column. */
export interface IcebergPartition {
  readonly name: string;
  readonly sourceId: number;
}

/** The metadata of an Iceberg table without its snapshots. */
export interface IcebergShape {
  readonly uuid: string;
  /** Address of its folder. */
  readonly location: string;
  /** The last one is current. */
  readonly schemas: readonly IcebergSchema[];
  readonly lastColumnId: number;
  readonly partition: IcebergPartition | null;
}

/** A column of a snapshot. */
interface Column {
  readonly name: string;
  readonly type: string;
  readonly about: string;
}

/** Types of snapshots' Parquet files, with their names in Iceberg and in the engine. Times are UTC. */
const TYPES: Readonly<Record<string, { readonly iceberg: string; readonly engine: string }>> = {
  VARCHAR: { iceberg: 'string', engine: 'String' },
  BIGINT: { iceberg: 'long', engine: 'Int64' },
  DOUBLE: { iceberg: 'double', engine: 'Float64' },
  BOOLEAN: { iceberg: 'boolean', engine: 'Bool' },
  TIMESTAMPTZ: { iceberg: 'timestamptz', engine: "DateTime64(6, 'UTC')" },
  DATE: { iceberg: 'date', engine: 'Date32' },
};
const PARTITION_ID = 1000;
/** Ids stay below 2^48, so that readers in JavaScript do not round them. */
const SNAPSHOT_ID_MAX = 2 ** 48 - 1;

/** Returns the engine's name of a snapshot's column type; text for an unknown type. */
export function engineType(type: string): string {
  return TYPES[type]?.engine ?? 'String';
}

/**
 * Returns the shape of a table with these columns. A column keeps its id if `base` has one of the same name and type;
 * all others get new ids. `base` is null for a new table. `isKept` reports whether files written before still fit.
 */
export function shapeOf(
  base: IcebergShape | null,
  location: string,
  columns: readonly Column[],
  time: string | null,
): { shape: IcebergShape; isKept: boolean } {
  const before = base?.schemas.at(-1)?.fields ?? [];
  let lastColumnId = base?.lastColumnId ?? 0;
  const fields = columns.map(({ name, type, about }): IcebergField => {
    const iceberg = TYPES[type]?.iceberg ?? 'string';
    const same = before.find((field) => field.name === name && field.type === iceberg);
    if (same === undefined) lastColumnId += 1;
    return { id: same?.id ?? lastColumnId, name, required: false, type: iceberg, doc: about };
  });
  const source = fields.find(({ name }) => name === time);
  const partition = source === undefined ? null : { name: partitionName(source.name, columns), sourceId: source.id };
  if (base !== null && JSON.stringify([base.location, base.partition]) === JSON.stringify([location, partition])) {
    const isSame = JSON.stringify(before) === JSON.stringify(fields);
    const id = Math.max(...base.schemas.map((schema) => schema['schema-id'])) + 1;
    const schemas = isSame ? base.schemas : [...base.schemas, schema(id, fields)];
    const hasOtherType = before.some(({ name, type }) =>
      fields.some((field) => field.name === name && field.type !== type),
    );
    return { shape: { ...base, schemas, lastColumnId }, isKept: !hasOtherType };
  }
  // A table with another location or partition is a new table.
  if (base !== null) return { shape: shapeOf(null, location, columns, time).shape, isKept: false };
  const schemas = [schema(0, fields)];
  return { shape: { uuid: uuidOf(location, partition), location, schemas, lastColumnId, partition }, isKept: false };
}

/** Returns a random id for a new snapshot. */
export function newSnapshotId(): number {
  return randomInt(1, SNAPSHOT_ID_MAX);
}

/** Returns the fields of the partition spec, as used by tables and manifests. */
export function partitionFields({ partition }: Pick<IcebergShape, 'partition'>): Record<string, unknown>[] {
  if (partition === null) return [];
  const { name, sourceId } = partition;
  return [{ 'source-id': sourceId, 'field-id': PARTITION_ID, name, transform: 'month' }];
}

/**
 * Builds the content of a metadata file, version 2: https://iceberg.apache.org/spec/#table-metadata-fields. `snapshots`
 * are all readable snapshots, the current one last; empty for a table without rows. `now` is epoch milliseconds.
 */
export function toMetadata(
  shape: IcebergShape,
  snapshots: readonly IcebergSnapshot[],
  about: string,
  now: number,
): Record<string, unknown> {
  const { uuid, location, schemas, lastColumnId } = shape;
  const current = snapshots.at(-1);
  const id = current?.['snapshot-id'];
  return {
    'format-version': 2,
    'table-uuid': uuid,
    location,
    'last-sequence-number': Math.max(0, ...snapshots.map((each) => each['sequence-number'])),
    'last-updated-ms': Math.max(now, current?.['timestamp-ms'] ?? 0),
    'last-column-id': lastColumnId,
    'current-schema-id': schemas.at(-1)?.['schema-id'] ?? 0,
    schemas,
    'default-spec-id': 0,
    'partition-specs': [{ 'spec-id': 0, fields: partitionFields(shape) }],
    'last-partition-id': shape.partition === null ? PARTITION_ID - 1 : PARTITION_ID,
    'default-sort-order-id': 0,
    'sort-orders': [{ 'order-id': 0, fields: [] }],
    // Sightline cleans up by itself. Other engines must not, because snapshots share files.
    properties: { comment: about, 'gc.enabled': 'false', 'write.format.default': 'parquet' },
    'current-snapshot-id': id ?? -1,
    refs: id === undefined ? {} : { main: { 'snapshot-id': id, type: 'branch' } },
    snapshots,
    'snapshot-log': snapshots.map((each) => {
      return { 'timestamp-ms': each['timestamp-ms'], 'snapshot-id': each['snapshot-id'] };
    }),
    'metadata-log': [],
    statistics: [],
  };
}

// Derived from the location, so that two publishers that create a table at the same time create the same one.
function uuidOf(location: string, partition: IcebergPartition | null): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([location, partition]))
    .digest('hex');
  const variant = '89ab'[Number.parseInt(hash.slice(16, 17), 16) % 4];
  return [
    hash.slice(0, 8),
    hash.slice(8, 12),
    `8${hash.slice(13, 16)}`,
    `${variant}${hash.slice(17, 20)}`,
    hash.slice(20, 32),
  ].join('-');
}

function schema(id: number, fields: readonly IcebergField[]): IcebergSchema {
  return { type: 'struct', 'schema-id': id, fields };
}

// The partition must not have the name of a column.
function partitionName(time: string, columns: readonly Column[]): string {
  const name = `${time}_month`;
  return columns.some((column) => column.name === name) ? `${name}_partition` : name;
}
