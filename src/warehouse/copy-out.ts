import { DuckDBInstance } from '@duckdb/node-api';
import { createSession, type Session, toOpenError } from './database.ts';
import { literal } from './schema.ts';

const MEMORY_LIMIT = '512MB';

/** A database opened for reading, whose rows may be written to files of one folder. */
export interface CopySource extends Pick<Session, 'run' | 'all' | 'query'> {
  /**
   * Rows of a query in batches of about `batchRows`, in the order of its columns. A stream that breaks looks like one that
   * has ended: whoever needs all rows counts them.
   */
  batches(sql: string, batchRows: number): AsyncGenerator<unknown[][]>;
  close(): void;
}

/**
 * Opens a DuckDB file read-only; COPY may write into `folder`, and nothing else can be reached. Throws `warehouse_locked`
 * when another process has the file open for writing.
 */
export async function openCopySource(path: string, folder: string): Promise<CopySource> {
  let instance: DuckDBInstance;
  try {
    instance = await DuckDBInstance.create(path, {
      access_mode: 'READ_ONLY',
      autoinstall_known_extensions: 'false',
      autoload_known_extensions: 'false',
      memory_limit: MEMORY_LIMIT,
      temp_directory: `${folder}/spill`,
    });
  } catch (thrown) {
    throw toOpenError(path, thrown);
  }
  const connection = await instance.connect();
  const session = createSession(connection);
  await session.run(`SET TimeZone = 'UTC'; SET allowed_directories = [${literal(`${folder}/`)}];
    SET enable_external_access = false; SET lock_configuration = true`);
  return {
    run: session.run,
    all: session.all,
    query: session.query,
    batches: async function* (sql, batchRows) {
      const result = await connection.stream(sql);
      let batch: unknown[][] = [];
      for await (const rows of result.yieldRows()) {
        for (const row of rows) batch.push(row);
        if (batch.length < batchRows) continue;
        yield batch;
        batch = [];
      }
      if (batch.length > 0) yield batch;
    },
    close: () => {
      session.dispose();
      connection.closeSync();
      instance.closeSync();
    },
  };
}
