import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { withNames } from './names.ts';

/** The schema that holds the marts. */
export const MART_SCHEMA = 'mart';

/** A column of a mart. */
export interface MartColumn {
  readonly name: string;
  /** SQL type, as DuckDB names it; TIMESTAMPTZ is short for TIMESTAMP WITH TIME ZONE. */
  readonly type: string;
  readonly about: string;
}

/** A view for analysts: its description (with formula and source), its columns and its SELECT statement. */
export interface Mart {
  readonly name: string;
  readonly about: string;
  readonly columns: readonly MartColumn[];
  /** Columns that identify a row; all columns if none are declared. */
  readonly key: readonly string[];
  /** Time column of a fact, by which its files are divided into months. */
  readonly time: string | undefined;
  readonly sql: string;
}

const FOLDER = import.meta.dirname;
const ENDING = '.sql';
const HEADER_LINE = /^--(?: (.*))?$/;
const ENTRY = /^(formula|source|key|time|column ([a-z0-9_]+) ([A-Z]+)): (.+)$/;

/**
 * Returns all marts, each after the marts it reads from. Reads them from the SQL files in this folder.
 * @throws TypeError with the name of the file if a header is invalid.
 */
export function marts(): readonly Mart[] {
  return inOrder(
    readdirSync(FOLDER)
      .filter((file) => file.endsWith(ENDING))
      .sort()
      .map((file) => withNames(parseMart(file.slice(0, -ENDING.length), readFileSync(join(FOLDER, file), 'utf8')))),
  );
}

/**
 * Parses the text of a mart file: comment lines with the description, then `formula:`, `source:`, `key:`, `time:` and one `column`
 * entry per column, then the SELECT. Long entries continue on indented comment lines.
 * @throws TypeError if the text has another form.
 */
export function parseMart(name: string, text: string): Mart {
  const lines = text.split('\n');
  const end = lines.findIndex((line) => !line.startsWith('--'));
  const about: string[] = [];
  const columns: MartColumn[] = [];
  const declared: { key?: string[]; time?: string } = {};
  for (const entry of entriesOf(name, lines.slice(0, end))) {
    const [, kind, column, type, said = ''] = ENTRY.exec(entry) ?? [];
    if (kind === undefined && columns.length === 0) about.push(entry);
    else if (column !== undefined && type !== undefined) columns.push({ name: column, type, about: said });
    else if (kind === 'key') declared.key = said.split(', ');
    else if (kind === 'time') declared.time = said;
    else if (kind === 'formula') about.push(`Formula: ${said}`);
    else if (kind === 'source') about.push(`Source: ${said}`);
    else throw new TypeError(`${name}${ENDING}: invalid header entry: ${entry}`);
  }
  const sql = lines.slice(end).join('\n').trim();
  if (about.length === 0 || columns.length === 0 || sql === '') {
    throw new TypeError(`${name}${ENDING} lacks a description, columns or the SELECT`);
  }
  const names = columns.map((column) => column.name);
  const { key = names, time } = declared;
  const unknown = [...key, ...(time === undefined ? [] : [time])].find((column) => !names.includes(column));
  if (unknown !== undefined) throw new TypeError(`${name}${ENDING}: ${unknown} is not a column`);
  return { name, about: about.join(' '), columns, key, time, sql };
}

// The description continues on the next plain line, an entry on the next indented line.
function entriesOf(name: string, lines: readonly string[]): string[] {
  const entries: string[] = [];
  for (const line of lines) {
    const content = HEADER_LINE.exec(line)?.[1];
    if (content === undefined) throw new TypeError(`${name}${ENDING}: invalid header line: ${line}`);
    const isNext = entries.length > 0 && (content.startsWith('  ') || !(ENTRY.test(content) || isEntry(entries)));
    if (isNext) entries.push(`${entries.pop()} ${content.trim()}`);
    else entries.push(content);
  }
  return entries;
}

function isEntry(entries: readonly string[]): boolean {
  return ENTRY.test(entries.at(-1) ?? '');
}

function inOrder(all: readonly Mart[]): Mart[] {
  const ordered: Mart[] = [];
  const add = (mart: Mart, trail: readonly string[]): void => {
    if (ordered.includes(mart)) return;
    if (trail.includes(mart.name))
      throw new TypeError(`marts depend on each other: ${[...trail, mart.name].join(', ')}`);
    const reads = new Set([...mart.sql.matchAll(/\bmart\.([a-z0-9_]+)/g)].map((match) => match[1]));
    for (const other of all) if (reads.has(other.name)) add(other, [...trail, mart.name]);
    ordered.push(mart);
  };
  for (const mart of all) add(mart, []);
  return ordered;
}
