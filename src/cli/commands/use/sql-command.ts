import { readFile } from 'node:fs/promises';
import { extname, join, resolve } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import type { WorkspaceConfig } from '../../../base/config/config.ts';
import { EXIT, SightlineError } from '../../../base/errors.ts';
import { utf8Text } from '../../../base/utf8.ts';
import { shownTime } from '../../../contract/time.ts';
import type { MidwayState } from '../../../operations/query.ts';
import { MEMORY_MB_MIN } from '../../../warehouse/sql/guarded-protocol.ts';
import { applyUserUmask, plural, printData, say } from '../../output/output.ts';
import { FORMATS, formatRows, isExactFormat } from '../../output/row-format.ts';
import { runningText } from '../../output/running-text.ts';
import { terminal } from '../../output/terminal.ts';
import { workspaceOptions } from '../../program/common-options.ts';
import { defineCommand } from '../../program/define-command.ts';
import { argument, flag, integer, oneOf, optionalInteger, text } from '../../program/option-kinds.ts';

/** Longest timeout: a day, in seconds. A timer of more than 24 days would fire at once. */
const TIMEOUT_S_MAX = 86_400;
/** Number of questions of the gallery, which is not loaded for help. */
const GALLERY_SIZE = 25;
/** 1 TB. */
const MEMORY_MB_MAX = 1_048_576;

const WRITTEN = [...FORMATS, 'parquet'] as const;
type Written = (typeof WRITTEN)[number];

/** Format of an output file by its extension. */
const ENDINGS: Readonly<Record<string, Written>> = {
  '.csv': 'csv',
  '.json': 'json',
  '.ndjson': 'ndjson',
  '.jsonl': 'ndjson',
  '.parquet': 'parquet',
};

/** Without a query, `sql` reads one from standard input, or starts a shell. */
export const sql = defineCommand({
  arguments: {
    query: argument(
      '[query]',
      'reading DuckDB statements, such as SELECT, FROM, DESCRIBE, SHOW, SUMMARIZE, EXPLAIN or SET VARIABLE; all others are rejected before any statement runs. The table format shows the result of each statement, other formats accept one (default: read from standard input)',
    ),
  },
  options: {
    ...workspaceOptions,
    file: text('<file>', 'read the query from a file'),
    saved: text('<name>', 'run a saved query: queries/<name>.sql in the folder of the workspace'),
    listSaved: flag('list the saved queries'),
    gallery: optionalInteger('[number]', 'list example questions, or run the SQL of one', 1, GALLERY_SIZE),
    format: oneOf('<format>', 'format of the rows (default: from the extension of --output, or table)', WRITTEN),
    output: text('<file>', 'write the rows to a file'),
    timeout: integer('<seconds>', 'time limit of the query (default: 3600)', 1, TIMEOUT_S_MAX),
    maxMemory: integer(
      '<MB>',
      'memory limit of the query (default: 4096, at most half of the memory)',
      MEMORY_MB_MIN,
      MEMORY_MB_MAX,
    ),
  },
  examples: [
    ['sightline sql --gallery 5', 'answer a question of the gallery'],
    ['sightline sql --file query.sql --output rows.parquet', 'run the query of a file and write the rows to another'],
  ],
  run: async (given, begin) => {
    const {
      query,
      file,
      saved,
      listSaved,
      gallery,
      format: asked,
      output: named,
      timeout,
      maxMemory,
      ...unread
    } = given;
    const { config: load, json, signal } = begin(unread);
    checkOneSource({ query, file, saved, listSaved, gallery });
    const byName = named === null ? undefined : ENDINGS[extname(named).toLowerCase()];
    const format = asked ?? (json ? 'json' : (byName ?? 'table'));
    const operation = await import('../../../operations/query.ts');
    const limits = operation.ownerLimits({
      ...(timeout === null ? {} : { timeoutMs: timeout * 1_000 }),
      ...(maxMemory === null ? {} : { memoryMb: maxMemory }),
    });
    const config = await load();
    if (listSaved || gallery === 'all') {
      const { galleryList, savedList } = await import('../../../operations/sql/query-lists.ts');
      const list = listSaved ? await savedList(config) : galleryList();
      printData(formatRows(list, asTextFormat(format)), { isExact: isExactFormat(format) });
      return EXIT.done;
    }
    const known = await knownStatement(config, saved, gallery);
    if (query === null && file === null && known === null && terminal().stdin.isTTY === true) {
      if (named !== null || format === 'parquet') {
        throw new SightlineError('usage', '--output and --format parquet require a query or --file');
      }
      const { runShell } = await import('../../shell/shell.ts');
      const open = () => operation.openSession(config, limits);
      const historyFile = join(config.folder, '.sql_history');
      await runShell({ open, format, historyFile, input: terminal().stdin, output: terminal().stdout, signal });
      return EXIT.done;
    }
    const statement = query ?? known ?? (await readStatement(file ?? '-'));
    if (statement.trim() === '') throw new SightlineError('usage', 'the query is empty');
    const midway = await operation.readMidway(config);
    const output = named === '-' ? null : named;
    if (output !== null) await operation.checkOutputFile(config, output, '--output');
    if (format === 'parquet' && output === null) {
      if (terminal().stdout.isTTY === true) {
        throw new SightlineError('usage', 'parquet cannot be printed on a terminal; name a file with --output');
      }
      await operation.streamQuery(config, statement, terminal().stdout, { signal, limits });
      sayRunning(midway);
      return EXIT.done;
    }
    if (format === 'parquet' && output !== null) {
      await sayWritten(output, await operation.saveQuery(config, statement, output, { signal, limits }));
      sayRunning(midway);
      return EXIT.done;
    }
    const shown = format as Exclude<Written, 'parquet'>;
    // Only the table format may contain several results; other formats would not be parseable.
    const most = shown === 'table' ? {} : { resultsMax: 1 };
    const found = await operation.queryWorkspace(config, statement, { signal, limits, ...most });
    const results = shown === 'table' || found.length > 0 ? found : [{ columns: [], rows: [] }];
    const rows = results.map((result) => formatRows(result, shown)).join('\n\n');
    if (output === null) printData(rows, { isExact: isExactFormat(shown) });
    else {
      await operation.saveText(output, rows);
      await sayWritten(
        output,
        results.reduce((sum, result) => sum + result.rows.length, 0),
      );
    }
    sayRunning(midway);
    return EXIT.done;
  },
});

