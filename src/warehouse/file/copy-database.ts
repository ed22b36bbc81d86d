import { statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { SightlineError } from '../../base/errors.ts';
import type { Session } from '../database.ts';
import { literal, quoted } from '../schema.ts';

const TARGET = 'copied_to';

/** Options of `copyDatabase`. */
export interface CopyDatabaseOptions {
  /** Name of the attached database to copy; default: the session's own database. */
  readonly source?: string;
  /** Whether DuckDB versions older than the warehouse's storage version must be able to read the copy. */
  readonly forReaders: boolean;
  /** Rows that the copy must not contain. */
  readonly without?: readonly HiddenRows[];
}

/** Rows of one table. */
export interface HiddenRows {
  readonly table: string;
  /** SQL condition. */
  readonly where: string;
}

/** Copies a complete database, including views and comments, into a new file at `path`. */
export async function copyDatabase(
  session: Session,
  path: string,
  { source, forReaders, without = [] }: CopyDatabaseOptions,
): Promise<void> {
  const [row] = await session.all('SELECT current_database() AS name');
  await session.run(`ATTACH ${literal(path)} AS ${TARGET}${forReaders ? " (STORAGE_VERSION 'v1.0.0')" : ''}`);
  try {
    await session.run(`COPY FROM DATABASE ${quoted(source ?? String(row?.['name']))} TO ${TARGET}`);
    for (const { table, where } of without)
      await session.run(`DELETE FROM ${TARGET}.main.${quoted(table)} WHERE ${where}`);
    // A session that keeps its own log would also keep the log of the copy.
    await session.run(`CHECKPOINT ${TARGET}`);
  } finally {
    await session.run(`DETACH ${TARGET}`);
  }
}

/**
 * Rejects a path with a question mark: DuckDB parses the rest of the path as parameters.
 * @throws `usage`
 */
export function checkDatabasePath(path: string): void {
  if (!path.includes('?')) return;
  throw new SightlineError('usage', `${JSON.stringify(path)} contains "?"; allowed: a path without it`);
}

/** Size of a database file and its log, in bytes; 0 if there is none. */
export function databaseBytes(path: string): number {
  const sizes = [path, `${path}.wal`].map((file) => statSync(file, { throwIfNoEntry: false })?.size ?? 0);
  return sizes.reduce((sum, bytes) => sum + bytes, 0);
}

/** Removes a database file and its log, if they exist. */
export async function removeDatabase(path: string): Promise<void> {
  await rm(path, { force: true });
  await rm(`${path}.wal`, { force: true });
}
