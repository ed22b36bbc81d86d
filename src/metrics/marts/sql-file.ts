import { withFormulas } from './formulas.ts';

/** A column of the rows that an SQL file returns. */
export interface SqlFileColumn {
  readonly name: string;
  /** SQL type, as DuckDB names it; TIMESTAMPTZ is short for TIMESTAMP WITH TIME ZONE. */
  readonly type: string;
  readonly about: string;
}

/** An entry of a header other than a column: `kind words: text`. */
export interface SqlFileEntry {
  readonly kind: string;
  readonly words: readonly string[];
  readonly text: string;
}

/** An SQL file with a header. */
export interface SqlFile {
  /** The description, with formulas and sources. */
  readonly about: string;
  readonly columns: readonly SqlFileColumn[];
  readonly entries: readonly SqlFileEntry[];
  readonly sql: string;
}

/** Ending of the names of SQL files. */
export const SQL_ENDING = '.sql';

const HEADER_LINE = /^--(?: (.*))?$/;
const COLUMN = /^column ([a-z0-9_]+) ([A-Z]+): (.+)$/;

/**
 * Parses an SQL file: comment lines with the description, then `formula:`, `source:`, one `column` entry per column and entries of the
 * given kinds, then the SELECT, which may call `formulas`. Long entries continue on indented comment lines.
 * @throws TypeError with the name of the file if the text has another form
 */
export function parseSqlFile(name: string, text: string, kinds: readonly string[]): SqlFile {
  const lines = text.split('\n');
  const end = lines.findIndex((line) => !line.startsWith('--'));
  const entryOf = new RegExp(`^(formula|source|${kinds.join('|')})((?: [^\\s:]+)*): (.+)$`);
  const isEntry = (line: string): boolean => COLUMN.test(line) || entryOf.test(line);
  const about: string[] = [];
  const columns: SqlFileColumn[] = [];
  const entries: SqlFileEntry[] = [];
  for (const line of entriesOf(name, lines.slice(0, end), isEntry)) {
    const [, column, type, of = ''] = COLUMN.exec(line) ?? [];
    const [, kind, words = '', said = ''] = entryOf.exec(line) ?? [];
    if (column !== undefined && type !== undefined) columns.push({ name: column, type, about: of });
    else if (kind === 'formula') about.push(`Formula: ${said}`);
    else if (kind === 'source') about.push(`Source: ${said}`);
    else if (kind !== undefined) entries.push({ kind, words: words.split(' ').slice(1), text: said });
    else if (columns.length === 0 && entries.length === 0) about.push(line);
    else throw new TypeError(`${name}${SQL_ENDING}: invalid header entry: ${line}`);
  }
  const sql = withFormulas(`${name}${SQL_ENDING}`, lines.slice(end).join('\n').trim());
  if (about.length === 0 || columns.length === 0 || sql === '') {
    throw new TypeError(`${name}${SQL_ENDING} lacks a description, columns or the SELECT`);
  }
  return { about: about.join(' '), columns, entries, sql };
}

// The description continues on the next plain line, an entry on the next indented line.
function entriesOf(name: string, lines: readonly string[], isEntry: (line: string) => boolean): string[] {
  const entries: string[] = [];
  for (const line of lines) {
    const content = HEADER_LINE.exec(line)?.[1];
    if (content === undefined) throw new TypeError(`${name}${SQL_ENDING}: invalid header line: ${line}`);
    const isText = !isEntry(content) && !isEntry(entries.at(-1) ?? '');
    if (entries.length > 0 && (content.startsWith('  ') || isText)) entries.push(`${entries.pop()} ${content.trim()}`);
    else entries.push(content);
  }
  return entries;
}
