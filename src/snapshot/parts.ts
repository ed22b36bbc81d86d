import type { WarehouseTable } from '../contract/catalogue.ts';
import type { Session } from '../warehouse/database.ts';
import { literal, quoted } from '../warehouse/schema.ts';
import { hashedSql, type Sums, sumsSql, toSums } from './fingerprint.ts';

/** The rows of a table that go into one file. */
export interface Part {
  /** Relative to the snapshot. */
  readonly folder: string;
  /** SQL condition that picks the rows, with its WHERE; empty for all. */
  readonly where: string;
  readonly sums: Sums;
}

/**
 * Divides a table into its parts, in one scan: one for each month of its time, one for the rows whose time is not known,
 * or one for the whole table. A table without rows has one part too, of `month` (YYYY-MM), so that its columns are seen.
 */
export async function partsOf(session: Session, table: WarehouseTable, month: string): Promise<Part[]> {
  const hashed = hashedSql(table, quoted(table.name));
  if (table.time === undefined) {
    const [row] = await session.all(`SELECT ${sumsSql} FROM (${hashed})`);
    return [{ folder: table.name, where: '', sums: toSums(row ?? {}) }];
  }
  const time = quoted(table.time);
  const found = await session.all(
    `SELECT strftime(start, '%Y-%m') AS month, CAST(start AS VARCHAR) AS start, * EXCLUDE (start) FROM (
       SELECT CAST(date_trunc('month', moment) AS TIMESTAMP) AS start, ${sumsSql} FROM (${hashed}) GROUP BY 1
     ) parts ORDER BY parts.start`,
  );
  const folderOf = (name: string): string => `${table.name}/month=${name}`;
  if (found.length === 0) {
    const sums = { rows: 0, min: null, max: null, sum: '0', xor: '0' };
    return [{ folder: folderOf(month), where: '', sums }];
  }
  return found.map((row) => {
    const sums = toSums(row);
    if (row['month'] === null) return { folder: folderOf('unknown'), where: `WHERE ${time} IS NULL`, sums };
    // As a range, which lets DuckDB skip what other months hold.
    const start = `CAST(${literal(String(row['start']))} AS TIMESTAMP)`;
    const where = `WHERE ${time} >= ${start} AND ${time} < ${start} + INTERVAL 1 MONTH`;
    return { folder: folderOf(String(row['month'])), where, sums };
  });
}
