import { eachDay } from '../../contract/time.ts';
import type { Session } from '../../warehouse/database.ts';
import type { Days } from '../../warehouse/file/copy-contents.ts';
import { dayConditions } from '../../warehouse/file/refresh-copy.ts';
import { quoted } from '../../warehouse/schema.ts';
import { type ExportedTable, sourceOf } from './exported-table.ts';
import { addSums, hashedSql, NO_ROWS, type Sums, sumsOf, sumsSql, toSums } from './fingerprint.ts';
import type { SnapshotFile } from './manifest.ts';

/** Month of the rows without a time. */
const UNKNOWN = 'unknown';
/** Rows from which a file ends with its day, so that a new day changes a small file. Less than a row group, so that most files have one. */
const FILE_ROWS = 100_000;

/** The rows of a table that go into one file. */
export interface Part {
  /** Relative to the snapshot. */
  readonly folder: string;
  /** SQL condition for the rows, including WHERE; empty for all rows. */
  readonly where: string;
  readonly sums: Sums;
}

/** Options of `partsOf`. */
export interface PartOptions {
  /** Month of an empty table, YYYY-MM. */
  readonly month: string;
  /** Files that already have their rows. */
  readonly kept?: readonly SnapshotFile[];
  /** Default: `FILE_ROWS`. */
  readonly fileRows?: number | undefined;
}

/**
 * Divides a table into parts, in one scan: the days of each month, successively until they have `fileRows` rows, and rows without a time;
 * or the complete table if it has no time. An empty table has one part, so that readers see its columns.
 */
export async function partsOf(
  session: Session,
  table: ExportedTable,
  { month, kept = [], fileRows = FILE_ROWS }: PartOptions,
): Promise<Part[]> {
  const { name, time } = table;
  if (time === undefined) {
    if (kept.length > 0) return [];
    return [{ folder: name, where: '', sums: await sumsOf(session, table, sourceOf(table)) }];
  }
  const others = kept.length === 0 ? '' : `WHERE (${ofDays(time, kept.flatMap(daysIn))}) IS NOT TRUE`;
  // Without a time zone, because DuckDB converts a TIMESTAMPTZ with ICU, which takes longer than hashing the row.
  const found = await session.all(
    `SELECT coalesce(strftime(start, '%Y-%m-%d'), '') AS day, * EXCLUDE (start) FROM (
       SELECT CAST(make_timestamp(epoch_us(moment)) AS DATE) AS start, ${sumsSql} FROM (${hashedSql(table, sourceOf(table), others)}) GROUP BY 1
     ) days ORDER BY days.start`,
  );
  if (found.length === 0 && kept.length === 0) return [{ folder: `${name}/month=${month}`, where: '', sums: NO_ROWS }];
  const parts: { month: string; days: string[]; sums: Sums }[] = [];
  for (const row of found) {
    const day = String(row['day']);
    const own = day === '' ? UNKNOWN : day.slice(0, 7);
    const last = parts.at(-1);
    if (last?.month === own && last.sums.rows < fileRows) {
      last.days.push(day);
      last.sums = addSums(last.sums, toSums(row));
    } else parts.push({ month: own, days: [day], sums: toSums(row) });
  }
  return parts.map(({ month: own, days, sums }) => {
    return { folder: `${name}/month=${own}`, where: `WHERE ${ofDays(time, days)}`, sums };
  });
}

/**
 * Returns the files of a table in the order of their rows, with the days that each covers: from its first row to the next file of its month,
 * and the days of the month before its first file and after its last.
 */
export function filesByDay(files: readonly SnapshotFile[]): { readonly file: SnapshotFile; readonly days: Days }[] {
  const all = files.map((file) => ({ file, month: monthOf(file), start: dayIn(file.min) }));
  const sorted = all.toSorted((a, b) => (a.month + a.start < b.month + b.start ? -1 : 1));
  return sorted.map(({ file, month, start }, index) => {
    const [before, after] = [sorted[index - 1], sorted[index + 1]];
    const from = before?.month === month ? start : month;
    return { file, days: { from, before: after?.month === month ? after.start : `${month}~` } };
  });
}

function monthOf({ path }: SnapshotFile): string {
  return /\/month=([^/]+)/.exec(path)?.[1] ?? '';
}

function dayIn(time: string | null): string {
  return time?.slice(0, 10) ?? '';
}

function daysIn({ min, max }: SnapshotFile): string[] {
  return min === null ? [''] : [...eachDay(dayIn(min), dayIn(max))];
}

function ofDays(time: string, days: readonly string[]): string {
  return dayConditions(quoted(time), days).join(' OR ');
}
