import { DAY_MS } from '../contract/time.ts';
import type { Query } from '../warehouse/database.ts';
import { quoted } from '../warehouse/schema.ts';

/** The rows of one brand in a table by time. */
export interface TimeSpread {
  readonly rows: number;
  /** Times of the oldest and the newest row, epoch milliseconds. */
  readonly oldestMs: number;
  readonly newestMs: number;
}

/** The rows of a table, or of one brand in it. */
export interface TimePlace {
  readonly table: string;
  /** Column of the time. */
  readonly column: string;
  /** Null for tables without brands. */
  readonly brandId: string | null;
}

/** A page is expected in this many times the rows that it needs, because rows are not spread evenly. */
const SPARE = 3;
/** The same if a filter leaves out some of the rows. */
const FILTERED_SPARE = 24;

/** Reads how the rows of a table, or of one brand in it, are spread over time; null if there are none. */
export async function readSpread(query: Query, { table, column, brandId }: TimePlace): Promise<TimeSpread | null> {
  const time = quoted(column);
  const brand = brandId === null ? '' : ' AND brand_id = CAST($1 AS UUID)';
  const [row] = await query(
    `SELECT count(*), epoch_ms(min(${time})), epoch_ms(max(${time})) FROM ${quoted(table)}
     WHERE _deleted_at IS NULL AND ${time} IS NOT NULL${brand}`,
    brandId === null ? [] : [brandId],
  );
  const [rows, oldestMs, newestMs] = (row ?? []).map(Number) as [number, number, number];
  return rows > 0 ? { rows, oldestMs, newestMs } : null;
}

/**
 * Returns the time after which `count` rows before `endMs` are expected; both are epoch milliseconds. Returns null if so many rows are
 * expected only in all of them.
 */
export function expectedStart(
  { rows, oldestMs, newestMs }: TimeSpread,
  endMs: number,
  { count, isFiltered }: { readonly count: number; readonly isFiltered: boolean },
): number | null {
  const msPerRow = Math.max(DAY_MS, newestMs - oldestMs) / rows;
  const startMs = Math.min(endMs, newestMs) - count * (isFiltered ? FILTERED_SPARE : SPARE) * msPerRow;
  return startMs <= oldestMs ? null : startMs;
}
