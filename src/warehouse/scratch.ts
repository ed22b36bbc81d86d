import { DuckDBInstance } from '@duckdb/node-api';
import { createSession, NO_EXTENSIONS, type ResultRow } from './database.ts';

/**
 * Settings with which DuckDB gives memory back as soon as it is free. By itself it keeps several times what it uses, which
 * is faster where large statements follow each other all day.
 */
export const GIVE_MEMORY_BACK =
  "SET allocator_flush_threshold = '4MB'; SET allocator_bulk_deallocation_flush_threshold = '4MB'";

/** A database that holds nothing, for reading files with. */
export interface Scratch {
  /** Runs a query and returns all of its rows. */
  all(sql: string): Promise<ResultRow[]>;
  close(): void;
}

/** Opens an empty database in memory, on one thread; it works beside the warehouse's and knows nothing of it. */
export async function openScratch(options: { memoryLimitMb: number; temporaryFolder: string }): Promise<Scratch> {
  const instance = await DuckDBInstance.create(':memory:', {
    threads: '1',
    memory_limit: `${options.memoryLimitMb}MB`,
    temp_directory: options.temporaryFolder,
    ...NO_EXTENSIONS,
  });
  const connection = await instance.connect();
  const session = createSession(connection, ':memory:');
  await session.run(`SET TimeZone = 'UTC'; ${GIVE_MEMORY_BACK}`);
  return {
    all: (sql) => session.all(sql),
    close: () => {
      session.dispose();
      connection.closeSync();
      instance.closeSync();
    },
  };
}
