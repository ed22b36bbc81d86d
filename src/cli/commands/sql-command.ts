import { createReadStream } from 'node:fs';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { extname, join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { EXIT, SightlineError } from '../../base/errors.ts';
import { ensureWritableFolder, publishByRename, syncToDisk } from '../../base/files.ts';
import { checkNotOwnFile } from '../../operations/own-files.ts';
import { openSession, ownerLimits, type QueryOptions, queryWorkspace, saveQuery } from '../../operations/query.ts';
import { MEMORY_MB_MIN, type QueryLimits } from '../../warehouse/sql/guarded-protocol.ts';
import { readConfig, toInteger, type WorkspaceFlags } from '../context.ts';
import { applyUserUmask, plural, printData, say } from '../output/output.ts';
import { FORMATS, formatRows } from '../output/row-format.ts';
import { runShell } from '../shell/shell.ts';

/** Flags of `sql`. */
export interface SqlFlags extends WorkspaceFlags {
  readonly format?: string;
  readonly file?: string;
  readonly output?: string;
  readonly timeout?: string;
  readonly maxMemory?: string;
}

/** Longest timeout: a day, in seconds. A timer of more than 24 days would fire at once. */
const TIMEOUT_S_MAX = 86_400;
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

/** Runs `sightline sql` and returns its exit code. Without a query it reads one from standard input, or starts a shell. */
export async function sql(query: string | undefined, flags: SqlFlags, signal: AbortSignal): Promise<number> {
  const format = formatOf(flags);
  if (query !== undefined && flags.file !== undefined) {
    throw new SightlineError('usage', 'a query cannot be combined with --file');
  }
  const limits = limitsOf(flags);
  const config = readConfig(flags);
  const isTyped = query === undefined && flags.file === undefined && process.stdin.isTTY === true;
  if (isTyped) {
    if (flags.output !== undefined || format === 'parquet') {
      throw new SightlineError('usage', '--output and --format parquet require a query or --file');
    }
    await runShell({
      open: () => openSession(config, limits),
      format,
      historyFile: join(config.folder, '.sql_history'),
      input: process.stdin,
      output: process.stdout,
      signal,
    });
    return EXIT.done;
  }
  const statement = query ?? (await readStatement(flags.file ?? '-'));
  if (statement.trim() === '') throw new SightlineError('usage', 'the query is empty');
  const output = flags.output === '-' ? undefined : flags.output;
  if (output !== undefined && (await stat(output).catch(() => null))?.isDirectory() === true) {
    throw new SightlineError('usage', `--output ${output} is a folder; allowed: a new or existing file`);
  }
  if (output !== undefined) await checkNotOwnFile(config.folder, output, `--output ${output}`);
  if (format === 'parquet') return writeParquet(config, statement, output, { signal, limits });
  // Only the table format may contain several results; other formats would not be parseable.
  const most = format === 'table' ? {} : { resultsMax: 1 };
  const results = await queryWorkspace(config, statement, { signal, limits, ...most });
  const none = { columns: [], rows: [] };
  const shown = format === 'table' || results.length > 0 ? results : [none];
  const rows = shown.map((result) => formatRows(result, format)).join('\n\n');
  if (output === undefined) printData(rows, { isExact: format === 'csv' });
  else {
    await writeAtomically(output, rows);
    await applyUserUmask([output]);
    say(
      `${plural(
        shown.reduce((sum, result) => sum + result.rows.length, 0),
        'row',
      )} in ${resolve(output)}`,
    );
  }
  return EXIT.done;
}

function limitsOf({ timeout, maxMemory }: SqlFlags): QueryLimits {
  return ownerLimits({
    ...(timeout === undefined ? {} : { timeoutMs: toInteger('--timeout', timeout, 1, TIMEOUT_S_MAX) * 1_000 }),
    ...(maxMemory === undefined
      ? {}
      : { memoryMb: toInteger('--max-memory', maxMemory, MEMORY_MB_MIN, MEMORY_MB_MAX) }),
  });
}

function formatOf({ format, json, output }: SqlFlags): Written {
  const byName = output === undefined ? undefined : ENDINGS[extname(output).toLowerCase()];
  const wanted = format ?? (json === true ? 'json' : (byName ?? 'table'));
  const known = WRITTEN.find((candidate) => candidate === wanted);
  if (known !== undefined) return known;
  throw new SightlineError('usage', `--format is ${JSON.stringify(wanted)}; allowed: ${WRITTEN.join(', ')}`);
}

async function readStatement(file: string): Promise<string> {
  if (file === '-') return text(process.stdin);
  try {
    return await readFile(file, 'utf8');
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    throw new SightlineError('usage', `--file ${file} cannot be read: ${reason}`, { cause: thrown });
  }
}

async function writeParquet(
  config: ReturnType<typeof readConfig>,
  statement: string,
  output: string | undefined,
  options: QueryOptions,
): Promise<number> {
  if (output !== undefined) {
    const rows = await saveQuery(config, statement, output, options);
    await applyUserUmask([output]);
    say(`${plural(rows, 'row')} in ${resolve(output)}`);
    return EXIT.done;
  }
  if (process.stdout.isTTY === true) {
    throw new SightlineError('usage', 'parquet cannot be printed on a terminal; name a file with --output');
  }
  const folder = await mkdtemp(join(tmpdir(), 'sightline-sql-'));
  try {
    const file = join(folder, 'rows.parquet');
    await saveQuery(config, statement, file, options);
    await pipeline(createReadStream(file), process.stdout, { end: false });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return EXIT.done;
}

async function writeAtomically(path: string, rows: string): Promise<void> {
  const target = resolve(path);
  const aside = `${target}.${process.pid}.new`;
  await ensureWritableFolder(resolve(target, '..'));
  try {
    await writeFile(aside, rows.endsWith('\n') ? rows : `${rows}\n`);
    await syncToDisk(aside);
    await publishByRename(aside, target);
  } finally {
    await rm(aside, { force: true });
  }
}
