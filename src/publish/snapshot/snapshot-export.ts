import { lstat, mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { withDiskNeed } from '../../base/disk-need.ts';
import { SightlineError } from '../../base/errors.ts';
import { ensureWritableFolder, syncToDisk } from '../../base/files.ts';
import type { Catalogue } from '../../contract/catalogue.ts';
import type { Database, Session } from '../../warehouse/database.ts';
import { readContents } from '../../warehouse/file/copy-contents.ts';
import { databaseBytes } from '../../warehouse/file/copy-database.ts';
import { readVerifiedThrough } from '../../warehouse/ledger/verifications.ts';
import { literal, SCHEMA_VERSION } from '../../warehouse/schema.ts';
import { GIVE_MEMORY_BACK, openScratch, type Scratch } from '../../warehouse/scratch.ts';
import { catalogueTables, type ExportedTable, REPLICA } from './exported-table.ts';
import { createFolderPublisher } from './folder-publisher.ts';
import type { Layout } from './layout.ts';
import { MANIFEST, type Manifest, readManifest, type SnapshotTable } from './manifest.ts';
import type { ParquetForm } from './parquet.ts';
import type { PartOptions } from './parts.ts';
import { type Keep, LEAVING } from './retention.ts';
import { openPrevious } from './reuse.ts';
import { exportTables, type FileCounts, type Lane } from './table-export.ts';

/** Prefix of a folder in which a snapshot is being written. Readers ignore such folders. */
const ASIDE = '.new-';
/** Temporary symlinks that a crash left behind before they became `latest`. */
const LINK_ASIDE = /^\.\d+-\d+-link$/;
/** Files written at the same time. DuckDB sorts and writes a file of one month with one thread most of the time. */
const LANES = 2;
/** Memory limit for reading one file back, in MB. */
const SCRATCH_MB = 256;
/** Maximum number of snapshots within one second. */
const SAME_SECOND_MAX = 100;

/** A published snapshot. */
export interface Snapshot {
  /** UTC time, such as `20261120T021500Z`. */
  readonly id: string;
  readonly path: string;
  readonly tables: readonly SnapshotTable[];
  /** Files that had to be written; all others are reused from the previous snapshot. */
  readonly written: Readonly<FileCounts>;
  /** Ids of the snapshots that were deleted. */
  readonly deleted: readonly string[];
}

/** Options of `exportSnapshot`. */
export interface ExportOptions extends ParquetForm, Pick<PartOptions, 'fileRows'> {
  /** Retention rule; null keeps all snapshots. */
  readonly keep: Keep | null;
  /** Marts to add. */
  readonly marts?: readonly ExportedTable[];
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: { table: string; done: number; of: number }) => void;
}

/**
 * Writes all tables and the given marts of the replica to Parquet and publishes the snapshot: files first, then the manifest, then the
 * folder by rename, then `latest` by swapping the symlink. The replica must be current. Deletes expired snapshots afterwards. Files with
 * unchanged rows are hard links to the previous snapshot. If the export fails, the last snapshot stays in place and the next
 * export removes the leftovers.
 * @throws `disk_full`, `folder_unwritable`, or the signal's reason
 */
export async function exportSnapshot(
  database: Database,
  catalogue: Catalogue,
  layout: Layout,
  options: ExportOptions,
): Promise<Snapshot> {
  const bytes = (await readManifest(layout.latest))?.tables.reduce((sum, table) => sum + table.bytes, 0);
  const need = {
    folder: layout.snapshots,
    bytes: bytes ?? databaseBytes(database.path),
    by: 'a snapshot',
    unchanged: 'the last snapshot is unchanged',
  };
  return withDiskNeed(need, () => writeSnapshot(database, catalogue, layout, options));
}

