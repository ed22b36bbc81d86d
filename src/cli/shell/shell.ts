import { readFile, writeFile } from 'node:fs/promises';
import { createInterface, type Interface } from 'node:readline';
import { suggestion } from '../../base/choose-name.ts';
import { SightlineError, toSightlineError } from '../../base/errors.ts';
import { visible } from '../../base/visible.ts';
import { shownTime } from '../../contract/time.ts';
import type { QuerySession } from '../../operations/query.ts';
import type { QueryResult } from '../../warehouse/reader.ts';
import { literal } from '../../warehouse/schema.ts';
import { isFinished } from '../../warehouse/sql/sql-text.ts';
import { FORMATS, type Format, formatRows } from '../output/row-format.ts';
import { createCompleter } from './shell-text.ts';

/** Lines that the history file keeps. */
const HISTORY_LINES = 1_000;
const PROMPT = 'sightline> ';
const CONTINUED = '      ...> ';

const HELP = `A statement ends with a semicolon. The Tab key completes names of tables and columns.
  .tables [TEXT]     list tables and views, or those with TEXT in their name
  .describe TABLE    describe the columns of a table
  .format FORMAT     set the output format: ${FORMATS.join(', ')}
  .refresh           open the newest replica
  .help              show this help
  .quit              quit (or press Ctrl-D)
`;

/** Input, output and data of a shell. */
export interface ShellParts {
  readonly open: () => Promise<QuerySession>;
  readonly format: Format;
  /** Path of the history file, which only this user can read. */
  readonly historyFile: string;
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
  /** Aborting it ends the shell. */
  readonly signal: AbortSignal;
}

/**
 * Reads statements from a terminal and prints their rows until the input ends. An error is printed and does not end the shell.
 * Ctrl-C cancels the running statement, or discards the lines typed so far.
 */
export async function runShell(parts: ShellParts): Promise<void> {
  const { input, output, signal } = parts;
  const shell = await createShell(parts);
  const lines = createInterface({
    input,
    output,
    terminal: true,
    history: await readHistory(parts.historyFile),
    historySize: HISTORY_LINES,
    removeHistoryDuplicates: true,
    completer: (line: string) => shell.complete(line),
    prompt: PROMPT,
  });
  output.write(`${shell.greeting()}\n`);
  let kept: string[] = [];
  lines.on('history', (history) => {
    kept = history;
  });
  const onAbort = (): void => lines.close();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    await readLines(lines, shell, output);
  } finally {
    signal.removeEventListener('abort', onAbort);
    shell.close();
    if (kept.length > 0) await writeHistory(parts.historyFile, kept);
  }
  signal.throwIfAborted();
}

interface Shell {
  greeting(): string;
  complete(line: string): [string[], string];
  /** Handles a line. Resolves to the text to print, or to null to quit. */
  take(line: string): Promise<string | null>;
  /** Whether an unfinished statement is pending. */
  isWithin(): boolean;
  interrupt(): void;
  close(): void;
}

// Handles lines one at a time, even when several are pasted while a statement runs.
function readLines(lines: Interface, shell: Shell, output: NodeJS.WritableStream): Promise<void> {
  return new Promise((resolve, reject) => {
    let turn: Promise<void> = Promise.resolve();
    const prompt = (): void => {
      lines.setPrompt(shell.isWithin() ? CONTINUED : PROMPT);
      lines.prompt();
    };
    lines.on('line', (line) => {
      turn = turn
        .then(async () => {
          const reply = await shell.take(line);
          if (reply === null) lines.close();
          else {
            if (reply !== '') output.write(visible(reply.endsWith('\n') ? reply : `${reply}\n`));
            prompt();
          }
        })
        .catch(reject);
    });
    lines.on('SIGINT', () => {
      shell.interrupt();
      lines.write(null, { ctrl: true, name: 'u' });
      output.write('\n');
      prompt();
    });
    lines.on('close', () => {
      turn.then(resolve, reject);
    });
    prompt();
  });
}

