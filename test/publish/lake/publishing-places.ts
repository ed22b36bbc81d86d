import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { S3Target } from '../../../src/base/config/publish-settings.ts';
import { createStorePublisher } from '../../../src/publish/lake/store-publisher.ts';
import { createFolderPublisher } from '../../../src/publish/snapshot/folder-publisher.ts';
import type { Manifest, SnapshotFile } from '../../../src/publish/snapshot/manifest.ts';
import type { PlacedSnapshot, Publisher, StagedSnapshot } from '../../../src/publish/snapshot/publisher.ts';
import type { ObjectStore } from '../../../src/publish/storage/object-store.ts';
import { openS3Store } from '../../../src/publish/storage/s3-store.ts';
import { skippingClock } from '../../support/clocks.ts';
import { S3_KEY } from '../../support/s3-server.ts';

/** Time of the first snapshot: now, because stores have clocks of their own. */
export const START_MS = Math.floor(Date.now() / 1000) * 1000;

/** A snapshot as a reader finds it, with the content of all its files, verified against the manifest. */
export interface Seen {
  readonly id: string;
  readonly contents: readonly string[];
}

/** A place to which snapshots are published, with a reader. */
export interface Place {
  readonly name: string;
  /** Maximum number of concurrent publishers. */
  readonly publishersMax: number;
  readonly graceMs: number;
  /** Creates a new publisher, like another process. */
  publisher(): Publisher;
  /** Reads the latest snapshot; null if there is none. */
  read(): Promise<Seen | null>;
  /** Reads a placed snapshot; fails if anything is missing. */
  readPlaced(placed: PlacedSnapshot): Promise<Seen>;
  close(): Promise<void>;
}

/** Stages a snapshot in a folder below `root`: a file for each content, each in a folder of its own. */
export async function stage(
  root: string,
  generation: number,
  contents: readonly string[],
  previous: string | null = null,
): Promise<StagedSnapshot> {
  const folder = await mkdtemp(join(root, '.new-'));
  const createdAt = new Date(START_MS + generation * 1000).toISOString();
  const files: SnapshotFile[] = [];
  for (const [index, content] of contents.entries()) {
    const sha256 = createHash('sha256').update(content).digest('hex');
    const path = `facts/month=2026-${String(index + 1).padStart(2, '0')}/${sha256.slice(0, 16)}.parquet`;
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
    files.push({ path, rows: 1, bytes: Buffer.byteLength(content), sha256, min: null, max: null });
  }
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const table = {
    name: 'facts',
    about: '',
    kind: 'data' as const,
    time: null,
    sortedBy: [],
    rows: files.length,
    bytes,
    columns: [],
    files,
  };
  const id = `${createdAt.slice(0, 19).replace(/[-:]/g, '')}Z`;
  const times = { createdAt, publishedAt: createdAt, previous };
  const manifest: Manifest = {
    format: 1,
    id,
    ...times,
    schemaVersion: 1,
    tables: [table],
    coverage: [],
    verifiedThrough: [],
  };
  await writeFile(join(folder, 'manifest.json'), JSON.stringify(manifest));
  return { folder, manifest };
}

/** A folder. */
export async function openFolderPlace(): Promise<Place> {
  const snapshots = await mkdtemp(join(tmpdir(), 'sightline-place-'));
  const latest = join(snapshots, 'latest');
  const readAt = (folder: string): Promise<Seen> => readAll((path) => readFile(join(folder, path)), 'manifest.json');
  return {
    name: 'a folder',
    publishersMax: 1,
    graceMs: 3_600_000,
    publisher: () => createFolderPublisher({ snapshots, latest }) as Publisher,
    read: async () => {
      const id = await readlink(latest).catch(() => null);
      return id === null ? null : readAt(join(snapshots, id));
    },
    readPlaced: ({ location }) => readAt(location),
    close: () => rm(snapshots, { recursive: true, force: true }),
  };
}

/** Returns the settings of a bucket on this machine. */
export function targetOf(endpoint: string, bucket: string, changes: Partial<S3Target> = {}): S3Target {
  const none = { region: null, encryption: null, kmsKeyId: null, findProxy: () => null } as const;
  return { bucket, prefix: 'of/tests', endpoint, pathStyle: true, ...none, ...changes };
}

/** Opens a folder of a bucket with the access key of the tests. */
export async function openStore(target: S3Target, folder: string, partBytes?: number): Promise<ObjectStore> {
  Object.assign(process.env, S3_KEY);
  const { signal } = new AbortController();
  return openS3Store(target, { folder, signal, ...(partBytes === undefined ? {} : { partBytes }) });
}

/** Opens a folder of an object store as a place to publish to. */
export async function openStorePlace(name: string, target: S3Target, folder: string): Promise<Place> {
  return storePlace(name, await openStore(target, folder));
}

function storePlace(name: string, store: ObjectStore): Place {
  const { signal } = new AbortController();
  const clock = skippingClock();
  const get = async (key: string): Promise<Buffer> => {
    const found = await store.read(key);
    if (found === null) throw new Error(`${key} is missing`);
    return found.body;
  };
  return {
    name,
    publishersMax: 6,
    graceMs: 24 * 3_600_000,
    publisher: () => createStorePublisher(store, { clock, signal }) as Publisher,
    read: async () => {
      const found = await store.read('latest.json');
      return found === null ? null : readAll(get, JSON.parse(found.body.toString()).manifest);
    },
    readPlaced: ({ location }) => readAll(get, location.slice(store.location.length)),
    close: async () => store.close(),
  };
}

async function readAll(get: (path: string) => Promise<Buffer>, manifestPath: string): Promise<Seen> {
  const { id, tables } = JSON.parse((await get(manifestPath)).toString()) as Manifest;
  const contents: string[] = [];
  for (const { path, sha256 } of tables.flatMap(({ files }) => files)) {
    const content = await get(path);
    if (createHash('sha256').update(content).digest('hex') !== sha256) throw new Error(`${path} has another SHA-256`);
    contents.push(content.toString());
  }
  return { id, contents };
}
