import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { withNames } from './names.ts';
import { parseSqlFile, SQL_ENDING, type SqlFileColumn } from './sql-file.ts';

/** The schema that holds the marts. */
export const MART_SCHEMA = 'mart';

/** A view for analysts: its description (with formula and source), its columns and its SELECT statement. */
export interface Mart {
  readonly name: string;
  readonly about: string;
  readonly columns: readonly SqlFileColumn[];
  /** Columns that identify a row; all columns if none are declared. */
  readonly key: readonly string[];
  /**
   * Time column of a fact, by which its files are divided into months. Its rows of a month depend on no row of another month of the tables
   * with a time.
   */
  readonly time: string | undefined;
  readonly sql: string;
}

const FOLDER = import.meta.dirname;
/**
 * Returns all marts, each after the marts it reads from. Reads them from the SQL files in this folder.
 * @throws TypeError with the name of the file if a header is invalid.
 */
export function marts(): readonly Mart[] {
  return inOrder(
    readdirSync(FOLDER)
      .filter((file) => file.endsWith(SQL_ENDING))
      .sort()
      .map((file) => withNames(parseMart(file.slice(0, -SQL_ENDING.length), readFileSync(join(FOLDER, file), 'utf8')))),
  );
}

/**
 * Parses the text of a mart file, an SQL file with the entries `key:` and `time:`.
 * @throws TypeError if the text has another form.
 */
export function parseMart(name: string, text: string): Mart {
  const { about, columns, entries, sql } = parseSqlFile(name, text, ['key', 'time']);
  const names = columns.map((column) => column.name);
  const textOf = (wanted: string): string | undefined => entries.find(({ kind }) => kind === wanted)?.text;
  const key = textOf('key')?.split(', ') ?? names;
  const time = textOf('time');
  const unknown = [...key, ...(time === undefined ? [] : [time])].find((column) => !names.includes(column));
  if (unknown !== undefined) throw new TypeError(`${name}${SQL_ENDING}: ${unknown} is not a column`);
  return { name, about, columns, key, time, sql };
}

function inOrder(all: readonly Mart[]): Mart[] {
  const ordered: Mart[] = [];
  const add = (mart: Mart, trail: readonly string[]): void => {
    if (ordered.includes(mart)) return;
    if (trail.includes(mart.name))
      throw new TypeError(`marts depend on each other: ${[...trail, mart.name].join(', ')}`);
    for (const other of martsIn(mart, all)) add(other, [...trail, mart.name]);
    ordered.push(mart);
  };
  for (const mart of all) add(mart, []);
  return ordered;
}

/** Returns the tables that a mart reads, directly and through other marts, such as `"main"."responses"`. */
export function tablesIn(mart: Mart, all: readonly Mart[]): string[] {
  const own = ['main', 'sync'].flatMap((schema) => namesIn(mart, schema).map((name) => `"${schema}"."${name}"`));
  return [...new Set([...own, ...martsIn(mart, all).flatMap((other) => tablesIn(other, all))])];
}

function martsIn(mart: Mart, all: readonly Mart[]): Mart[] {
  const names = namesIn(mart, MART_SCHEMA);
  return all.filter(({ name }) => names.includes(name));
}

// The names of a schema in the SQL of a mart.
function namesIn({ sql }: Mart, schema: string): string[] {
  return [...sql.matchAll(new RegExp(`\\b${schema}\\.([a-z0-9_]+)`, 'g'))].map(([, name = '']) => name);
}
