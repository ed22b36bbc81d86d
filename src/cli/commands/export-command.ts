import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { COMPRESSIONS } from '../../base/config/config-file.ts';
import { EXIT, SightlineError } from '../../base/errors.ts';
import { type Exported, exportWorkspace } from '../../operations/export.ts';
import { exportFiles, type FileExport } from '../../operations/export-files.ts';
import type { Publication } from '../../operations/publish.ts';
import type { Context } from '../../session/workspace.ts';
import { FILE_FORMATS, type FileFormat } from '../../snapshot/plain-files.ts';
import { commandContext, toDayFlag, type WorkspaceFlags } from '../context.ts';
import { applyUserUmask, count, exactOutput, plural, printData, say, size } from '../output/output.ts';
import { createExportProgress } from '../output/progress-line.ts';
import { terminal } from '../output/terminal.ts';
import { listOf } from '../program/flags.ts';

/** Flags of `export`. */
export interface ExportFlags extends WorkspaceFlags {
  readonly tables?: readonly string[];
  readonly from?: string;
  readonly to?: string;
  readonly brand?: readonly string[];
  readonly format?: string;
  readonly compression?: string;
  readonly output?: string;
}

/** Value of --output for standard output. */
const STDOUT = '-';
/** Formats that must not be printed on a terminal. */
const BINARY: readonly FileFormat[] = ['parquet', 'arrow'];

/** Runs `sightline export` and returns its exit code. Writes a snapshot, or plain files if a flag asks for them. */
export async function exportCommand(flags: ExportFlags, signal: AbortSignal): Promise<number> {
  const context = commandContext('export', flags, signal);
  const { tables, from, to, brand, format, output } = flags;
  const isPlain = [tables, from, to, brand, format, output].some((flag) => flag !== undefined);
  return isPlain ? exportPlain(context, flags) : exportSnapshot(context, flags);
}

async function exportSnapshot(context: Context, flags: ExportFlags): Promise<number> {
  const compression = compressionOf(flags);
  const progress = createExportProgress();
  const changes = compression === undefined ? {} : { compression };
  const snapshot = await exportWorkspace(context, progress.update, changes).finally(progress.done);
  const json = flags.json === true;
  const shown = renderSnapshot(snapshot, json);
  if (json) printData(JSON.stringify(shown));
  return EXIT.done;
}

/** Returns the JSON form of a snapshot. Without `json` it also prints a summary and the path. */
export function renderSnapshot(
  { id: snapshotId, path, written, deleted, published, ...rest }: Exported,
  json: boolean,
) {
  const tables = rest.tables.map(({ name, rows, files, bytes }) => ({ name, rows, files: files.length, bytes }));
  if (!json) {
    const files = sayTotals(tables);
    if (written.files < files) {
      const { files: changed, bytes: added } = written;
      say(`${plural(changed, 'file')} changed, ${size(added)}; the others are shared with the previous snapshot.`);
    }
    if (deleted.length > 0) say(`${plural(deleted.length, 'older snapshot')} deleted.`);
    if (published !== null) sayPublished(published, files);
    printData(path);
  }
  return { snapshotId, path, tables, written, deleted, ...(published === null ? {} : { published }) };
}

function sayPublished({ location, pointer, latest, sent, deleted }: Publication, files: number): void {
  const others = sent.files < files ? '; the others already existed' : '';
  say(`Published to ${location}: ${plural(sent.files, 'file')} sent, ${size(sent.bytes)}${others}.`);
  if (pointer === 'superseded') say(`latest.json still points to ${latest}, which has newer data.`);
  if (deleted.length > 0) say(`${plural(deleted.length, 'older snapshot')} deleted at ${location}.`);
}

async function exportPlain(context: Context, flags: ExportFlags): Promise<number> {
  const request = toRequest(flags, context.config.compression);
  const progress = createExportProgress();
  const { path, files, stale } = await exportFiles(context, request, progress.update).finally(progress.done);
  const tables = files.map(({ name, rows, bytes }) => ({ name, rows, files: 1, bytes }));
  if (path !== null) await applyUserUmask([path, ...(await readdir(path)).map((name) => join(path, name))]);
  if (flags.json === true) printData(JSON.stringify({ snapshotId: null, path, tables }));
  else {
    sayTotals(tables);
    const complete = files.filter(({ time }) => time === null).map(({ name }) => name);
    if (request.from !== null || request.to !== null) sayComplete(complete);
  }
  if (stale) say('A sync owns the warehouse: the files are from the last published copy.');
  if (path !== null && flags.json !== true) printData(path);
  return EXIT.done;
}

function sayTotals(tables: readonly { rows: number; files: number; bytes: number }[]): number {
  const sum = (of: 'rows' | 'files' | 'bytes'): number => tables.reduce((total, table) => total + table[of], 0);
  const files = sum('files');
  say(`${plural(tables.length, 'table')}, ${count(sum('rows'))} rows, ${plural(files, 'file')}, ${size(sum('bytes'))}`);
  return files;
}

function sayComplete(names: readonly string[]): void {
  if (names.length > 0) say(`Exported completely, because their rows have no day: ${names.join(', ')}.`);
}

function toRequest(flags: ExportFlags, compression: string): FileExport {
  const given = flags.format ?? 'parquet';
  const formats = Object.keys(FILE_FORMATS) as FileFormat[];
  const format = formats.find((candidate) => candidate === given);
  if (format === undefined) throw refuse(`--format is ${JSON.stringify(given)}; allowed: ${formats.join(', ')}`);
  const wanted = compressionOf(flags);
  if (wanted !== undefined && format !== 'parquet') {
    throw refuse(`--compression cannot be combined with --format ${format}; allowed: --format parquet`);
  }
  const from = flags.from === undefined ? null : toDayFlag('--from', flags.from);
  const to = flags.to === undefined ? null : toDayFlag('--to', flags.to);
  if (from !== null && to !== null && from > to) {
    throw refuse(`--from ${from} is after --to ${to}; allowed: the same day or an earlier one`);
  }
  const tables = listOf('--tables', flags.tables);
  const output = outputOf(flags, tables, format);
  return {
    tables,
    from,
    to,
    brands: listOf('--brand', flags.brand),
    format,
    compression: wanted ?? compression,
    output,
  };
}

function outputOf(
  { output, json }: ExportFlags,
  tables: readonly string[] | null,
  format: FileFormat,
): FileExport['output'] {
  if (output === undefined || output === '') {
    const allowed = `a folder for the files, or ${STDOUT} for standard output`;
    throw refuse(`--output is required to export selected data; allowed: ${allowed}`);
  }
  if (output !== STDOUT) return output;
  if (tables?.length !== 1) throw refuse('--output - allows one table; name it with --tables');
  if (json === true) throw refuse('--output - cannot be combined with --json, because both use standard output');
  if (BINARY.includes(format) && terminal().stdout.isTTY === true) {
    throw refuse(`${format} cannot be printed on a terminal; redirect it to a file or a program, or use --format csv`);
  }
  return exactOutput();
}

function compressionOf({ compression }: ExportFlags): (typeof COMPRESSIONS)[number] | undefined {
  const known = COMPRESSIONS.find((candidate) => candidate === compression);
  if (compression === undefined || known !== undefined) return known;
  throw refuse(`--compression is ${JSON.stringify(compression)}; allowed: ${COMPRESSIONS.join(', ')}`);
}

function refuse(message: string): SightlineError {
  return new SightlineError('usage', message);
}
