import type { Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { NO_EXTENSIONS } from '../database.ts';
import { duckdb } from '../duckdb.ts';
import { DamagedFile, toOpenError } from '../errors.ts';
import { literal } from '../schema.ts';
import { registerOpen } from './open-files.ts';
import { spillFolder } from './spill.ts';

/** Enough for a catalog of hundreds of tables. */
const CHECK_MEMORY_MB = 64;
/** A DuckDB file begins with three headers. */
const HEADER_BYTES = 3 * 4096;

/** Limits of a file opened read-only. */
export interface ReadOnlyOptions {
  readonly memoryLimitMb: number;
  /** Spill folder; default: a new folder beside the file. */
  readonly spill?: string;
  /**
   * Targets that COPY may write: one file, or the files of some folders, which queries may read too; default: nothing. With
   * `none` DuckDB can open no file at all, not even the opened file and its log, which it adds to `allowed_paths` itself. It
   * then cannot spill either: a query that needs more memory fails.
   */
  readonly writable?: { readonly file: string } | { readonly folders: readonly string[] } | 'none';
}

/**
 * Opens a DuckDB file read-only, without access to other files (except `writable`), extensions or the network. Any
 * number of processes can do so as long as none has the file open for writing.
 * @throws `warehouse_locked` if a process, including this one, has the file open for writing; `warehouse_invalid` if
 * the file is damaged or shorter than its header requires
 */
export async function openReadOnly(
  path: string,
  { memoryLimitMb, spill = spillFolder(path), writable }: ReadOnlyOptions,
): Promise<DuckDBInstance> {
  const settings = {
    access_mode: 'READ_ONLY',
    ...NO_EXTENSIONS,
    memory_limit: `${memoryLimitMb}MB`,
    // Cannot be set after external access is disabled.
    temp_directory: writable === 'none' ? '' : spill,
    ...(typeof writable === 'object' ? {} : { enable_external_access: 'false' }),
  };
  const release = registerOpen(path, 'read');
  const found = await stat(path).catch(() => null);
  let instance: DuckDBInstance;
  try {
    instance = await duckdb.DuckDBInstance.create(path, settings);
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

/**
 * Opens a database file read-only and closes it again.
 * @throws the errors of `openReadOnly`
 */
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
          : `allowed_directories = [${writable.folders.map((folder) => literal(`${folder}/`)).join(', ')}]`;
      await connection.run(`SET ${allowed}; SET enable_external_access = false`);
    }
  } finally {
    connection.closeSync();
  }
}

// DuckDB opens a truncated file and fails only when a query reads a missing block. Free blocks at the end of a sound
// file may never have been written, so only the used blocks give a minimum length.
async function checkLength(connection: DuckDBConnection, path: string, inode: number): Promise<void> {
  const reader = await connection.runAndReadAll(
    'SELECT block_size * used_blocks FROM pragma_database_size() WHERE database_name = current_database()',
  );
  const least = HEADER_BYTES + Number(reader.getRows()[0]?.[0] ?? 0);
  const { size, ino } = await stat(path);
  // If the file was replaced after the open, its size says nothing about the opened one.
  if (size >= least || ino !== inode) return;
  throw new DamagedFile(path, `${path} is damaged: it has ${size} bytes but needs at least ${least}`);
}
