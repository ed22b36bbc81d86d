import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { withFormulas } from '../marts/formulas.ts';

/** A question of an analyst with the SQL that answers it. */
export interface GalleryQuery {
  /** Counted from 1. */
  readonly number: number;
  readonly question: string;
  /** Description of the rows, and how to read them. */
  readonly about: string;
  /** Tables that the query reads, with their schema. */
  readonly tables: readonly string[];
  /** Columns of the result, in order. */
  readonly columns: readonly string[];
  readonly sql: string;
}

const FOLDER = import.meta.dirname;
const FILE = /^(\d\d)-([a-z-]+)\.sql$/;

/**
 * Returns the gallery by number. Reads the SQL files in this folder; their names begin with the number.
 * @throws TypeError with the name of the file if a header is invalid
 */
export function gallery(): readonly GalleryQuery[] {
  const files = readdirSync(FOLDER).filter((file) => FILE.test(file));
  return files.sort().map((file) => parseGalleryQuery(file, readFileSync(join(FOLDER, file), 'utf8')));
}

// Comment lines with the question, the explanation, `tables:` and `columns:`, then the SELECT, which may call `formulas`.
function parseGalleryQuery(file: string, text: string): GalleryQuery {
  const lines = text.split('\n');
  const end = lines.findIndex((line) => !line.startsWith('-- '));
  const [question = '', ...others] = lines.slice(0, end).map((line) => line.slice(3));
  const [about = '', tables = '', columns = ''] = others
    .map((line) => line.trim())
    .join(' ')
    .split(/ ?(?:tables|columns): /);
  if ([question, about, tables, columns].includes('')) throw new TypeError(`${file}: the header is incomplete`);
  const sql = withFormulas(file, lines.slice(end).join('\n').trim());
  return {
    number: Number(FILE.exec(file)?.[1]),
    question,
    about,
    tables: tables.split(', '),
    columns: columns.split(', '),
    sql,
  };
}
