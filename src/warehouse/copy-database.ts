import { rm } from 'node:fs/promises';
import { SightlineError } from '../base/errors.ts';
import type { Session } from './database.ts';
import { literal, quoted } from './schema.ts';

const TARGET = 'copied_to';

/** How a database is copied. */
export interface CopyDatabaseOptions {
  /** The attached database to copy; the session's own unless told otherwise. */
  readonly source?: string;
  /** Whether versions of DuckDB before the warehouse's own storage version are to read it. */
  readonly forReaders: boolean;
}

/** Copies a database whole, views and comments included, into a new file at `path`. */
export async function copyDatabase(
  session: Session,
  path: string,
  { source, forReaders }: CopyDatabaseOptions,
): Promise<void> {
  const [row] = await session.all('SELECT current_database() AS name');
  await session.run(`ATTACH ${literal(path)} AS ${TARGET}${forReaders ? " (STORAGE_VERSION 'v1.0.0')" : ''}`);
  try {
    await session.run(`COPY FROM DATABASE ${quoted(source ?? String(row?.['name']))} TO ${TARGET}`);
    // Where the session keeps the log of its own file, it would keep this one's too.
    await session.run(`CHECKPOINT ${TARGET}`);
  } finally {
    await session.run(`DETACH ${TARGET}`);
  }
}

/** Throws `usage` for a path at which DuckDB cannot make a file: it takes what follows a question mark for parameters. */
export function checkDatabasePath(path: string): void {
  if (!path.includes('?')) return;
  throw new SightlineError('usage', `${JSON.stringify(path)} contains "?"; allowed: a path without it`);
}

/** Removes a database file that is made aside, with its log, where it is there. */
export async function removeDatabase(path: string): Promise<void> {
  await rm(path, { force: true });
  await rm(`${path}.wal`, { force: true });
}
