import { createReadStream, existsSync } from 'node:fs';
import {
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  rmdir,
  stat,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { withDiskNeed } from '../base/disk-need.ts';
import { SightlineError } from '../base/errors.ts';
import { ensureWritableFolder, publishByRename, syncToDisk } from '../base/files.ts';
import { isRecord } from '../base/json.ts';
import { isAlive } from '../base/process-alive.ts';
import { encodeRows } from '../query/formats/row-formats.ts';
import { openNewestReplicaWith, openReplicaWith } from '../session/newest-replica.ts';
import { type Context, catalogue, renewReplica } from '../session/workspace.ts';
import { layoutOf } from '../snapshot/layout.ts';
import { type BatchWriter, type FileFormat, type PlainFile, writePlainFile } from '../snapshot/plain-files.ts';
import { type Selection, select } from '../snapshot/selection.ts';
import type { Query } from '../warehouse/database.ts';
import { type CopySource, openCopySource } from '../warehouse/file/copy-out.ts';
import { readUnfinishedWindows } from '../warehouse/ledger/unfinished-windows.ts';
import { quoted } from '../warehouse/schema.ts';
import { chooseBrandIds, readBrandNames } from './choose-brands.ts';
import { estimateCopy } from './disk-estimates.ts';

/** Lists the files that an export wrote to a folder. A later export may replace these files only. */
const LISTING = 'export.json';
/** Length of the end marker of an Arrow IPC stream: a continuation marker and a length of 0, four bytes each. */
const ARROW_END_BYTES = 8;

/** Selection, format and destination of an export. */
export interface FileExport extends Selection {
  readonly format: FileFormat;
  readonly compression: string;
  /** A folder, which may contain an earlier export, or a stream, which takes one table. */
  readonly output: string | Writable;
}

/** Result of an export. `stale` is true if a running sync has newer data. `path` is null for a stream. */
export interface ExportedFiles {
  readonly path: string | null;
  readonly files: readonly PlainFile[];
  readonly stale: boolean;
}

/**
 * Writes tables and views of a workspace as plain files, even while a sync owns the warehouse. Replaces the folder by rename,
 * so a failed export leaves it unchanged. Identical data gives identical bytes.
 *
 * @throws `usage` for an unknown table or brand, and for a folder with files that no export wrote.
 */
export async function exportFiles(
  context: Context,
  request: FileExport,
  onProgress: (progress: { table: string; done: number; of: number }) => void,
): Promise<ExportedFiles> {
  const { output } = request;
  if (typeof output !== 'string') {
    const need = estimateCopy(context.config, { folder: tmpdir(), by: 'the export to standard output' });
    return withDiskNeed(need, () => exportStream(context, request, output, onProgress));
  }
  // Resolve a symlink so that it stays in place and the temporary folder is on the target's disk.
  const folder = await realpath(output).catch(() => resolve(output));
  const need = estimateCopy(context.config, {
    folder: dirname(folder),
    by: `the export ${folder}`,
    unchanged: 'the folder is unchanged',
  });
  const written = await withDiskNeed(need, () => exportFolder(context, request, folder, onProgress));
  return { path: resolve(output), ...written };
}

async function exportFolder(
  context: Context,
  request: FileExport,
  folder: string,
  onProgress: (progress: { table: string; done: number; of: number }) => void,
): Promise<Omit<ExportedFiles, 'path'>> {
  await checkReplaceable(folder);
  await ensureWritableFolder(dirname(folder));
  await removeLeftovers(folder);
  const aside = join(dirname(folder), `.${basename(folder)}.new-${process.pid}`);
  await rm(aside, { recursive: true, force: true });
  try {
    await mkdir(aside);
    const { files, stale } = await writeFiles(context, request, aside, onProgress);
    const { format, compression, from, to, brands } = request;
    const listing = { sightlineExport: 1, format, compression, from, to, brands, tables: files };
    await writeFile(join(aside, LISTING), `${JSON.stringify(listing, null, 2)}\n`);
    await syncToDisk(join(aside, LISTING));
    await syncToDisk(aside);
    context.signal.throwIfAborted();
    await replace(folder, aside);
    return { files, stale };
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
}

// Written to a file first, because output that is already in the stream cannot be taken back after an error.
async function exportStream(
  context: Context,
  request: FileExport,
  output: Writable,
  onProgress: (progress: { table: string; done: number; of: number }) => void,
): Promise<ExportedFiles> {
  const folder = await mkdtemp(join(tmpdir(), 'sightline-export-'));
  try {
    const { files, stale } = await writeFiles(context, request, folder, onProgress);
    for (const { file } of files) await pipeline(createReadStream(join(folder, file)), output, { end: false });
    return { path: null, files, stale };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function writeFiles(
  context: Context,
  request: FileExport,
  folder: string,
  onProgress: (progress: { table: string; done: number; of: number }) => void,
): Promise<{ files: PlainFile[]; stale: boolean }> {
  const { signal } = context;
  const { opened: source, stale } = await openSource(context, folder);
  try {
    const brands = chooseBrandIds(await readBrandNames(queryOf(source), { deleted: true }), request.brands);
    const selected = await select(source, catalogue, { ...request, brands });
    const files: PlainFile[] = [];
    for (const table of selected) {
      signal.throwIfAborted();
      onProgress({ table: table.name, done: files.length, of: selected.length });
      files.push(
        await writePlainFile(source, table, folder, { ...request, parquet: context.config.parquet, writeArrow }),
      );
    }
    return { files, stale };
  } finally {
    source.close();
    await rm(join(folder, 'spill'), { recursive: true, force: true });
  }
}

// A sync that was killed before it published a replica may have stored only some pages of a day. Publishing leaves that day out.
async function openSource(context: Context, folder: string): Promise<{ opened: CopySource; stale: boolean }> {
  const { config } = context;
  const layout = layoutOf(config.folder);
  const open = (path: string): Promise<CopySource> => openCopySource(path, folder);
  const newest = await openNewestReplicaWith(config, layout, open);
  try {
    if (!(await hasUnfinishedDays(queryOf(newest.opened)))) return newest;
  } catch (thrown) {
    newest.opened.close();
    throw thrown;
  }
  newest.opened.close();
  await renewReplica(context);
  return { opened: await openReplicaWith(config, layout, open), stale: false };
}

// A replica lists unfinished windows too, but does not contain their rows.
async function hasUnfinishedDays(query: Query): Promise<boolean> {
  const { hidden } = await readUnfinishedWindows(query, catalogue);
  if (hidden.length === 0) return false;
  const rows = hidden.map(({ table, where }) => `EXISTS (FROM main.${quoted(table)} WHERE ${where})`);
  const [row] = await query(`SELECT ${rows.join(' OR ')}`);
  return row?.[0] === true;
}

function queryOf(source: CopySource): Query {
  return async (sql) => (await source.query(sql)).map((row) => [...row]);
}

// Each batch is encoded as a separate stream. Dropping their end markers and all schemas but the first joins them into one.
const writeArrow: BatchWriter = async (path, columns, batches) => {
  const schema = await encodeRows('arrow', { columns, rows: () => [] });
  const schemaBytes = schema.length - ARROW_END_BYTES;
  const handle = await open(path, 'w');
  try {
    await handle.writeFile(schema.subarray(0, schemaBytes));
    for await (const rows of batches) {
      const bytes = await encodeRows('arrow', { columns, rows: () => rows });
      await handle.writeFile(bytes.subarray(schemaBytes, bytes.length - ARROW_END_BYTES));
    }
    await handle.writeFile(schema.subarray(schemaBytes));
  } finally {
    await handle.close();
  }
};

async function checkReplaceable(folder: string): Promise<void> {
  const found = await stat(folder).catch(() => null);
  if (found === null) return;
  const refuse = (why: string): SightlineError => {
    const allowed = 'a new folder, an empty one, or one that an export wrote';
    return new SightlineError('usage', `--output ${folder} ${why}; allowed: ${allowed}`);
  };
  if (!found.isDirectory()) throw refuse('is not a folder');
  const names = await readdir(folder);
  if (names.length === 0) return;
  const own = await listedIn(folder);
  const others = names.filter((name) => !own.includes(name));
  if (others.length > 0) throw refuse(`contains ${JSON.stringify(others[0])}, which no export wrote`);
}

async function listedIn(folder: string): Promise<string[]> {
  try {
    const listing: unknown = JSON.parse(await readFile(join(folder, LISTING), 'utf8'));
    if (!isRecord(listing) || listing['sightlineExport'] !== 1 || !Array.isArray(listing['tables'])) return [];
    return [LISTING, ...listing['tables'].map((table: unknown) => (isRecord(table) ? String(table['file']) : ''))];
  } catch {
    return [];
  }
}

// Removes temporary folders of killed exports. A process killed between the two renames of `replace` has left the earlier
// export under its temporary name, so that one is renamed back. In a container a new process may reuse the pid of a killed one.
async function removeLeftovers(folder: string): Promise<void> {
  const parent = dirname(folder);
  const [fresh, old] = [`.${basename(folder)}.new-`, `.${basename(folder)}.old-`];
  for (const name of await readdir(parent)) {
    const pid = [fresh, old].filter((prefix) => name.startsWith(prefix)).map((prefix) => name.slice(prefix.length))[0];
    if (pid === undefined || !/^\d+$/.test(pid) || (Number(pid) !== process.pid && isAlive(Number(pid)))) continue;
    if (name.startsWith(old) && !existsSync(folder)) await rename(join(parent, name), folder);
    else await rm(join(parent, name), { recursive: true, force: true });
  }
}

// Two folders cannot be swapped atomically: for a moment the folder is missing, but it is never incomplete.
async function replace(folder: string, aside: string): Promise<void> {
  const old = join(dirname(folder), `.${basename(folder)}.old-${process.pid}`);
  const names = await readdir(folder).catch(() => null);
  if (names === null) await publishByRename(aside, folder);
  else if (names.length === 0) {
    await rmdir(folder);
    await publishByRename(aside, folder);
  } else {
    await rename(folder, old);
    await publishByRename(aside, folder);
    await rm(old, { recursive: true, force: true });
  }
}