async function createShell(parts: ShellParts): Promise<Shell> {
  let session = await parts.open();
  let format = parts.format;
  let typed: string[] = [];
  let complete = await completerOf(session);
  const show = async (sql: string): Promise<string> =>
    (await session.sql.query(sql)).map((result) => formatRows(result, format)).join('\n\n');
  const commands: Readonly<Record<string, (argument: string) => Promise<string | null>>> = {
    help: async () => HELP,
    quit: async () => null,
    exit: async () => null,
    tables: (text) => show(TABLES.replace('$1', () => literal(`%${text}%`))),
    describe: async (name) => {
      const result = await one(
        session,
        DESCRIBE.replaceAll('$1', () => literal(name)),
      );
      if (result.rows.length === 0) return `unknown table ${JSON.stringify(name)}; .tables lists all tables`;
      return formatRows(result, format);
    },
    format: async (name) => {
      const known = FORMATS.find((candidate) => candidate === name);
      if (known === undefined)
        return `.format is ${JSON.stringify(name)}; allowed: ${FORMATS.join(', ')}${suggestion(name, FORMATS)}`;
      format = known;
      return '';
    },
    refresh: async () => {
      const next = await parts.open();
      session.sql.close();
      session = next;
      complete = await completerOf(session);
      return asOf(session);
    },
  };
  const run = async (line: string): Promise<string | null> => {
    if (typed.length === 0 && line.trim() === '') return '';
    if (typed.length === 0 && line.trimStart().startsWith('.')) {
      const [name = '', ...rest] = line.trim().slice(1).split(/\s+/);
      const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
      if (command === undefined)
        return `unknown command .${name}; .help lists all commands${suggestion(name, Object.keys(commands))}`;
      return command(rest.join(' '));
    }
    typed.push(line);
    const statement = typed.join('\n');
    if (!isFinished(statement)) return '';
    typed = [];
    return show(statement);
  };
  return {
    greeting: () => `${asOf(session)} Type .help for help.`,
    complete: (line) => complete(line),
    take: async (line) => {
      try {
        return await run(line);
      } catch (thrown) {
        return messageOf(thrown);
      }
    },
    isWithin: () => typed.length > 0,
    interrupt: () => {
      typed = [];
      session.sql.interrupt();
    },
    close: () => session.sql.close(),
  };
}

const TABLES = `SELECT CASE schema_name WHEN 'main' THEN '' ELSE schema_name || '.' END || name AS name, comment AS about FROM (
    SELECT schema_name, table_name AS name, comment FROM duckdb_tables() WHERE NOT internal
    UNION ALL SELECT schema_name, view_name, comment FROM duckdb_views() WHERE NOT internal)
  WHERE name ILIKE $1 ORDER BY schema_name <> 'main', 1`;
const DESCRIBE = `SELECT column_name AS name, data_type AS type, comment AS about FROM duckdb_columns()
  WHERE NOT internal AND lower(CASE schema_name WHEN 'main' THEN '' ELSE schema_name || '.' END || table_name) = lower($1)
  ORDER BY column_index`;
const NAMES = `SELECT CASE schema_name WHEN 'main' THEN '' ELSE schema_name || '.' END || table_name, column_name
  FROM duckdb_columns() WHERE NOT internal`;

async function one({ sql }: QuerySession, query: string): Promise<QueryResult> {
  const [result] = await sql.query(query, 1);
  return result as QueryResult;
}

async function completerOf(session: QuerySession): Promise<(line: string) => [string[], string]> {
  const { rows } = await one(session, NAMES);
  return createCompleter(
    rows.map(([table]) => String(table)),
    rows.map(([, column]) => String(column)),
  );
}

function asOf({ asOf: moment, isBehind }: QuerySession): string {
  const behind = isBehind ? ' The warehouse has newer data: `sightline export` or the next sync publishes it.' : '';
  return `Data as of ${shownTime(moment)}, read-only.${behind}`;
}

function messageOf(thrown: unknown): string {
  const error = thrown instanceof SightlineError ? thrown : toSightlineError(thrown);
  return `sightline: ${error.message}`;
}

// Lines are ordered from newest to oldest. The shell works without a history if the file cannot be read or written.
async function readHistory(path: string): Promise<string[]> {
  const text = await readFile(path, 'utf8').catch(() => '');
  return text.split('\n').filter((line) => line !== '');
}

async function writeHistory(path: string, lines: readonly string[]): Promise<void> {
  await writeFile(path, `${lines.join('\n')}\n`, { mode: 0o600 }).catch(() => undefined);
}
