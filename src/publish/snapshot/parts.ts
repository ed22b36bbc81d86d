import type { Session } from '../../warehouse/database.ts';
import type { HiddenRows } from '../../warehouse/file/copy-database.ts';
import { literal, quoted } from '../../warehouse/schema.ts';
import { type ExportedTable, sourceOf } from './exported-table.ts';
import { hashedSql, type Sums, sumsSql, toSums } from './fingerprint.ts';

/** The rows of a table that go into one file. */
export interface Part {
  /** Relative to the snapshot. */
  readonly folder: string;
  /** SQL condition for the rows, including WHERE; empty for all rows. */
  readonly where: string;
  readonly sums: Sums;
}

/**
 * Divides a table into parts, in one scan: one per month of its time and one for rows without a time, or one for the
 * complete table if it has no time. An empty table has one part, of `month` (YYYY-MM), so that readers see its columns.
 * No part contains hidden rows.
 */
export async function partsOf(
  session: Session,
  table: ExportedTable,
  month: string,
  hidden: readonly HiddenRows[] = [],
): Promise<Part[]> {
  const shown = hidden.filter((rows) => rows.table === table.name).map(({ where }) => `(${where}) IS NOT TRUE`);
  const whereOf = (...conditions: readonly string[]): string => {
    const all = [...conditions, ...shown];
    return all.length === 0 ? '' : `WHERE ${all.join(' AND ')}`;
  };
  const hashed = hashedSql(table, sourceOf(table), whereOf());
  if (table.time === undefined) {
    const [row] = await session.all(`SELECT ${sumsSql} FROM (${hashed})`);
    return [{ folder: table.name, where: whereOf(), sums: toSums(row ?? {}) }];
  }
  const time = quoted(table.time);
  // Without a time zone, because DuckDB truncates a TIMESTAMPTZ with ICU, which takes longer than hashing the row.
  const found = await session.all(
    `SELECT strftime(start, '%Y-%m') AS month, CAST(start AS VARCHAR) AS start, * EXCLUDE (start) FROM (
       SELECT CAST(date_trunc('month', make_timestamp(epoch_us(moment))) AS TIMESTAMP) AS start, ${sumsSql} FROM (${hashed}) GROUP BY 1
     ) parts ORDER BY parts.start`,
  );
  const folderOf = (name: string): string => `${table.name}/month=${name}`;
  if (found.length === 0) {
    const sums = { rows: 0, min: null, max: null, sum: '0', xor: '0' };
    return [{ folder: folderOf(month), where: whereOf(), sums }];
  }
  return found.map((row) => {
    const sums = toSums(row);
    if (row['month'] === null) return { folder: folderOf('unknown'), where: whereOf(`${time} IS NULL`), sums };
    // A range, because DuckDB can then skip the rows of other months.
    const start = `CAST(${literal(String(row['start']))} AS TIMESTAMP)`;
    const where = whereOf(`${time} >= ${start}`, `${time} < ${start} + INTERVAL 1 MONTH`);
    return { folder: folderOf(String(row['month'])), where, sums };
  });
}