/** Where a query comes from, by the names of options and arguments. */
const SOURCES = {
  query: 'QUERY',
  file: '--file',
  saved: '--saved',
  listSaved: '--list-saved',
  gallery: '--gallery',
} as const;

function checkOneSource(sources: Readonly<Record<keyof typeof SOURCES, unknown>>): void {
  const isGiven = (key: keyof typeof SOURCES): boolean => sources[key] !== null && sources[key] !== false;
  const given = (Object.keys(SOURCES) as (keyof typeof SOURCES)[]).filter(isGiven).map((key) => SOURCES[key]);
  if (given.length > 1)
    throw new SightlineError('usage', `${given.join(' and ')} cannot be combined; allowed: one of them`);
}

function asTextFormat(format: Written): Exclude<Written, 'parquet'> {
  if (format !== 'parquet') return format;
  throw new SightlineError('usage', `--format is "parquet"; allowed for lists: ${FORMATS.join(', ')}`);
}

// Returns null if neither a saved query nor a question of the gallery is given.
async function knownStatement(
  config: WorkspaceConfig,
  saved: string | null,
  number: number | 'all' | null,
): Promise<string | null> {
  if (saved === null && number === null) return null;
  const { savedQuery, galleryQuery } = await import('../../../operations/sql/query-lists.ts');
  return saved === null ? galleryQuery(Number(number)) : savedQuery(config, saved);
}

// Without a running sync the data are as current as the last one.
function sayRunning(midway: MidwayState | null): void {
  if (midway === null) return;
  say(`Data as of ${shownTime(midway.asOf)}; a sync is running: ${runningText(midway.running)}.`);
}

async function sayWritten(output: string, rows: number): Promise<void> {
  await applyUserUmask([output]);
  say(`${plural(rows, 'row')} in ${resolve(output)}`);
}

async function readStatement(file: string): Promise<string> {
  if (file === '-') return readAll(terminal().stdin);
  const bytes = await readFile(file).catch((thrown: unknown) => {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    throw new SightlineError('usage', `--file ${file} cannot be read: ${reason}`, { cause: thrown });
  });
  const text = utf8Text(bytes);
  if (text !== null) return text;
  throw new SightlineError('usage', `--file ${file} is not UTF-8 text but UTF-16 or binary; allowed: UTF-8`);
}
