import { DuckDBInstance } from '@duckdb/node-api';
import { NO_EXTENSIONS } from './database.ts';
import { toOpenError } from './errors.ts';
import { registerOpen } from './open-files.ts';
import { literal } from './schema.ts';
import { spillFolder } from './spill.ts';

/** What a file that is opened for reading may use. */
export interface ReadOnlyOptions {
  readonly memoryLimitMb: number;
  /** Where it puts aside what memory does not hold; a folder of its own beside the file unless told otherwise. */
  readonly spill?: string;
  /** What COPY may write to: one file, or what is in one folder. Nothing unless told otherwise. */
  readonly writable?: { readonly file: string } | { readonly folder: string };
}

/**
 * Opens a DuckDB file read-only, without access to other files, extensions or the network but for what is `writable`. Any
 * number of processes may do so while none has the file open for writing; throws `warehouse_locked` when one has, this
 * process included.
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
    temp_directory: spill,
    ...(writable === undefined ? { enable_external_access: 'false' } : {}),
  };
  const release = registerOpen(path, 'read');
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
  if (writable === undefined) return instance;
  const allowed =
    'file' in writable
      ? `allowed_paths = [${literal(writable.file)}]`
      : `allowed_directories = [${literal(`${writable.folder}/`)}]`;
  const connection = await instance.connect();
  await connection.run(`SET ${allowed}; SET enable_external_access = false`);
  connection.closeSync();
  return instance;
}
