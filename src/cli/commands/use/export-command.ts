import { EXIT, SightlineError } from '../../../base/errors.ts';
import type { FileExport } from '../../../operations/export/export-files.ts';
import { FILE_FORMATS, type FileFormat, isWorkbook } from '../../../publish/snapshot/file-formats.ts';
import { toSince } from '../../../publish/snapshot/since.ts';
import { exactOutput, printJson } from '../../output/output.ts';
import { createProgress, exportLine } from '../../output/progress-line.ts';
import { terminal } from '../../output/terminal.ts';
import { checkOrder, workspaceOptions } from '../../program/common-options.ts';
import { defineCommand } from '../../program/define-command.ts';
import { day, flag, list, oneOf, option, text, withNames } from '../../program/option-kinds.ts';

/** Value of --output for standard output. */
const STDOUT = '-';
/** Formats that must not be printed on a terminal. */
const BINARY: readonly string[] = ['parquet', 'arrow', 'xlsx'];

/** Writes a snapshot, or plain files if an option asks for them. */
export const exportCommand = defineCommand({
  options: {
    ...workspaceOptions,
    tables: list('<tables...>', 'only these tables or views, such as those of mart.* (default: every table)'),
    from: day('only rows from this day on, YYYY-MM-DD; tables without days are exported completely'),
    to: day('only rows up to and including this day'),
    brand: list('<brands...>', 'only rows of these brands, by name or ID'),
    since: option(
      '<time|snapshot|last>',
      'only rows inserted, updated or deleted since then, with a column _change',
      toSince,
    ),
    name: text('<name>', 'name under which --since last stores its position (default: the path of --output)'),
    format: oneOf(
      '<format>',
      'format of the plain files, one file per table; xlsx: one workbook (default: from the extension of --output, or parquet)',
      Object.keys(FILE_FORMATS) as FileFormat[],
    ),
    compression: oneOf('<name>', 'Parquet compression (default: as configured)', ['snappy', 'zstd']),
    output: withNames(
      'output',
      'o',
      text(
        '<path>',
        'folder for plain files, or name.xlsx for one workbook (%Y, %m, %d, %H: time in UTC), or - for standard output',
      ),
    ),
    all: flag('export every configured workspace; with --output, to one folder per workspace below it'),
  },
  examples: [
    ['sightline export', 'publish a snapshot of every table'],
    [
      "sightline export --since last --format csv --output 'files/%Y-%m-%d'",
      'write the changes since the last such export as CSV',
    ],
  ],
  run: async ({ tables, from, to, brand, since, name, format, compression, output, all, ...unread }, begin) => {
    const { context, flags, json, signal } = begin(unread);
    const isPlain = [tables, from, to, brand, since, name, format, output].some((value) => value !== null);
    const standard = output !== null && isWorkbook(output) ? 'xlsx' : 'parquet';
    const request = { tables, from, to, brands: brand, since, name, format: format ?? standard } as const;
    if (isPlain) checkPlain(request, compression, output);
    if (all) {
      const { exportAll } = await import('../scale/export-all-command.ts');
      const files = isPlain ? { ...request, output: folderOf(output) } : null;
      return exportAll(flags, { files, compression }, signal);
    }
    const progress = createProgress(signal, exportLine);
    if (!isPlain) {
      const { exportWorkspace } = await import('../../../operations/export.ts');
      const { renderSnapshot } = await import('../../output/export-summary.ts');
      const changes = compression === null ? {} : { compression };
      const snapshot = await exportWorkspace(await context(), progress.update, changes).finally(progress.done);
      const shown = renderSnapshot(snapshot, json);
      if (json) printJson('export', shown);
      return EXIT.done;
    }
    const target = output === STDOUT ? streamOf(request, json) : folderOf(output);
    const loaded = await context();
    const { exportFiles } = await import('../../../operations/export/export-files.ts');
    const { renderFiles } = await import('../../output/export-summary.ts');
    const plain = { ...request, output: target, compression: compression ?? loaded.config.compression };
    const exported = await exportFiles(loaded, plain, progress.update).finally(progress.done);
    const shown = await renderFiles(exported, from !== null || to !== null, json);
    if (json) printJson('export --output', shown);
    return EXIT.done;
  },
});

type PlainRequest = Omit<FileExport, 'output' | 'compression'>;

function checkPlain(
  { from, to, since, name, format }: PlainRequest,
  compression: string | null,
  output: string | null,
) {
  if (output !== null && isWorkbook(output) && format !== 'xlsx') {
    throw refuse(`--output ${output} cannot be combined with --format ${format}; allowed: --format xlsx, or a folder`);
  }
  if (compression !== null && format !== 'parquet') {
    throw refuse(`--compression cannot be combined with --format ${format}; allowed: --format parquet`);
  }
  checkOrder(from, to);
  if (name != null && since?.kind !== 'last') throw refuse(`--name ${name} requires --since last`);
  if (name === '') throw refuse('--name is ""; allowed: any text that is not empty');
  if (output === STDOUT && since?.kind === 'last' && name == null) {
    throw refuse('--since last with --output - requires --name, which the position is stored under');
  }
}

function folderOf(output: string | null): string {
  if (output !== null && output !== '' && output !== STDOUT) return output;
  if (output === STDOUT) throw refuse('--output - cannot be combined with --all; allowed: a folder for the files');
  const allowed = `a folder for the files, or ${STDOUT} for standard output`;
  throw refuse(`--output is required to export selected data; allowed: ${allowed}`);
}

function streamOf({ tables, format }: PlainRequest, json: boolean): FileExport['output'] {
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
