import { createHash } from 'node:crypto';
import { open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';

/** Bytes at the start of a DuckDB file that change with every checkpoint. */
const HEADER_BYTES = 12 * 1024;

/** Summary of a copy, stored in a file beside it. A part is one day of a table with a time column, or a table without one. */
export interface CopyContents {
  /** Hash of the tables' columns, the views and the version of sightline. */
  readonly layout: string;
  /** Identity of the last complete copy. */
  readonly copy: string;
  /** Number of refreshes since then. */
  readonly refreshes: number;
  /** Rows and hash of each part by table, such as `"main"."responses"`, and day. The day is '' for rows without a time and for whole tables. */
  readonly parts: Readonly<Record<string, Readonly<Record<string, readonly [rows: number, hash: string | null]>>>>;
}

/** A range of days, compared as text. */
export type Days = Readonly<Record<'from' | 'before', string>>;

/** Returns values that change when a refresh or another copy replaces rows of `days` in one of the tables. */
export function stateOf({ copy, parts }: CopyContents, tables: readonly string[], { from, before }: Days): unknown[] {
  const isOfDays = ([day]: [string, unknown]): boolean => day === '' || (from <= day && day < before);
  return [copy, ...tables.map((table) => Object.entries(parts[table] ?? {}).filter(isOfDays))];
}

/**
 * Keeps the contents of the copy at `path`, so that the next one can be made from it; null forgets them. An error is ignored: without
 * contents the next copy is a complete one.
 */
export async function keepContents(path: string, contents: CopyContents | null): Promise<void> {
  const file = contentsFile(path);
  const aside = `${file}.new`;
  try {
    if (contents === null) return await rm(file, { force: true });
    await writeFile(aside, JSON.stringify({ file: await identityOf(path), ...contents }));
    await rename(aside, file);
  } catch {
    await rm(aside, { force: true }).catch(() => undefined);
  }
}

function contentsFile(path: string): string {
  return `${path}.contents.json`;
}

/** Reads the contents of the copy at `path`; null if they are missing, or if the file was replaced or written to. */
export async function readContents(path: string): Promise<CopyContents | null> {
  try {
    const { file, ...contents } = JSON.parse(await readFile(contentsFile(path), 'utf8')) as CopyContents & {
      readonly file: string;
    };
    return file === (await identityOf(path)) ? contents : null;
  } catch {
    return null;
  }
}

// Differs if the file was replaced or written to.
async function identityOf(path: string): Promise<string> {
  const { ino, size } = await stat(path);
  const file = await open(path, 'r');
  try {
    const header = Buffer.alloc(HEADER_BYTES);
    await file.read(header, 0, HEADER_BYTES, 0);
    return `${ino} ${size} ${createHash('sha256').update(header).digest('hex')}`;
  } finally {
    await file.close();
  }
}
