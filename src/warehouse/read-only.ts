import type { Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { NO_EXTENSIONS } from './database.ts';
import { DamagedFile, toOpenError } from './errors.ts';
import { registerOpen } from './open-files.ts';
import { literal } from './schema.ts';
import { spillFolder } from './spill.ts';

/** Enough for a catalog of hundreds of tables. */
const CHECK_MEMORY_MB = 64;
/** DuckDB's file begins with three headers. */
const HEADER_BYTES = 3 * 4096;

/** What a file that is opened for reading may use. */
export interface ReadOnlyOptions {
  readonly memoryLimitMb: number;
  /** Where it puts aside what memory does not hold; a folder of its own beside the file unless told otherwise. */
  readonly spill?: string;
  /**
   * What COPY may write to: one file, or what is in one folder. Nothing unless told otherwise. With `none` DuckDB can open no
   * file at all from then on, not even those that it adds to `allowed_paths` by itself: the opened file and its log. So it
   * cannot spill either: a query that needs more memory fails.
   */
  readonly writable?: { readonly file: string } | { readonly folder: string } | 'none';
}

/**
 * Opens a DuckDB file read-only, without access to other files, extensions or the network but for what is `writable`. Any
 * number of processes may do so while none has the file open for writing. Throws `warehouse_locked` when one has, this
 * process included, and `warehouse_invalid` when the file is damaged or shorter than its header says.
 */
export async function openReadOnly(
  path: string,
  { memoryLimitMb, spill = spillFolder(path), writable }: ReadOnlyOptions,
): Promise<DuckDBInstance> {
  const settings = {
    access_mode: 'READ_ONLY',
    ...NO_EXTENSIONS,
    memory_limit: `${memoryLimitMb}MB`,
    // Before access to files is closed, after which it cannot be set.
    temp_directory: writable === 'none' ? '' : spill,
    ...(typeof writable === 'object' ? {} : { enable_external_access: 'false' }),
  };
  const release = registerOpen(path, 'read');
  const found = await stat(path).catch(() => null);
  let instance: DuckDBInstance;
  try {
    instance = await DuckDBInstance.create(path, settings);
  } catch (thrown) {
    release();
    throw toOpenError(path, thrown);
  }
  const close = instance.closeSync.bind(instance);
  instance.closeSync = () => {
    close();
    release();
  };
  try {
    await prepare(instance, path, found, writable);
    return instance;
  } catch (thrown) {
    instance.closeSync();
    throw thrown;
  }
}

/** Opens a database file read-only and closes it again. Throws what `openReadOnly` throws. */
export async function checkOpens(path: string): Promise<void> {
  const instance = await openReadOnly(path, { memoryLimitMb: CHECK_MEMORY_MB, writable: 'none' });
  instance.closeSync();
}

async function prepare(
  instance: DuckDBInstance,
  path: string,
  found: Stats | null,
  writable: ReadOnlyOptions['writable'],
): Promise<void> {
  const connection = await instance.connect();
  try {
    if (found !== null) await checkLength(connection, path, found.ino);
    if (writable === 'none') await connection.run("SET disabled_filesystems = 'LocalFileSystem'");
    else if (writable !== undefined) {
      const allowed =
        'file' in writable
          ? `allowed_paths = [${literal(writable.file)}]`
          : `allowed_directories = [${literal(`${writable.folder}/`)}]`;
      await connection.run(`SET ${allowed}; SET enable_external_access = false`);
    }
  } finally {
    connection.closeSync();
  }
}

// DuckDB opens a file that was cut off, and fails when a query reads what is missing. Free blocks at the end of a sound file
// may never have been written, so that only the blocks in use give a least length.
async function checkLength(connection: DuckDBConnection, path: string, inode: number): Promise<void> {
  const reader = await connection.runAndReadAll(
    'SELECT block_size * used_blocks FROM pragma_database_size() WHERE database_name = current_database()',
  );
  const least = HEADER_BYTES + Number(reader.getRows()[0]?.[0] ?? 0);
  const { size, ino } = await stat(path);
  // Another file may have been put in place since; that one is not open here.
  if (size >= least || ino !== inode) return;
  throw new DamagedFile(path, `${path} is damaged: it has ${size} bytes of at least ${least}`);
}
