import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { EXIT, SightlineError } from '../../../base/errors.ts';
import type { Exported } from '../../../operations/export.ts';
import type { FileExport } from '../../../operations/export-files.ts';
import type { Publication } from '../../../operations/publish.ts';
import type { Context } from '../../../session/workspace.ts';
import type { PlainFile } from '../../../snapshot/plain-files.ts';
import { applyUserUmask, count, exactOutput, plural, printData, printJson, say, size } from '../../output/output.ts';
import { createExportProgress } from '../../output/progress-line.ts';
import { terminal } from '../../output/terminal.ts';
import { checkOrder, workspaceOptions } from '../../program/common-options.ts';
import { defineCommand } from '../../program/define-command.ts';
import { day, list, oneOf, text, withNames } from '../../program/option-kinds.ts';

/** Value of --output for standard output. */
const STDOUT = '-';
/** Formats that must not be printed on a terminal. */
const BINARY: readonly string[] = ['parquet', 'arrow'];

/** Writes a snapshot, or plain files if an option asks for them. */
export const exportCommand = defineCommand({
  options: {
    ...workspaceOptions,
    tables: list('<tables...>', 'only these tables or views, such as those of mart.* (default: every table)'),
    from: day('only rows from this day on, YYYY-MM-DD; tables without days are exported completely'),
    to: day('only rows up to and including this day'),
    brand: list('<ids...>', 'only rows of these brands'),
    format: oneOf('<format>', 'format of the plain files, one file per table (default: parquet)', [
      'parquet',
      'csv',
      'ndjson',
      'arrow',
    ]),
    compression: oneOf('<name>', 'Parquet compression (default: as configured)', ['snappy', 'zstd']),
    output: withNames(
      'output',
      'o',
      text('<folder>', 'folder for plain files, or - for standard output, with one table'),
    ),
  },
  // Plain files are written from the replica, which needs no lock.
  forwardable: ({ output }) => (output === null ? { needsWarehouse: true } : null),
  examples: [
    ['sightline export', 'publish a snapshot of every table'],
    [
      'sightline export --tables responses --from 2026-11-01 --format csv --output files',
      'write part of a table as CSV',
    ],
  ],
  run: async ({ tables, from, to, brand, format: given, compression, output, ...unread }, begin) => {
    const { context: load, json } = begin(unread);
    if ([tables, from, to, brand, given, output].every((value) => value === null)) {
      const { exportWorkspace } = await import('../../../operations/export.ts');
      const progress = createExportProgress();
      const changes = compression === null ? {} : { compression };
      const snapshot = await exportWorkspace(await load(), progress.update, changes).finally(progress.done);
      const shown = renderSnapshot(snapshot, json);
      if (json) printJson('export', shown);
      return EXIT.done;
    }
    const format = given ?? 'parquet';
    if (compression !== null && format !== 'parquet') {
      throw refuse(`--compression cannot be combined with --format ${format}; allowed: --format parquet`);
    }
    checkOrder(from, to);
    const target = outputOf(output, tables, format, json);
    const context = await load();
    const selection = { tables, from, to, brands: brand, format, output: target };
    return exportPlain(context, { ...selection, compression: compression ?? context.config.compression }, json);
  },
});

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

async function exportPlain(context: Context, request: FileExport, json: boolean): Promise<number> {
  const { exportFiles } = await import('../../../operations/export-files.ts');
  const progress = createExportProgress();
  const { path, files, stale } = await exportFiles(context, request, progress.update).finally(progress.done);
  const isCut = request.from !== null || request.to !== null;
  const tables = files.map(({ name, rows, bytes, time, cut }) => {
    return { name, rows, files: 1, bytes, ...(isCut ? { time, cut } : {}) };
  });
  if (path !== null) await applyUserUmask([path, ...(await readdir(path)).map((name) => join(path, name))]);
  if (json) printJson('export --output', { snapshotId: null, path, tables });
  else {
    sayTotals(tables);
    if (isCut) sayCut(files);
  }
  if (stale) say('A sync owns the warehouse: the files are from the replica.');
  if (path !== null && !json) printData(path);
  return EXIT.done;
}

function sayTotals(tables: readonly { rows: number; files: number; bytes: number }[]): number {
  const sum = (of: 'rows' | 'files' | 'bytes'): number => tables.reduce((total, table) => total + table[of], 0);
  const files = sum('files');
  say(`${plural(tables.length, 'table')}, ${count(sum('rows'))} rows, ${plural(files, 'file')}, ${size(sum('bytes'))}`);
  return files;
}

function sayCut(files: readonly PlainFile[]): void {
  const complete = files.filter(({ time }) => time === null);
  if (complete.length > 0) {
    say(`Exported completely, because their rows have no day: ${complete.map(({ name }) => name).join(', ')}.`);
  }
  const omitted = files.filter(({ cut }) => cut.omitted > 0);
  if (omitted.length > 0) {
    const counts = omitted.map(({ name, cut }) => `${name} ${count(cut.omitted)}`);
    say(`Rows left out, because none of their days is selected: ${counts.join(', ')}.`);
  }
  for (const { name, cut } of files.filter((file) => file.cut.partial > 0)) {
    const days = `${cut.from} to ${cut.to}`;
    say(`${name} covers ${days}: ${count(cut.partial)} of its rows are for periods that are only partly selected.`);
  }
}

function outputOf(
  output: string | null,
  tables: readonly string[] | null,
  format: string,
  json: boolean,
): FileExport['output'] {
  if (output === null || output === '') {
    const allowed = `a folder for the files, or ${STDOUT} for standard output`;
    throw refuse(`--output is required to export selected data; allowed: ${allowed}`);
  }
  if (output !== STDOUT) return output;
  if (tables?.length !== 1) throw refuse('--output - allows one table; name it with --tables');
  if (json) throw refuse('--output - cannot be combined with --json, because both use standard output');
  if (BINARY.includes(format) && terminal().stdout.isTTY === true) {
    throw refuse(`${format} cannot be printed on a terminal; redirect it to a file or a program, or use --format csv`);
  }
  return exactOutput();
}

function refuse(message: string): SightlineError {
  return new SightlineError('usage', message);
}
