import { createSession, type Session } from '../database.ts';
import { toDatabaseError } from '../errors.ts';
import { openReadOnly } from './read-only.ts';

const MEMORY_LIMIT_MB = 512;

/** A read-only database; COPY may write query results into one folder. */
export interface CopySource extends Pick<Session, 'run' | 'all' | 'query'> {
  /**
   * Streams the rows of a query in batches of about `batchRows`, values in column order. A broken stream ends without
   * an error, so a caller that needs every row must compare the count.
   */
  batches(sql: string, batchRows: number): AsyncGenerator<unknown[][]>;
  close(): void;
}

/**
 * Opens a DuckDB file read-only. Queries may read and COPY may write files in `folder` and `others`; no other file is accessible.
 * @throws `warehouse_locked` if another process has the file open for writing
 */
export async function openCopySource(
  path: string,
  folder: string,
  others: readonly string[] = [],
): Promise<CopySource> {
  const instance = await openReadOnly(path, {
    memoryLimitMb: MEMORY_LIMIT_MB,
    spill: `${folder}/spill`,
    writable: { folders: [folder, ...others] },
  });
  const connection = await instance.connect();
  const session = createSession(connection, path);
  await session.run("SET TimeZone = 'UTC'; SET lock_configuration = true");
  return {
    run: session.run,
    all: session.all,
    query: session.query,
    batches: async function* (sql, batchRows) {
      let batch: unknown[][] = [];
      try {
        const result = await connection.stream(sql);
        for await (const rows of result.yieldRows()) {
          for (const row of rows) batch.push(row);
          if (batch.length < batchRows) continue;
          yield batch;
          batch = [];
        }
      } catch (thrown) {
        throw toDatabaseError(path, thrown);
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
