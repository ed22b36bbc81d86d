import { createReadStream } from 'node:fs';
import { mkdir, mkdtemp, open, realpath, rename, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { expandDates } from '../../base/date-template.ts';
import { withDiskNeed } from '../../base/disk-need.ts';
import { SightlineError } from '../../base/errors.ts';
import { ensureWritableFolder } from '../../base/files.ts';
import { countChanges } from '../../publish/snapshot/changes.ts';
import { type FileFormat, isWorkbook } from '../../publish/snapshot/file-formats.ts';
import type { ParquetForm } from '../../publish/snapshot/parquet.ts';
import { type BatchWriter, type PlainFile, writePlainFile } from '../../publish/snapshot/plain-files.ts';
import { type Selected, type Selection, select } from '../../publish/snapshot/selection.ts';
import type { Since } from '../../publish/snapshot/since.ts';
import { writeWorkbook } from '../../publish/snapshot/workbook.ts';
import { createRowEncoder } from '../../read/formats/row-formats.ts';
import { readBrandList } from '../../warehouse/brand-list.ts';
import type { CopySource } from '../../warehouse/file/copy-out.ts';
import { catalogueOf } from '../../workspace/catalogues.ts';
import type { Context } from '../../workspace/workspace.ts';
import { chooseBrandIds } from '../choose-brands.ts';
import { estimateCopy } from '../disk-estimates.ts';
import type { ExportProgress } from '../export.ts';
import { type ChangeRange, type ExportBase, openBase } from './export-base.ts';
import { checkReplaceable, chooseDatedFolder, removeLeftovers, replaceFolder, writeListing } from './export-folder.ts';
import { openSource, queryOf } from './export-source.ts';

/** File of an export to Excel. */
const WORKBOOK = 'export.xlsx';

/** Selection, format and destination of an export. */
export interface FileExport extends Selection {
  readonly format: FileFormat;
  readonly compression: string;
  /**
   * A folder, which may contain an earlier export, the file of a workbook (`isWorkbook`), or a stream, which takes one table. Parts of
   * the time in a path, such as `%Y-%m-%d`, are replaced.
   */
  readonly output: string | Writable;
  /** Folder below `output` for the files, such as the name of the workspace. */
  readonly subfolder?: string;
  /** Only the changes since then, with the column `_change`; default: all rows. */
  readonly since?: Since | null;
  /** Name of the position of `since` if that is `last`; default: the absolute path of `output`. */
  readonly name?: string | null;
}

/**
 * Result of an export. `stale` is true if a running sync has newer data. `path` is null for a stream, and `changes` without
 * `since`.
 */
export interface ExportedFiles {
  readonly path: string | null;
  readonly files: readonly PlainFile[];
  readonly stale: boolean;
  readonly changes: ChangeRange | null;
}

type OnProgress = (progress: ExportProgress) => void;

/**
 * Writes tables and views of a workspace as plain files, even while a sync owns the warehouse. Replaces the folder by rename,
 * so a failed export leaves it unchanged. Identical data gives identical bytes, except in a workbook.
 *
 * With `since: last` the position moves after the folder was replaced: an export that fails or is killed before is repeated by
 * the next one. A folder with a date in its name is not replaced if it has other changes; a number is appended instead.
 *
 * @throws `usage` for an unknown table or brand, and for a folder with files that no export wrote, and the errors of `openBase`
 */
export async function exportFiles(
  context: Context,
  request: FileExport,
  onProgress: OnProgress,
): Promise<ExportedFiles> {
  const { output, subfolder = '', since = null, name = null } = request;
  const template = typeof output === 'string' ? output : null;
  const dated = template === null ? null : expandDates('--output', template, context.clock.now());
  const base =
    since === null ? null : await openBase(context, since, name ?? (template === null ? null : resolve(template)));
  const changes = base?.range ?? null;
  const write: Write = (aside) => writeFiles(context, request, base, aside, onProgress);
  if (typeof output !== 'string' || dated === null) {
    const need = estimateCopy(context.config, { folder: tmpdir(), by: 'the export to standard output' });
    const written = await withDiskNeed(need, () => exportStream(output as Writable, base, write));
    return { path: null, changes, ...written };
  }
  if (isWorkbook(dated)) {
    const path = resolve(dirname(dated), subfolder, basename(dated));
    const need = estimateCopy(context.config, { folder: dirname(path), by: `the export ${path}` });
    const written = await withDiskNeed(need, () => exportBook(path, context.signal, base, write));
    return { path, changes, ...written };
  }
  const mayReplace = changes?.name == null || dated === template;
  const path = mayReplace ? join(dated, subfolder) : await chooseDatedFolder(dated, subfolder, changes);
  // Resolve a symlink so that it stays in place and the temporary folder is on the target's disk.
  const folder = await realpath(path).catch(() => resolve(path));
  const need = estimateCopy(context.config, {
    folder: dirname(folder),
    by: `the export ${folder}`,
    unchanged: 'the folder is unchanged',
  });
  const written = await withDiskNeed(need, () => exportFolder(folder, context.signal, request, base, write));
  return { path: resolve(path), changes, ...written };
}

type Written = Pick<ExportedFiles, 'files' | 'stale'>;
/** Writes the files into a temporary folder. */
type Write = (aside: string) => Promise<Written>;

async function exportFolder(
  folder: string,
  signal: AbortSignal,
  request: FileExport,
  base: ExportBase | null,
  write: Write,
): Promise<Written> {
  await checkReplaceable(folder);
  await ensureWritableFolder(dirname(folder));
  await removeLeftovers(folder);
  const aside = join(dirname(folder), `.${basename(folder)}.new-${process.pid}`);
  await rm(aside, { recursive: true, force: true });
  try {
    await mkdir(aside);
    const { files, stale } = await write(aside);
    const { format, compression, from, to, brands } = request;
    await writeListing(aside, { format, compression, from, to, brands, changes: base?.range ?? null }, files);
    signal.throwIfAborted();
    const publish = (): Promise<void> => replaceFolder(folder, aside);
    await (base === null ? publish() : base.finish(publish));
    return { files, stale };
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
}

// The file is replaced by rename.
async function exportBook(path: string, signal: AbortSignal, base: ExportBase | null, write: Write): Promise<Written> {
  const existing = await stat(path).catch(() => null);
  if (existing?.isDirectory() === true)
    throw new SightlineError(
      'usage',
      `--output ${path} is a folder; allowed: a file, or a folder whose name does not end in .xlsx`,
    );
  await ensureWritableFolder(dirname(path));
  const aside = await mkdtemp(join(dirname(path), `.${basename(path)}.new-`));
  try {
    const { files, stale } = await write(aside);
    signal.throwIfAborted();
    const publish = (): Promise<void> => rename(join(aside, WORKBOOK), path);
    await (base === null ? publish() : base.finish(publish));
    return { files: files.map((file) => ({ ...file, file: basename(path) })), stale };
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
}

// Written to a file first, because output that is already in the stream cannot be taken back after an error.
async function exportStream(output: Writable, base: ExportBase | null, write: Write): Promise<Written> {
  const folder = await mkdtemp(join(tmpdir(), 'sightline-export-'));
  try {
    const { files, stale } = await write(folder);
    for (const { file } of files) await pipeline(createReadStream(join(folder, file)), output, { end: false });
    await base?.finish(async () => undefined);
    return { files, stale };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function writeFiles(
  context: Context,
  request: FileExport,
  base: ExportBase | null,
  folder: string,
  onProgress: OnProgress,
): Promise<{ files: PlainFile[]; stale: boolean }> {
  const { config, signal } = context;
  const { opened: source, stale } = await openSource(context, folder, base?.folders ?? []);
  try {
    const catalogue = catalogueOf(config);
    const brands = chooseBrandIds(await readBrandList(queryOf(source), catalogue, { deleted: true }), request.brands);
    const selected = await select(source, catalogue, { ...request, brands });
    const rows: Selected[] = [];
    for (const table of selected) rows.push((await base?.changesOf(source, table)) ?? table);
    const onTable = ({ name }: Selected, done: number): void => {
      signal.throwIfAborted();
      onProgress({ table: name, done, of: selected.length });
    };
    const files = await writeTables(source, rows, folder, { ...request, parquet: config.parquet }, onTable);
    if (base === null) return { files, stale };
    const counted: PlainFile[] = [];
    for (const [index, table] of selected.entries()) {
      signal.throwIfAborted();
      const changes = await countChanges(source, rows[index] as Selected);
      const file = files[index] as PlainFile;
      counted.push({ ...file, changes });
      await base.keep(source, table, file.rows > 0);
    }
    return { files: counted, stale };
  } finally {
    source.close();
    await rm(join(folder, 'spill'), { recursive: true, force: true });
  }
}

async function writeTables(
  source: CopySource,
  tables: readonly Selected[],
  folder: string,
  { format, ...form }: Pick<FileExport, 'format'> & ParquetForm,
  onTable: (table: Selected, done: number) => void,
): Promise<PlainFile[]> {
  if (format === 'xlsx') return writeWorkbook(source, tables, join(folder, WORKBOOK), onTable);
  const files: PlainFile[] = [];
  for (const [done, table] of tables.entries()) {
    onTable(table, done);
    files.push(await writePlainFile(source, table, folder, { format, ...form, writeArrow }));
  }
  return files;
}

const writeArrow: BatchWriter = async (path, columns, batches) => {
  const encoder = await createRowEncoder('arrow');
  const handle = await open(path, 'w');
  try {
    // A page without rows writes the schema, which a file without batches needs too.
    await handle.writeFile(await encoder.encode({ texts: [], rows: { columns, rows: () => [] } }));
    for await (const rows of batches) {
      await handle.writeFile(await encoder.encode({ texts: [], rows: { columns, rows: () => rows } }));
    }
    await handle.writeFile(await encoder.end());
  } finally {
    await handle.close();
  }
};
