import { createHash, randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readdir, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isAlive } from '../../base/process-alive.ts';
import type { Manifest, SnapshotFile, SnapshotTable } from '../../snapshot/manifest.ts';
import type { Publisher } from '../../snapshot/publisher.ts';
import { chooseExpired, type Keep } from '../../snapshot/retention.ts';
import type { ObjectStore } from '../../storage/object-store.ts';
import { inParallel } from '../../storage/parallel.ts';
import { openScratch } from '../../warehouse/scratch.ts';
import { agesOf, type Pointer, readStoredManifest, TABLES } from '../pointer.ts';
import {
  type Bring,
  createStorePublisher,
  type StoredSnapshot,
  type StorePublisherOptions,
} from '../store-publisher.ts';
import { catchUpAfterCommit } from './directory-catalog.ts';
import { areThere, bringRows, type LakeParts, type LakeRows, sendAside } from './iceberg-table.ts';
import { findEngine, isPlainPath, openEngine } from './manifest-engine.ts';
import { writeManifestList } from './manifests.ts';
import { type IcebergSnapshot, toMetadata } from './metadata.ts';
import { type IcebergState, type LakeTable, stateOf } from './publish-state.ts';

/** Memory limit of the database that reads written files back, in MB. */
const SCRATCH_MB = 512;
/**
 * Age at which upload folders are removed if their process is not visible, for example because it runs in another
 * container.
 */
const QUIET_MS = 15 * 60_000;
/** Age at which upload folders are removed even if a process with their id runs. */
const LEFT_MS = 24 * 3_600_000;

/** Options of `createIcebergPublisher`. */
export interface IcebergPublisherOptions extends StorePublisherOptions {
  /** Retention rule for the snapshots that the tables name. */
  readonly keep: Keep;
  /** Folder for files that wait to be uploaded. */
  readonly sending: string;
  /** Changed by tests only. */
  readonly openEngine?: typeof openEngine;
}

/**
 * Publishes each table as an Iceberg table, in `tables/<name>/`. `latest.json` points to a manifest, as for plain
 * files, which names the metadata file of each table: moving the pointer commits all tables in one step. The metadata
 * are then copied to the place that readers of table folders use (see directory-catalog.ts).
 * @throws `config_invalid` if the engine is not installed
 */
export function createIcebergPublisher(
  store: ObjectStore,
  options: IcebergPublisherOptions,
): Publisher<StoredSnapshot> {
  if (options.openEngine === undefined) findEngine();
  const publisher = createStorePublisher(store, options, bringer(store, options));
  return {
    ...publisher,
    point: async (placed) => {
      const result = await publisher.point(placed);
      await catchUpAfterCommit(store, options);
      return result;
    },
  };
}

function bringer(store: ObjectStore, options: IcebergPublisherOptions): Bring {
  const { signal, onProgress } = options;
  return async ({ manifest, folder }, { pointer, manifest: base }, begunAt) => {
    const aside = await makeAside(options.sending);
    const sent = { files: 0, bytes: 0 };
    const scratch = await openScratch({ memoryLimitMb: SCRATCH_MB, temporaryFolder: join(aside, 'scratch') });
    try {
      const engine = (options.openEngine ?? openEngine)(join(aside, 'engine'), signal);
      const lake: LakeParts = { store, engine, scratch, signal, folder, aside, begunAt, sent };
      try {
        const remembered = await readRemembered(store, pointer, manifest, options.keep);
        const rows = new Map<string, LakeRows>();
        await inParallel(manifest.tables, signal, async (table) => {
          rows.set(table.name, await bringRows(table, stateOf(base, table.name), lake));
          onProgress?.({ done: rows.size, of: manifest.tables.length });
        });
        const states = new Map<string, IcebergState>();
        await inParallel(manifest.tables, signal, async (table) => {
          const before = stateOf(base, table.name);
          const others = remembered.flatMap((each) => stateOf(each, table.name) ?? []);
          const next = { id: manifest.id, now: options.clock.now() };
          states.set(table.name, await settle(table, rows.get(table.name) as LakeRows, before, others, next, lake));
        });
        const tables = manifest.tables.map((table): LakeTable => {
          const iceberg = states.get(table.name) as IcebergState;
          return { ...table, files: filesOf(iceberg), bytes: bytesOf(iceberg), iceberg };
        });
        return { manifest: { ...manifest, tables }, sent };
      } finally {
        await engine.close();
      }
    } finally {
      scratch.close();
      await rm(aside, { recursive: true, force: true });
      await rmdir(options.sending).catch(() => undefined);
    }
  };
}

