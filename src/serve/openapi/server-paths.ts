import { z } from 'zod';
import type { Catalogue } from '../../contract/catalogue.ts';
import { time } from '../../contract/operation/json-parts.ts';
import { manifest } from '../../publish/snapshot/manifest.ts';
import { snapshotLine } from '../../web/page-data/status-lines.ts';
import { LIVE_PATH, READY_PATH, SNAPSHOT_FILE_PATHS, SNAPSHOT_MANIFEST_PATH, SNAPSHOTS_PATH } from '../http/paths.ts';
import type { Json } from './header-objects.ts';
import { pathParameter, type ServerOperation } from './server-operation.ts';

/** The tag of these operations. */
export const SERVER_TAG = { name: 'server', description: 'Published snapshots, and probes of the server.' };

/** Returns the operations of snapshots and probes by path. */
export function serverOperations(catalogue: Catalogue): Record<string, ServerOperation> {
  const [plainFile, monthlyFile] = SNAPSHOT_FILE_PATHS;
  return {
    [SNAPSHOTS_PATH]: {
      name: 'list_snapshots',
      title: 'Published snapshots',
      about: 'The published Parquet snapshots, newest first.',
      output: snapshotList,
      schema: 'SnapshotList',
      isLimited: true,
    },
    [SNAPSHOT_MANIFEST_PATH]: {
      name: 'get_snapshot_manifest',
      title: 'Manifest of a snapshot',
      about: 'The tables, columns and files of a snapshot, with the size and hash of each file.',
      parameters: [idParameter],
      output: manifest,
      schema: 'SnapshotManifest',
      isLimited: true,
      hasTag: true,
      hasId: true,
    },
    [plainFile]: snapshotFile(catalogue, false),
    [monthlyFile]: snapshotFile(catalogue, true),
    [LIVE_PATH]: {
      name: 'get_liveness',
      title: 'Whether the process responds',
      about: 'For liveness probes. Succeeds as long as the process responds to requests.',
      output: z.looseObject({ status: z.string().describe('`ok`') }),
      schema: 'Liveness',
      isOpen: true,
    },
    [READY_PATH]: {
      name: 'get_readiness',
      title: 'Whether the server has data',
      about: 'For readiness probes. Fails until the first sync has published data, and while the server stops.',
      output: readiness,
      schema: 'Readiness',
      isOpen: true,
      reportsReadiness: true,
    },
  };
}

function snapshotFile({ tables }: Catalogue, isMonthly: boolean): ServerOperation {
  const table = tables.find(({ time: column }) => (column !== undefined) === isMonthly)?.name ?? 'table';
  return {
    name: isMonthly ? 'get_snapshot_month_file' : 'get_snapshot_file',
    title: isMonthly ? 'File of a table that is divided by months' : 'File of a table',
    about: 'A Parquet file that the manifest lists. Files never change; `Range` requests are supported.',
    parameters: [
      idParameter,
      pathParameter('table', 'Name of the table.', table),
      ...(isMonthly ? [pathParameter('month', 'Folder of the month.', 'month=2026-03')] : []),
      pathParameter('file', 'Name of the file.', '6f1c1c5e0f6e4f0e.parquet'),
      rangeParameter,
    ],
    output: null,
    isLimited: true,
    hasTag: true,
    hasId: true,
    sendsRanges: true,
  };
}

const snapshotList = z.looseObject({
  latest: z.string().nullable().describe('id of the newest snapshot; null if there is none'),
  snapshots: z.array(snapshotLine).describe('newest first'),
});

const readiness = z.looseObject({
  status: z.string().describe('`ready`'),
  syncedAt: time.nullable().describe('end of the newest sync; null if that is not known'),
  syncStatus: z.string().nullable().describe('status of the newest sync; null if that is not known'),
});

const idParameter = pathParameter('id', 'Id of a snapshot, or `latest`.', 'latest');

const rangeParameter: Json = {
  name: 'Range',
  in: 'header',
  required: false,
  description: 'A range of bytes. If it is valid, the status is 206.',
  schema: { type: 'string' },
  example: 'bytes=0-1023',
};
