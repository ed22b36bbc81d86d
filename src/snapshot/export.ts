import { lstat, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { SightlineError } from '../base/errors.ts';
import { ensureWritableFolder, swapSymlink, syncToDisk } from '../base/files.ts';
import type { Catalogue } from '../contract/catalogue.ts';
import type { Database, Session } from '../warehouse/database.ts';
import { SCHEMA_VERSION } from '../warehouse/schema.ts';
import type { Layout } from './layout.ts';
import { parquetColumns, type SnapshotFile, writeTable } from './parquet.ts';

/** Marks a folder in which a snapshot is being written; such a folder is never read. */
const ASIDE = '.new-';
/** Snapshots that may be taken within one second. */
const SAME_SECOND_MAX = 100;

/** One table of a snapshot. */
export interface SnapshotTable {
  readonly name: string;
  readonly about: string;
  readonly rows: number;
  readonly bytes: number;
  readonly columns: readonly { readonly name: string; readonly type: string; readonly about: string }[];
  readonly files: readonly SnapshotFile[];
}

/** A published snapshot. */
export interface Snapshot {
  /** UTC time, such as `20261120T021500Z`. */
  readonly id: string;
  readonly path: string;
  readonly tables: readonly SnapshotTable[];
}

/** What an export is told. */
export interface ExportOptions {
  readonly compression: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: { table: string; done: number; of: number }) => void;
}

/**
 * Writes every table to Parquet and publishes the snapshot: files first, the manifest last, then the folder by rename
 * and `latest` by swapping the symlink. Whatever stops it leaves the last snapshot standing; what it leaves aside is
 * cleared by the next export.
 */
export async function exportSnapshot(
  database: Database,
  catalogue: Catalogue,
  layout: Layout,
  options: ExportOptions,
): Promise<Snapshot> {
  await ensureWritableFolder(layout.snapshots);
  await checkLink(layout.latest);
  await clearLitter(layout.snapshots);
  const now = options.clock.now();
  const aside = join(layout.snapshots, `${ASIDE}${process.pid}`);
  try {
    await mkdir(aside);
    const createdAt = new Date(now).toISOString();
    const written = await database.transaction(async (session) => ({
      tables: await writeTables(session, catalogue, aside, createdAt, options),
      coverage: await readCoverage(session),
    }));
    const id = await freeId(layout.snapshots, createdAt);
    const manifest = { format: 1, id, createdAt, schemaVersion: SCHEMA_VERSION, ...written };
    await writeFile(join(aside, 'manifest.json'), `${JSON.stringify(manifest, null, 2)}\n`);
    await syncToDisk(join(aside, 'manifest.json'));
    await syncToDisk(aside);
    options.signal.throwIfAborted();
    const path = join(layout.snapshots, id);
    await rename(aside, path);
    await syncToDisk(layout.snapshots);
    await swapSymlink(id, layout.latest);
    return { id, path, tables: written.tables };
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
}

async function writeTables(
  session: Session,
  catalogue: Catalogue,
  folder: string,
  createdAt: string,
  { compression, signal, onProgress }: ExportOptions,
): Promise<SnapshotTable[]> {
  const tables: SnapshotTable[] = [];
  const all = [...catalogue.tables, ...catalogue.histories];
  for (const table of all) {
    signal.throwIfAborted();
    onProgress?.({ table: table.name, done: tables.length, of: all.length });
    const files = await writeTable(session, table, folder, { compression, month: createdAt.slice(0, 7) });
    const sum = (of: (file: SnapshotFile) => number): number => files.reduce((total, file) => total + of(file), 0);
    tables.push({
      name: table.name,
      about: table.about,
      rows: sum((file) => file.rows),
      bytes: sum((file) => file.bytes),
      columns: parquetColumns(table),
      files,
    });
  }
  return tables;
}

async function readCoverage(session: Session): Promise<Readonly<Record<string, unknown>>[]> {
  return session.all(
    `SELECT resource, CAST(brand_id AS VARCHAR) AS "brandId", strftime(min(range_from), '%Y-%m-%d') AS "from",
       strftime(max(range_to), '%Y-%m-%d') AS "to", strftime(min(closed_at), '%Y-%m-%dT%H:%M:%SZ') AS "readSince"
     FROM sync.coverage GROUP BY ALL ORDER BY ALL`,
  );
}

async function freeId(folder: string, createdAt: string): Promise<string> {
  const taken = new Set(await readdir(folder));
  const second = createdAt.slice(0, 19).replace(/[-:]/g, '');
  for (let count = 1; count <= SAME_SECOND_MAX; count++) {
    const id = count === 1 ? `${second}Z` : `${second}Z-${count}`;
    if (!taken.has(id)) return id;
  }
  throw new Error(`more than ${SAME_SECOND_MAX} snapshots within one second`);
}

// A folder that somebody has put there would be found out only after all is written.
async function checkLink(path: string): Promise<void> {
  const found = await lstat(path).catch(() => null);
  if (found === null || found.isSymbolicLink()) return;
  throw new SightlineError('folder_unwritable', `${path} is no symlink and is not replaced; move it away`);
}

// Only the process that owns the warehouse exports, so what stands aside is left over from one that died.
async function clearLitter(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (name.startsWith(ASIDE) || name.endsWith('-link'))
      await rm(join(folder, name), { recursive: true, force: true });
  }
}