// Removes folders of dead publishers and creates a new one. Uses the system's temporary folder if the engine would
// misread the path.
async function makeAside(sending: string): Promise<string> {
  if (!isPlainPath(sending)) return mkdtemp(join(tmpdir(), 'sightline-sending-'));
  await mkdir(sending, { recursive: true });
  for (const name of await readdir(sending)) {
    const { mtimeMs = Date.now() } = (await stat(join(sending, name)).catch(() => null)) ?? {};
    const isLeft = mtimeMs + (isAlive(Number.parseInt(name, 10)) ? LEFT_MS : QUIET_MS) < Date.now();
    if (isLeft) await rm(join(sending, name), { recursive: true, force: true });
  }
  return mkdtemp(join(sending, `${process.pid}-`));
}

// Reads the manifests that retention keeps however much time passes. Tables may name their snapshots.
async function readRemembered(
  store: ObjectStore,
  pointer: Pointer | null,
  next: Manifest,
  keep: Keep,
): Promise<Manifest[]> {
  if (pointer === null) return [];
  const own = { id: '', createdAt: Date.parse(next.createdAt), supersededAt: null };
  const ages = [...agesOf(pointer), own];
  const expired = new Set(chooseExpired(ages, own.id, keep, Number.MAX_SAFE_INTEGER, 0));
  const manifests: Manifest[] = [];
  for (const { manifest } of pointer.snapshots) {
    const found = expired.has(manifest) ? null : await readStoredManifest(store, manifest);
    if (found !== null) manifests.push(found);
  }
  return manifests;
}

// Returns the new state of a table. Writes a snapshot only if rows changed, and metadata only if their content changed.
async function settle(
  table: SnapshotTable,
  rows: LakeRows,
  before: IcebergState | null,
  remembered: readonly IcebergState[],
  { id, now }: { id: string; now: number },
  lake: LakeParts,
): Promise<IcebergState> {
  const { shape, parts } = rows;
  const isSame = before !== null && before.uuid === shape.uuid;
  const isUnchanged =
    isSame &&
    parts.length === before.parts.length &&
    parts.every((part) => before.parts.some(({ manifest }) => manifest?.file.path === part.manifest?.file.path)) &&
    (await areThere([before.list], lake));
  const { list, snapshot } = isUnchanged
    ? before
    : await writeSnapshot(table, rows, isSame ? before : null, { id, now }, lake);
  const history = remembered
    .filter(({ uuid, snapshot: each }) => uuid === shape.uuid && hasSchemaOf(shape, each, remembered))
    .map((state) => state.snapshot)
    .filter((each) => each['snapshot-id'] !== snapshot['snapshot-id'])
    .sort((a, b) => a['timestamp-ms'] - b['timestamp-ms']);
  const named = [...new Map(history.map((each) => [each['snapshot-id'], each])).values(), snapshot];
  const snapshots = named.map((each) => each['snapshot-id']);
  const contentOf = (state: Pick<IcebergState, 'schemas' | 'snapshots'>) =>
    JSON.stringify([state.schemas, state.snapshots]);
  if (
    isUnchanged &&
    contentOf(before) === contentOf({ schemas: shape.schemas, snapshots }) &&
    (await areThere([before.metadata], lake))
  )
    return { ...before, parts };
  const body = toMetadata(shape, named, table.about, now);
  const metadata = await writeMetadata(table, Buffer.from(`${JSON.stringify(body, null, 2)}\n`), lake);
  return { ...shape, metadata, list, snapshot, snapshots, parts };
}

