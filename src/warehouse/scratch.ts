import { createSession, NO_EXTENSIONS, type ResultRow } from './database.ts';
import { duckdb } from './duckdb.ts';

/**
 * Settings that return freed memory to the system at once. By default DuckDB keeps several times the memory in use,
 * which is faster only for a process that runs large statements all day.
 */
export const GIVE_MEMORY_BACK =
  "SET allocator_flush_threshold = '4MB'; SET allocator_bulk_deallocation_flush_threshold = '4MB'";

/** An empty in-memory database for queries that read files. */
export interface Scratch {
  /** Runs a query and returns all of its rows. */
  all(sql: string): Promise<ResultRow[]>;
  close(): void;
}

/** Opens an empty in-memory database with one thread. It is independent of the warehouse. */
export async function openScratch(options: { memoryLimitMb: number; temporaryFolder: string }): Promise<Scratch> {
  const instance = await duckdb.DuckDBInstance.create(':memory:', {
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