async function writeSnapshot(
  database: Database,
  catalogue: Catalogue,
  layout: Layout,
  options: ExportOptions,
): Promise<Snapshot> {
  await ensureWritableFolder(layout.snapshots);
  await checkLink(layout.latest);
  await clearLitter(layout.snapshots);
  const publisher = createFolderPublisher(layout);
  const aside = join(layout.snapshots, `${ASIDE}${process.pid}`);
  let published: Omit<Snapshot, 'deleted'>;
  try {
    await mkdir(aside);
    const { manifest, written } = await writeAside(database, catalogue, layout, aside, options);
    options.signal.throwIfAborted();
    const placed = await publisher.put({ folder: aside, manifest });
    await publisher.point(placed);
    published = { id: manifest.id, path: placed.location, tables: manifest.tables, written };
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
  const { keep, clock } = options;
  const deleted = keep === null ? [] : await publisher.retain(keep, clock.now());
  return { ...published, deleted };
}

async function writeAside(
  database: Database,
  catalogue: Catalogue,
  layout: Layout,
  aside: string,
  options: ExportOptions,
): Promise<{ manifest: Manifest; written: FileCounts }> {
  const { clock, compression, parquet, fileRows, signal, onProgress, marts = [] } = options;
  const exported = [...catalogueTables(catalogue), ...marts];
  const now = clock.now();
  const createdAt = new Date(now).toISOString();
  const previous = await openPrevious(layout.latest, now);
  const { written, ...content } = await withLanes(database, layout, async (lanes) => {
    const [{ session }] = lanes as [Lane];
    const tables = await exportTables(exported, {
      folder: aside,
      previous,
      form: { compression, ...(parquet === undefined ? {} : { parquet }) },
      month: createdAt.slice(0, 7),
      fileRows,
      contents: await readContents(layout.analytics),
      lanes,
      signal,
      onProgress: (table, done) => onProgress?.({ table, done, of: exported.length }),
    });
    return { ...tables, coverage: await readCoverage(session), verifiedThrough: await readVerified(session) };
  });
  const manifest: Manifest = {
    format: 1,
    id: await freeId(layout.snapshots, createdAt),
    createdAt,
    publishedAt: new Date(clock.now()).toISOString(),
    previous: previous?.id ?? null,
    schemaVersion: SCHEMA_VERSION,
    ...content,
  };
  await writeFile(join(aside, MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`);
  await syncToDisk(join(aside, MANIFEST));
  await syncToDisk(aside);
  return { manifest, written };
}

// The lanes read the same state of the warehouse and of the replica.
async function withLanes<T>(
  database: Database,
  layout: Layout,
  work: (lanes: readonly Lane[]) => Promise<T>,
): Promise<T> {
  const attach = `ATTACH ${literal(layout.analytics)} AS ${REPLICA} (READ_ONLY)`;
  await database.exclusive((session) => session.run(`${GIVE_MEMORY_BACK}; ${attach}`));
  const scratches: Scratch[] = [];
  try {
    while (scratches.length < LANES)
      scratches.push(await openScratch({ memoryLimitMb: SCRATCH_MB, temporaryFolder: layout.temporary }));
    return await database.readTogether(LANES, (sessions) =>
      work(sessions.map((session, index) => ({ session, scratch: scratches[index] as Scratch }))),
    );
  } finally {
    for (const scratch of scratches) scratch.close();
    await database.exclusive((session) => session.run(`DETACH ${REPLICA}`));
  }
}

async function readCoverage(session: Session): Promise<Readonly<Record<string, unknown>>[]> {
  return session.all(
    `SELECT resource, CAST(brand_id AS VARCHAR) AS "brandId", strftime(min(range_from), '%Y-%m-%d') AS "from",
       strftime(max(range_to), '%Y-%m-%d') AS "to", strftime(min(closed_at), '%Y-%m-%dT%H:%M:%SZ') AS "readSince"
     FROM sync.coverage GROUP BY ALL ORDER BY ALL`,
  );
}

async function readVerified(session: Session): Promise<NonNullable<Manifest['verifiedThrough']>> {
  const brands = await readVerifiedThrough(session.query);
  return brands.map(({ brandId, through, verifiedAt }) => {
    return { brandId, through, verifiedAt: new Date(verifiedAt).toISOString() };
  });
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

// Checked first, because otherwise the error would come only after everything is written.
async function checkLink(path: string): Promise<void> {
  const found = await lstat(path).catch(() => null);
  if (found !== null && !found.isSymbolicLink())
    throw new SightlineError('folder_unwritable', `${path} is not a symlink and is not replaced; move it away`);
  await checkSymlinks(dirname(path));
}

// Without symlinks every export would write a snapshot that never becomes the latest and is never deleted.
async function checkSymlinks(folder: string): Promise<void> {
  const trial = join(folder, `.${process.pid}-0-link`);
  await rm(trial, { force: true });
  try {
    await symlink('nothing', trial);
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === 'ENOSPC' || code === 'EDQUOT') throw thrown;
    const message = `cannot create a symlink in ${folder} (${code}), which \`latest\` requires`;
    throw new SightlineError('folder_unwritable', message, { cause: thrown });
  }
  await rm(trial);
}

// Only the process that owns the warehouse exports, so leftovers belong to a process that died.
async function clearLitter(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (name.startsWith(ASIDE) || name.startsWith(LEAVING) || LINK_ASIDE.test(name))
      await rm(join(folder, name), { recursive: true, force: true });
  }
}