// Reports whether a snapshot's schema is part of this shape. Two concurrent publishers may have given the same schema
// id to different columns, and only one of them is continued.
function hasSchemaOf(
  { schemas }: IcebergState | LakeRows['shape'],
  snapshot: IcebergSnapshot,
  states: readonly IcebergState[],
): boolean {
  const id = snapshot['schema-id'];
  const own = JSON.stringify(schemas.find((schema) => schema['schema-id'] === id));
  const theirs = states.find((state) => state.snapshot['snapshot-id'] === snapshot['snapshot-id']);
  return own === JSON.stringify(theirs?.schemas.find((schema) => schema['schema-id'] === id));
}

async function writeSnapshot(
  table: SnapshotTable,
  { shape, parts, snapshotId, sequence }: LakeRows,
  before: IcebergState | null,
  { id, now }: { id: string; now: number },
  lake: LakeParts,
): Promise<{ list: SnapshotFile; snapshot: IcebergSnapshot }> {
  const manifests = parts.flatMap(({ manifest }) => (manifest === null ? [] : [manifest.entry]));
  const name = `snap-${snapshotId}-1-${randomUUID()}.avro`;
  await writeFile(join(lake.aside, name), writeManifestList(shape, manifests, { sequence, snapshotId }));
  const list = await sendAside(join(lake.aside, name), `${TABLES}${table.name}/metadata/${name}`, 0, lake);
  const added = parts.filter(({ manifest }) => manifest?.entry.snapshotId === snapshotId);
  const stays = new Set(parts.map(({ manifest }) => manifest?.file.path));
  const removed = (before?.parts ?? []).filter(({ manifest }) => manifest !== null && !stays.has(manifest.file.path));
  const snapshot = {
    'snapshot-id': snapshotId,
    ...(before === null ? {} : { 'parent-snapshot-id': before.snapshot['snapshot-id'] }),
    'sequence-number': sequence,
    'timestamp-ms': Math.max(now, (before?.snapshot['timestamp-ms'] ?? 0) + 1),
    'manifest-list': `${shape.location}/metadata/${name}`,
    'schema-id': shape.schemas.at(-1)?.['schema-id'] ?? 0,
    summary: {
      operation: removed.length === 0 ? 'append' : added.length === 0 ? 'delete' : 'overwrite',
      ...tally('added', '-data', added),
      ...tally('deleted', '-data', removed),
      ...tally('total', '-data', parts),
      'total-delete-files': '0',
      'total-position-deletes': '0',
      'total-equality-deletes': '0',
      'sightline.snapshot': id,
    },
  };
  return { list, snapshot };
}

function tally(which: string, of: string, parts: IcebergState['parts']): Record<string, string> {
  const files = parts.flatMap((part) => part.files);
  const sum = (each: 'rows' | 'bytes'): string => String(files.reduce((total, file) => total + file[each], 0));
  const sizes = which === 'deleted' ? 'removed-files-size' : `${which}-files-size`;
  return { [`${which}${of}-files`]: String(files.length), [`${which}-records`]: sum('rows'), [sizes]: sum('bytes') };
}

// Written under a new name, in a folder that readers do not search for the newest file.
async function writeMetadata(table: SnapshotTable, body: Buffer, { store, sent }: LakeParts): Promise<SnapshotFile> {
  const path = `${TABLES}${table.name}/catalog/${randomUUID()}.metadata.json`;
  await store.create(path, body);
  sent.files += 1;
  sent.bytes += body.length;
  return {
    path,
    rows: 0,
    bytes: body.length,
    sha256: createHash('sha256').update(body).digest('hex'),
    min: null,
    max: null,
  };
}

function filesOf({ metadata, list, parts }: IcebergState): SnapshotFile[] {
  const ofParts = parts.flatMap(({ files, manifest }) => [...files, ...(manifest === null ? [] : [manifest.file])]);
  return [...ofParts, list, metadata];
}

function bytesOf(state: IcebergState): number {
  return filesOf(state).reduce((sum, { bytes }) => sum + bytes, 0);
}
