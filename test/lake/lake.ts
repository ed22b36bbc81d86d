import { createReadStream, existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { icebergManifests, icebergRead } from 'icebird';
import { installLine } from '../../src/base/optional-packages.ts';
import { createIcebergPublisher, type IcebergPublisherOptions } from '../../src/lake/iceberg/iceberg-publisher.ts';
import { findEngine } from '../../src/lake/iceberg/manifest-engine.ts';
import type { IcebergState, LakeTable } from '../../src/lake/iceberg/publish-state.ts';
import type { StoredSnapshot } from '../../src/lake/store-publisher.ts';
import type { Manifest, SnapshotFile } from '../../src/snapshot/manifest.ts';
import type { Publisher, StagedSnapshot } from '../../src/snapshot/publisher.ts';
import { openFolderStore } from '../../src/storage/folder-store.ts';
import type { ObjectStore } from '../../src/storage/object-store.ts';
import { hashFile } from '../../src/warehouse/file/hash-file.ts';
import { openScratch, type Scratch } from '../../src/warehouse/scratch.ts';
import { skippingClock } from '../support/clocks.ts';

/** The reason why Iceberg tables cannot be written here, or null. The engine (566 MB) is not among the packages for tests. */
export const NO_ENGINE = isThere() ? null : `the package chdb is not installed: ${installLine('iceberg')}`;

/** A lake in a folder. Its tables can be read over HTTP, like those in a bucket. */
export interface Lake {
  readonly folder: string;
  readonly store: ObjectStore;
  publisher(changes?: Partial<IcebergPublisherOptions>): Publisher<StoredSnapshot>;
  /** Reads the latest manifest, or that of a placed snapshot. */
  read(placed?: StoredSnapshot): Promise<Manifest>;
  /** Reads the metadata file of a table. */
  metadata(manifest: Manifest, table: string): Promise<TableMetadata>;
  close(): Promise<void>;
}

/** A metadata file in the form that icebird accepts. */
export type TableMetadata = NonNullable<Parameters<typeof icebergRead>[0]['metadata']>;

/** Opens an empty lake. `keep` and other options can be set for each publisher. */
export async function openLake(): Promise<Lake> {
  const root = await mkdtemp(join(tmpdir(), 'sightline-lake-'));
  const server = await startFileServer(root);
  const { signal } = new AbortController();
  const folder = join(root, 'own');
  const store = openFolderStore(root, { folder: 'own', signal, location: `${server.origin}/own/` });
  const clock = skippingClock();
  const keep = { daily: 100, weekly: 100, monthly: 100 };
  const json = async <T>(key: string): Promise<T> => JSON.parse(await readFile(join(folder, key), 'utf8')) as T;
  return {
    folder,
    store,
    publisher: (changes = {}) =>
      createIcebergPublisher(store, { clock, signal, keep, sending: join(root, '.sending'), ...changes }),
    read: async (placed) => json(placed?.manifest ?? (await json<{ manifest: string }>('latest.json')).manifest),
    metadata: (manifest, table) => json(stateOf(manifest, table).metadata.path),
    close: async () => {
      await server.close();
      await rm(root, { recursive: true, force: true });
    },
  };
}

/** Ids of the snapshots that readers of a table's folder find by their rules; null if they find none. */
export interface FolderView {
  /** ClickHouse, and DuckDB when it guesses: the highest number of all metadata files. */
  readonly highest: string | null;
  /** PyIceberg, DuckDB: the number in the version hint. */
  readonly hinted: string | null;
  /**
   * Iceberg's hadoop tables, as in Spark: from the hint or else the highest number, and on as long as there is a next.
   */
  readonly hadoop: string | null;
}

/** Reads the folder of a table like engines that know nothing but the folder. */
export function viewFolder(lakeFolder: string, table: string): FolderView {
  const folder = join(lakeFolder, 'tables', table, 'metadata');
  const names = existsSync(folder) ? readdirSync(folder) : [];
  const read = (number: number): string | null => {
    if (!names.includes(`v${number}.metadata.json`)) return null;
    const { snapshots } = JSON.parse(readFileSync(join(folder, `v${number}.metadata.json`), 'utf8'));
    return snapshots.at(-1).summary['sightline.snapshot'];
  };
  // All names that any of them accepts as metadata, so that a name of another form is noticed.
  const numbers = names.flatMap((name) => {
    const [, number] = /^v?(\d+)[.-].*|.*metadata\.json/.exec(name) ?? [];
    return name.endsWith('.avro') || number === undefined ? [] : [Number(number)];
  });
  const highest = Math.max(0, ...numbers);
  const hint = names.includes('version-hint.text')
    ? Number(readFileSync(join(folder, 'version-hint.text'), 'utf8'))
    : 0;
  let version = hint > 0 ? hint : highest;
  while (names.includes(`v${version + 1}.metadata.json`)) version += 1;
  return { highest: read(highest), hinted: hint === 0 ? null : read(hint), hadoop: read(version) };
}

/** Returns the Iceberg state of a table in a manifest. */
export function stateOf(manifest: Manifest, name: string): IcebergState {
  const table = manifest.tables.find((each) => each.name === name) as LakeTable | undefined;
  if (table === undefined) throw new Error(`there is no table ${name}`);
  return table.iceberg;
}

/** Reads a table's rows with icebird, which is independent of the writer; empty for a table without files. */
export async function readByIcebird(metadata: TableMetadata): Promise<Record<string, unknown>[]> {
  const files = await dataFiles(metadata);
  return files.length === 0 ? [] : icebergRead({ tableUrl: metadata.location, metadata });
}

/** Returns the addresses of a table's data files from its manifests. */
export async function dataFiles(metadata: TableMetadata): Promise<string[]> {
  const manifests = await icebergManifests(metadata);
  return manifests.flatMap(({ entries }) => entries.map((entry) => entry.data_file.file_path));
}

/** A table to stage: its columns, and a query of the rows of each part. */
export interface StagedTable {
  readonly name: string;
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  /** Column by whose month the table is partitioned. */
  readonly time?: string;
  /** Queries by the folder of the part below the table's; an empty name for a table in one part. */
  readonly parts: Readonly<Record<string, string>>;
}

/** Stages a snapshot of such tables in a new folder below `root`; `at` is epoch milliseconds. */
export async function stageTables(root: string, at: number, tables: readonly StagedTable[]): Promise<StagedSnapshot> {
  const folder = await mkdtemp(join(root, 'staged-'));
  const scratch = await openScratch({ memoryLimitMb: 256, temporaryFolder: join(folder, '.temporary') });
  try {
    const staged = [];
    for (const table of tables) {
      const files: SnapshotFile[] = [];
      for (const [part, query] of Object.entries(table.parts)) {
        files.push(await stageFile(scratch, folder, join(table.name, part, 'rows.parquet'), query));
      }
      const columns = table.columns.map((column) => ({ ...column, about: `The ${column.name}.` }));
      const rows = files.reduce((sum, file) => sum + file.rows, 0);
      staged.push({
        name: table.name,
        about: 'Facts.',
        kind: 'data' as const,
        time: table.time ?? null,
        sortedBy: [],
        rows,
        bytes: 0,
        columns,
        files,
      });
    }
    const createdAt = new Date(at).toISOString();
    const id = `${createdAt.slice(0, 19).replace(/[-:]/g, '')}Z`;
    return {
      folder,
      manifest: {
        format: 1,
        id,
        createdAt,
        publishedAt: createdAt,
        previous: null,
        schemaVersion: 1,
        tables: staged,
        coverage: [],
        verifiedThrough: [],
      },
    };
  } finally {
    scratch.close();
  }
}

async function stageFile(scratch: Scratch, folder: string, path: string, query: string): Promise<SnapshotFile> {
  const file = join(folder, path);
  await mkdir(dirname(file), { recursive: true });
  await scratch.all(`COPY (${query}) TO '${file}' (FORMAT parquet)`);
  const [row] = await scratch.all(`SELECT CAST(count(*) AS DOUBLE) AS rows FROM read_parquet('${file}')`);
  const { size: bytes } = await stat(file);
  return { path, rows: Number(row?.['rows']), bytes, sha256: await hashFile(file), min: null, max: null };
}

function isThere(): boolean {
  try {
    return findEngine() !== '';
  } catch {
    return false;
  }
}

// Serves files and ranges of them on the loopback interface.
async function startFileServer(root: string): Promise<{ origin: string; close: () => Promise<void> }> {
  const server = createServer(async ({ url = '', headers }, response) => {
    const path = join(root, decodeURIComponent(url));
    const found = await stat(path).catch(() => null);
    if (found === null) return response.writeHead(404).end();
    const [, first = '0', last = String(found.size - 1)] = /^bytes=(\d+)-(\d+)?$/.exec(headers.range ?? '') ?? [];
    const [start, end] = [Number(first), Math.min(Number(last), found.size - 1)];
    const length = { 'content-length': end - start + 1, 'content-range': `bytes ${start}-${end}/${found.size}` };
    response.writeHead(headers.range === undefined ? 200 : 206, length);
    return createReadStream(path, { start, end }).pipe(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}
