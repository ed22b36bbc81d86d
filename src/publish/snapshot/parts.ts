import type { Session } from '../../warehouse/database.ts';
import { literal, quoted } from '../../warehouse/schema.ts';
import { type ExportedTable, sourceOf } from './exported-table.ts';
import { hashedSql, type Sums, sumsOf, sumsSql, toSums } from './fingerprint.ts';
import type { SnapshotFile } from './manifest.ts';

/** Month of the rows without a time. */
const UNKNOWN = 'unknown';

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
 * complete table if it has no time. Omits the months of the files in `kept`. An empty table has one part, of `month` (YYYY-MM), so that readers see
 * its columns.
 */
export async function partsOf(
  session: Session,
  table: ExportedTable,
  month: string,
  kept: readonly Pick<SnapshotFile, 'path'>[] = [],
): Promise<Part[]> {
  const { name, time } = table;
  if (time === undefined) {
    if (kept.length > 0) return [];
    return [{ folder: name, where: '', sums: await sumsOf(session, table, sourceOf(table)) }];
  }
  const others = kept.map(({ path }) => ` AND (${ofMonth(time, monthOf(path))}) IS NOT TRUE`).join('');
  const hashed = hashedSql(table, sourceOf(table), `WHERE true${others}`);
  // Without a time zone, because DuckDB truncates a TIMESTAMPTZ with ICU, which takes longer than hashing the row.
  const found = await session.all(
    `SELECT coalesce(strftime(start, '%Y-%m'), '${UNKNOWN}') AS month, * EXCLUDE (start) FROM (
       SELECT CAST(date_trunc('month', make_timestamp(epoch_us(moment))) AS TIMESTAMP) AS start, ${sumsSql} FROM (${hashed}) GROUP BY 1
     ) parts ORDER BY parts.start`,
  );
  const folderOf = (of: string): string => `${name}/month=${of}`;
  if (found.length === 0 && kept.length === 0) {
    const sums = { rows: 0, min: null, max: null, sum: '0', xor: '0' };
    return [{ folder: folderOf(month), where: '', sums }];
  }
  return found.map((row) => {
    const own = String(row['month']);
    return { folder: folderOf(own), where: `WHERE ${ofMonth(time, own)}`, sums: toSums(row) };
  });
}

/** Returns the month in a path; '' if the table has no time. */
export function monthOf(path: string): string {
  return /\/month=([^/]+)/.exec(path)?.[1] ?? '';
}

// A range, because DuckDB can then skip the rows of other months.
function ofMonth(time: string, month: string): string {
  if (month === UNKNOWN) return `${quoted(time)} IS NULL`;
  const start = `CAST(${literal(`${month}-01`)} AS TIMESTAMP)`;
  return `${quoted(time)} >= ${start} AND ${quoted(time)} < ${start} + INTERVAL 1 MONTH`;
}
