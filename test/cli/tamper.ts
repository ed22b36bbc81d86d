import { join } from 'node:path';
import { openDatabase } from '../../src/warehouse/database.ts';
import { openReader } from '../../src/warehouse/reader.ts';
import type { CliWorkspace } from './helpers.ts';

/** Changes a workspace's warehouse directly. Returns the number of rows that each statement changed. */
export async function tamper(
  { data }: Pick<CliWorkspace, 'data'>,
  ...statements: readonly string[]
): Promise<number[]> {
  const database = await openDatabase(join(data, 'warehouse.duckdb'));
  try {
    const changed: number[] = [];
    for (const sql of statements) changed.push(await database.exclusive((session) => session.run(sql)));
    return changed;
  } finally {
    await database.close();
  }
}

/** A condition for one row of `table` on the day this many days ago. */
export function oneOf(table: string, daysAgo: number, where = 'true'): string {
  return `rowid = (SELECT min(rowid) FROM ${table} WHERE CAST(created_at AS DATE) = CAST(now() AS DATE) - ${daysAgo} AND ${where})`;
}

/** Queries the replica in this process and returns the rows. */
export async function readCopy({ data }: Pick<CliWorkspace, 'data'>, sql: string): Promise<readonly unknown[][]> {
  const reader = await openReader(join(data, 'analytics.duckdb'));
  try {
    return (await reader.query(sql)).rows.map((row) => [...row]);
  } finally {
    reader.close();
  }
}
