import type { Catalogue } from '../../contract/catalogue.ts';
import type { JsonSchema, Refer } from '../../contract/json-schema.ts';
import { MEDIA_TYPES } from '../http/content/negotiation.ts';
import { LIVE_PATH, READY_PATH, SNAPSHOT_FILE_PATHS, SNAPSHOT_MANIFEST_PATH, SNAPSHOTS_PATH } from '../http/paths.ts';
import { fileHeaders, type Json, probeHeaders, serverHeaders } from './header-objects.ts';
import { ifNoneMatch } from './resource-operation.ts';
import { json, object, pathParameter, type ServerOperation, text } from './server-operation.ts';

/** The tag of these operations. */
export const SERVER_TAG = { name: 'server', description: 'Published snapshots, and probes of the server.' };

interface ServerPathsParts {
  readonly catalogue: Catalogue;
  readonly rateLimit: number | null;
  readonly refer: Refer;
}

/** Returns the operations of snapshots and probes by path. */
export function serverOperations({ catalogue, rateLimit, refer }: ServerPathsParts): Record<string, ServerOperation> {
  const [plainFile, monthlyFile] = SNAPSHOT_FILE_PATHS;
  return {
    [SNAPSHOTS_PATH]: snapshotList(refer, rateLimit),
    [SNAPSHOT_MANIFEST_PATH]: snapshotManifest(refer, rateLimit),
    [plainFile]: snapshotFile(catalogue, rateLimit, false),
    [monthlyFile]: snapshotFile(catalogue, rateLimit, true),
    [LIVE_PATH]: liveness(refer),
    [READY_PATH]: readiness(refer),
  };
}

function snapshotList(refer: Refer, rateLimit: number | null): ServerOperation {
  const snapshot = object(
    {
      id: snapshotId,
      createdAt: { ...time, description: 'When the data were read.' },
      rows: { ...count, description: 'Rows of all tables.' },
      bytes: { ...count, description: 'Bytes of all files.' },
      files: { ...count, description: 'Number of files.' },
      manifest: { ...text, format: 'uri-reference', description: 'Path of the manifest, relative to the server.' },
    },
    'A published snapshot.',
  );
  const properties = {
    latest: { type: ['string', 'null'], description: 'Id of the newest snapshot; null if there is none.' },
    snapshots: { type: 'array', description: 'The snapshots, newest first.', items: refer('Snapshot', snapshot) },
  };
  const schema = refer('SnapshotList', object(properties, 'The published snapshots.'));
  const { id, createdAt } = exampleManifest;
  const manifest = SNAPSHOT_MANIFEST_PATH.replace('{id}', id);
  const example = { latest: id, snapshots: [{ id, createdAt, rows: 40, bytes: 2_048, files: 1, manifest }] };
  return {
    operationId: 'list_snapshots',
    summary: 'Published snapshots',
    description: 'The published Parquet snapshots, newest first.',
    responses: { 200: json('The list.', serverHeaders(rateLimit), schema, example) },
    kind: {},
  };
}

function snapshotManifest(refer: Refer, rateLimit: number | null): ServerOperation {
  const schema = refer('SnapshotManifest', manifestSchema(refer));
  const headers = fileHeaders(rateLimit);
  return {
    operationId: 'get_snapshot_manifest',
    summary: 'Manifest of a snapshot',
    description: 'The tables, columns and files of a snapshot, with the size and hash of each file.',
    parameters: [idParameter, ifNoneMatch],
    responses: {
      200: json('The manifest.', headers, schema, exampleManifest),
      304: { description: "The client's manifest is still current.", headers },
    },
    kind: { hasId: true },
  };
}

function snapshotFile({ tables }: Catalogue, rateLimit: number | null, isMonthly: boolean): ServerOperation {
  const table = tables.find(({ time: column }) => (column !== undefined) === isMonthly)?.name ?? 'table';
  const headers = fileHeaders(rateLimit);
  const content = { [MEDIA_TYPES.parquet]: { schema: { type: 'string', format: 'binary' } } };
  return {
    operationId: isMonthly ? 'get_snapshot_month_file' : 'get_snapshot_file',
    summary: isMonthly ? 'File of a table that is divided by months' : 'File of a table',
    description: 'A Parquet file that the manifest lists. Files never change; `Range` requests are supported.',
    parameters: [
      idParameter,
      pathParameter('table', 'Name of the table.', table),
      ...(isMonthly ? [pathParameter('month', 'Folder of the month.', 'month=2026-03')] : []),
      pathParameter('file', 'Name of the file.', '6f1c1c5e0f6e4f0e.parquet'),
      ifNoneMatch,
      rangeParameter,
    ],
    responses: {
      200: { description: 'The file.', headers, content },
      206: { description: 'The requested part of the file.', headers, content },
      304: { description: "The client's file is still current.", headers },
    },
    kind: { hasId: true, sendsRanges: true },
  };
}

function liveness(refer: Refer): ServerOperation {
  const schema = refer('Liveness', object({ status: { ...text, description: '`ok`' } }, 'The process responds.'));
  return {
    operationId: 'get_liveness',
    summary: 'Whether the process responds',
    description: 'For liveness probes. Succeeds as long as the process responds to requests.',
    responses: { 200: json('The process responds.', probeHeaders(), schema, { status: 'ok' }) },
    kind: { isOpen: true },
  };
}

function readiness(refer: Refer): ServerOperation {
  const properties = {
    status: { ...text, description: '`ready`' },
    syncedAt: { ...nullableTime, description: 'End of the newest sync; null if that is not known.' },
    syncStatus: { type: ['string', 'null'], description: 'Status of the newest sync; null if that is not known.' },
  };
  const schema = refer('Readiness', object(properties, 'The server has data.'));
  const example = { status: 'ready', syncedAt: '2026-03-15T02:15:00.000Z', syncStatus: 'complete' };
  return {
    operationId: 'get_readiness',
    summary: 'Whether the server has data',
    description: 'For readiness probes. Fails until the first sync has published data, and while the server stops.',
    responses: { 200: json('The server has data.', probeHeaders(), schema, example) },
    kind: { isOpen: true, reportsReadiness: true },
  };
}

// Required are the properties without which the server does not accept a manifest.
function manifestSchema(refer: Refer): JsonSchema {
  const file = object(
    {
      path: { ...text, description: 'Path of the file, relative to the manifest.' },
      rows: { ...count, description: 'Number of rows.' },
      bytes: { ...count, description: 'Number of bytes.' },
      sha256: { ...text, description: 'SHA-256 of the file, in hex.' },
      min: { type: ['string', 'null'], description: "Smallest value of the table's time column; null if it has none." },
      max: { type: ['string', 'null'], description: "Largest value of the table's time column; null if it has none." },
    },
    'A Parquet file.',
    ['path', 'bytes', 'sha256'],
  );
  const column = object(
    {
      name: { ...text, description: 'Column name.' },
      type: { ...text, description: 'SQL type.' },
      about: { ...text, description: 'Meaning.' },
    },
    'A column.',
    ['name', 'type'],
  );
  const table = object(
    {
      name: { ...text, description: 'Table name.' },
      about: { ...text, description: 'Meaning.' },
      rows: { ...count, description: 'Rows of all files.' },
      bytes: { ...count, description: 'Bytes of all files.' },
      columns: { type: 'array', description: 'The columns.', items: refer('SnapshotColumn', column) },
      files: { type: 'array', description: 'The files.', items: refer('SnapshotFile', file) },
    },
    'A table.',
    ['name', 'columns', 'files'],
  );
  return object(
    {
      format: { type: 'integer', description: 'Version of the format: 1.' },
      id: snapshotId,
      createdAt: { ...time, description: 'When the data were read.' },
      publishedAt: { ...time, description: 'When all files were written.' },
      previous: { type: ['string', 'null'], description: 'Id of the previous snapshot; null for the first.' },
      schemaVersion: { type: 'integer', description: 'Version of the tables.' },
      tables: { type: 'array', description: 'The tables.', items: refer('SnapshotTable', table) },
    },
    'Content of a snapshot.',
    ['format', 'id', 'createdAt', 'tables'],
  );
}

const time = { type: 'string', format: 'date-time' } as const;
const nullableTime = { type: ['string', 'null'], format: 'date-time' } as const;
const count = { type: 'integer', format: 'int64', minimum: 0 } as const;
const snapshotId = { type: 'string', description: 'Id of the snapshot: a UTC time.' } as const;

const exampleManifest = {
  format: 1,
  id: '20260315T021500Z',
  createdAt: '2026-03-15T02:15:00.000Z',
  previous: null,
  schemaVersion: 1,
  tables: [],
};

const idParameter = pathParameter('id', 'Id of a snapshot, or `latest`.', 'latest');

const rangeParameter: Json = {
  name: 'Range',
  in: 'header',
  required: false,
  description: 'A range of bytes. If it is valid, the status is 206.',
  schema: text,
  example: 'bytes=0-1023',
};
